// Package generate makes random Distal programs for tests: well typed, with a round structure, small enough to explore.
package generate

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

type generator struct {
	rng    *rand.Rand
	b      strings.Builder
	rounds int
	onward bool // the next way out of an action leads to the next round
}

// Program makes a program; equal seeds make equal programs. It has one to three rounds, rules on single messages and
// on groups, timeouts, choices and outputs, and properties that may or may not hold.
func Program(seed uint64) string {
	g := &generator{rng: rand.New(rand.NewPCG(seed, 0x67656e))}
	g.rounds = 1 + g.rng.IntN(3)
	g.header()
	for r := range g.rounds {
		g.rules(r)
	}
	g.properties()
	return g.b.String()
}

func (g *generator) line(format string, args ...any) { fmt.Fprintf(&g.b, format+"\n", args...) }

func (g *generator) pick(options ...string) string { return options[g.rng.IntN(len(options))] }

func (g *generator) chance(percent int) bool { return g.rng.IntN(100) < percent }

func (g *generator) header() {
	g.line("protocol Sample(n = %d)\n", 2+g.rng.IntN(2))
	g.line("enum Color { red, green }\n")
	var names []string
	for r := range g.rounds {
		g.line("message M%d { phase: int, v: int, c: Color, log: seq<int>, who: set<node> } tag (phase, M%d)", r, r)
		names = append(names, fmt.Sprintf("M%d", r))
	}
	g.line("\nrounds %s\n\nphase phase\n", strings.Join(names, " < "))
	g.line("state {\n\tphase: int = 1\n\ta: int = %s\n\tb: bool = %s\n\tc: Color = red\n\tlog: seq<int>\n\twho: set<node>\n\topt: int?\n}\n",
		g.pick("0", "1", "choose({0, 1})"), g.pick("true", "false"))
	g.line("output int\n")
	g.line("fun next(x: int): int = (x + 1) %% 3\n")
	g.line("action advance() {\n\tphase := phase + 1\n\tsend M0(phase, a, c, log, who) to %s\n}\n",
		g.pick("all", "all", "others"))
	if g.chance(80) {
		g.line("init {\n\tsend M0(phase, a, c, log, who) to %s\n}\n", g.pick("all", "others"))
	} else {
		g.line("init {\n\tif self == node(1) {\n\t\tsend M0(phase, a, c, log, who) to all\n\t}\n}\n")
	}
}

// rules makes the rules of a round: one or two on messages, perhaps a timeout.
func (g *generator) rules(r int) {
	if g.chance(40) {
		g.line("upon M%d m with m.phase == phase and timely and %s do {", r, g.messageTest("m"))
		g.body(r, "m")
	}
	times := g.pick("times > n / 2", "times >= 1", "times all", "same (.v) times > n / 2")
	g.line("upon M%d ms with .phase == phase and timely %s do {", r, times)
	g.onward = true // every round is reached from the one before
	g.body(r, "first(ms)")
	if g.chance(50) {
		g.line("upon timeout in (phase, M%d) ms do {", r)
		g.change("")
		g.leave(r, "a")
		g.line("}\n")
	}
}

func (g *generator) messageTest(m string) string {
	return g.pick(m+".v > a", m+".c == red", m+".from != self", m+".log prefix log", "self in "+m+".who", "b",
		"opt == none")
}

func (g *generator) body(r int, m string) {
	for range 1 + g.rng.IntN(3) {
		g.change(m)
	}
	if g.chance(40) {
		g.line("\toutput a")
	}
	if g.chance(30) {
		g.line("\tif %s {", g.test())
		g.leave(r, m+".v")
		g.line("\t} else {")
		g.leave(r, "a")
		g.line("\t}")
	} else {
		g.leave(r, m+".v")
	}
	g.line("}\n")
}

func (g *generator) test() string {
	return g.pick("b", "a == 1", "len(log) > 1", "c == green", "opt != none", "(exists p in who: p != self)",
		"(count p in all: p in who) > 1", "forall x in log: x > 0")
}

// change makes one assignment; m is an expression for a message, or "".
func (g *generator) change(m string) {
	options := []string{"a := next(a)", "a := choose({0, 2})", "b := not b", "c := if b then red else green",
		"who := who + {self}", "who := who - {node(1)}", "opt := some(a)", "opt := none",
		"log := if len(log) < 2 then log + [a] else []"}
	if m != "" {
		options = append(options, "a := "+m+".v", "c := "+m+".c", "log := "+m+".log", "who := "+m+".who + {"+m+".from}",
			"b := "+m+".v > a", "opt := some(max x in {a, "+m+".v})", "a := min x in {a, "+m+".v} by (-x)")
	}
	text := options[g.rng.IntN(len(options))]
	if g.chance(25) {
		g.line("\tif %s {\n\t\t%s\n\t}", g.test(), text)
		return
	}
	g.line("\t%s", text)
}

// leave ends an action: on to the next round, to the next phase, or nowhere.
func (g *generator) leave(r int, value string) {
	must := g.onward && r+1 < g.rounds
	g.onward = false
	switch {
	case must || r+1 < g.rounds && g.chance(75):
		to := r + 1
		if !must {
			to += g.rng.IntN(g.rounds - r - 1)
		}
		g.line("\tsend M%d(phase, %s, c, log, who) to %s", to, g.pick("a", value),
			g.pick("all", "all", "others", "node(1)", "who", "choose(all)"))
	case g.chance(70):
		g.line("\tadvance()")
	}
}

func (g *generator) properties() {
	g.line("network %s\n", g.pick("any", "any", "reliable", "atleast(n - 1)", "kernel"))
	g.line("property Values: forall p in all: p.a < 3")
	if g.chance(60) {
		g.line("property Agree: forall p, q in all: p.output == none or q.output == none or p.output == q.output")
	}
	if g.chance(40) {
		g.line("property Once: on output v: self.output == none or self.output == some(v)")
	}
	if g.chance(30) {
		g.line("property Logs: forall p, q in all: comparable(p.log, q.log)")
	}
	g.line("\ntest small { phases = 2; timeouts = %s }", g.pick("eager", "free"))
}
