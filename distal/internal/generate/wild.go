package generate

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// wild makes programs that are well typed and otherwise free: conditions may hold or not, and what the checker, the
// search and the asynchronous machine say about them must agree all the same.
type wild struct {
	rng    *rand.Rand
	b      strings.Builder
	rounds []string // names of the rounds
	msgs   []message
	first  int // the first phase
	loops  int
	light  bool // plain timeouts switch a light on, and rules on messages switch it off again
	edge   bool // numbers are often at the edge of what can be stored, and outputs are many
}

type message struct {
	name  string
	round int
}

// Wild makes a program; equal seeds make equal programs. It has loops, plain timeouts, received, let, receiver sets
// that may be empty, phases that jump and do not begin at 1, rounds shared by messages, counts that are expressions,
// declared ranges, large numbers, sets past 64, and writes after outputs and sends.
func Wild(seed uint64) string { return (&wild{rng: rand.New(rand.NewPCG(seed, 0x77696c64))}).program() }

// Edge makes a wild program that is mostly about numbers which do not fit into something: 16 bits, 32 bits, a byte, a
// set of 64; and about outputs and plain timeouts. It is for what the evaluators in Go and in C may do differently.
func Edge(seed uint64) string {
	return (&wild{rng: rand.New(rand.NewPCG(seed, 0x65646765)), edge: true}).program()
}

func (g *wild) program() string {
	g.header()
	g.actions()
	g.init()
	common := g.cut()
	rules := map[string]string{}
	for _, m := range g.msgs {
		g.messageRule(m)
		if g.chance(25) {
			g.messageRule(m)
		}
		rules[m.name] = g.cut()
	}
	for r := range g.rounds {
		if g.chance(45) {
			g.roundTimeout(r)
		}
		if g.chance(10) {
			g.roundTimeout(r)
		}
	}
	if g.edge || g.chance(45) {
		g.plainTimeout()
	}
	if g.chance(15) {
		g.plainTimeout()
	}
	g.properties()
	rest := g.cut()
	// Rules on messages that no node sends would be refused.
	out := common
	for again := true; again; {
		again = false
		for _, m := range g.msgs {
			if rules[m.name] != "" && strings.Contains(out+rest, "send "+m.name+"(") {
				out += rules[m.name]
				rules[m.name], again = "", true
			}
		}
	}
	return out + rest
}

// Alike makes a wild program in which, for the most part, nothing distinguishes one node from another.
func Alike(seed uint64) string {
	return strings.NewReplacer("self == node(1)", "b", "{node(1)}", "{self}", "to node(1)", "to choose(all)",
		"[node(1), self]", "who", "node(1)", "self",
		"first(ms).v", "(max o in ms by (o.v)).v", "first(ms).k", "(max o in ms by (o.k)).k",
		"first(ms).who + {first(ms).from}", "{o.from for o in ms}",
		"first(ms).who", "others", "first(ms).from", "choose(all)").Replace(Wild(seed))
}

// Values makes a wild program in which, for the most part, numbers other than phases are only copied and compared for
// equality. In every other one nothing distinguishes one node from another, either. Some use numbers in a way that
// tells them apart.
func Values(seed uint64) string {
	src := Wild(seed)
	if seed%2 == 1 {
		src = Alike(seed)
	}
	tell := [...][]string{
		{"far := {}", "a := if far == {} then a else first(far)", "{100, a}", "{a, choose({0, 2})}"},
		{"first(ms).v % 3", "(min o in ms by (o.v)).v", "(max o in ms by (o.v)).v % 3", "(max o in ms by (o.v)).v"},
		{"opt := none", "a := len(log)"},
		{"a := choose({0, 2})", "for far0 in far { a := far0 }", "{100, a}", "{a, choose({0, 2})}"},
		{}, {}, {}, {},
	}[seed/2%8]
	return strings.NewReplacer(append(tell, "a: int(0..40000)", "a: int", "a: int(-1..2)", "a: int", "int = 0\n\tb:",
		"int = choose({0, 2})\n\tb:", "int = 1\n\tb:", "int = choose({0, 2})\n\tb:",
		"choose({0, 1})", "choose({0, 2})", "(x + 1) % 3", "x", "x % 3", "x", "next(a)", "a", "a := 40000 / (a + 1) % 3",
		"a := choose({0, 2})",
		"a := (2147483646 + a) % 3", "a := choose({0, 2})", ".v % 3", ".v", ".v >= a", ".v == a", ".v > a", ".v == a",
		"times >= a", "times >= 1", "with a < 2", "with a == 1",
		", k, who)", ", a, who)", ", len(far), who)", ", a, who)", "p.a < 3 and ", "", "p.a != 2", "p.opt != some(p.a)",
		"output len(log)", "output a",
		"v == self.a or v == len(self.log)", "v == self.a", "a := len(received", "b := 1 < len(received",
		"a := len(seen) % 3", "b := len(seen) > 1", ")) % 3", "))",
		"(max o in ms by (o.v)).v", "choose(ms).v")...).Replace(src)
}

// cut takes what has been written so far.
func (g *wild) cut() string {
	text := g.b.String()
	g.b.Reset()
	return text
}

func (g *wild) line(format string, args ...any) { fmt.Fprintf(&g.b, format+"\n", args...) }

func (g *wild) pick(options ...string) string { return options[g.rng.IntN(len(options))] }

func (g *wild) chance(percent int) bool { return g.rng.IntN(100) < percent }

func (g *wild) header() {
	g.line("protocol Wild(n = %s, f = 1)", g.pick("2", "2", "3"))
	for r := range 1 + g.rng.IntN(3) {
		g.rounds = append(g.rounds, fmt.Sprintf("R%d", r))
		g.msgs = append(g.msgs, message{fmt.Sprintf("M%d", r), r})
		if g.chance(15) {
			g.msgs = append(g.msgs, message{fmt.Sprintf("N%d", r), r}) // a round shared by two messages
		}
	}
	for _, m := range g.msgs {
		g.line("message %s { k: int, v: int, who: set<node> } tag (k, %s)", m.name, g.rounds[m.round])
	}
	g.line("rounds %s", strings.Join(g.rounds, " < "))
	if g.chance(60) {
		g.line("phase k")
	}
	g.first = []int{1, 1, 1, 0, -2, 5}[g.rng.IntN(6)]
	g.light = g.chance(5)
	more := ""
	if g.light {
		more = "\n\tlit: bool = false"
	}
	if g.chance(4) { // names that the lock-step form would take
		g.line("record DueM0 { x: int }")
		more += "\n\tdue_M0: int = 0"
	}
	g.line("state {\n\tk: int = %d\n\ta: %s = %s\n\tb: bool = false\n\twho: set<node>\n\tfar: set<int>\n\tlog: seq<int>\n\topt: int?%s\n}", g.first,
		g.pick("int", "int", "int(0..40000)", "int(-1..2)"), g.pick("0", "1", "choose({0, 1})"), more)
	g.line("output int")
	g.line("fun next(x: int): int = (x + 1) %% 3")
}

// actions may be called from anywhere, with a phase and a set of nodes.
func (g *wild) actions() {
	g.line("action move(there: int, whom: set<node>) {")
	if g.chance(94) {
		g.line("\tk := there")
	}
	g.send("\t", 0, g.pick("k", "k", "k", "there"), "whom")
	g.line("}")
	g.line("action note(x: int) {\n\t%s\n}", g.pick("a := x % 3", "log := if len(log) < 2 then log + [x] else []",
		"opt := some(x)", "output x"))
	g.line("action bump() {\n\t%s\n}", g.pick("k := k + 1", "a := next(a)"))
	g.line("action tell(x: int, whom: node) {")
	g.sendValue("\t", len(g.rounds)-1, "k", "x", "whom")
	g.line("}")
	g.line("action peek() {\n\ta := len(received(%s)) %% 3\n}", g.msgs[g.rng.IntN(len(g.msgs))].name)
}

func (g *wild) init() {
	g.line("init {")
	if g.chance(20) {
		g.line("\tif self == node(1) {")
		g.send("\t\t", 0, "k", "all")
		g.line("\t}")
	} else {
		g.send("\t", 0, g.pick("k", "k", "k", "k", "k", "k", "k + 1"), g.receivers(""))
	}
	g.line("}")
}

// receivers is a set of nodes or a node; m is an expression for a message, or "".
func (g *wild) receivers(m string) string {
	options := []string{"all", "all", "all", "others", "who", "node(1)", "{}", "who - {self}", "choose(all)"}
	if m != "" {
		options = append(options, m+".from", m+".who")
	}
	r := options[g.rng.IntN(len(options))]
	if r == "{}" {
		return "all - all"
	}
	return r
}

func (g *wild) send(indent string, round int, phase, to string) {
	g.sendValue(indent, round, phase, g.pick("a", "a", "k", "next(a)", "len(far)"), to)
}

func (g *wild) sendValue(indent string, round int, phase, value, to string) {
	var in []message
	for _, m := range g.msgs {
		if m.round == round {
			in = append(in, m)
		}
	}
	m := in[g.rng.IntN(len(in))]
	g.line("%ssend %s(%s, %s, who) to %s", indent, m.name, phase, value, to)
}

func (g *wild) messageRule(m message) {
	timely := g.pick(" and timely", " and timely", "", "")
	if g.chance(50) {
		guard := g.pick("m.k == k", "m.k >= k", "m.k > k", "m.k == k and m.v >= a", "m.v >= a", "m.k <= k + 1")
		g.line("upon %s m with %s%s do {", m.name, guard, timely)
		g.body(m.round, "m", true)
		return
	}
	times := g.pick("times > n / 2", "times >= 1", "times all", "times >= n - f", "same (.v) times > n / 2", "times >= a",
		"same (.v, .from) times >= 1", "times > len(far)")
	g.line("upon %s ms with %s%s %s do {", m.name, g.pick(".k == k", ".k >= k", ".k > k"), timely, times)
	g.body(m.round, "first(ms)", true)
}

func (g *wild) roundTimeout(round int) {
	bind := "ms "
	for i, m := range g.msgs {
		for _, o := range g.msgs[:i] {
			if o.round == round && m.round == round {
				bind = ""
			}
		}
	}
	guard := ""
	if g.chance(30) {
		guard = "with " + g.test() + " "
		if bind != "" && g.chance(40) {
			guard = "with len(ms) < n "
		}
	}
	g.line("upon timeout in (%s, R%d) %s%sdo {", g.pick("k", "k", "k", "k + 1"), round, bind, guard)
	g.body(round, "", false)
}

func (g *wild) plainTimeout() {
	g.line("upon timeout %sdo {", g.pick("", "with b ", "with a < 2 ", "with self == node(1) "))
	if g.light {
		g.line("\tlit := true\n\tmove(k + 1, all)\n}")
		return
	}
	if g.chance(60) {
		g.line("\tif %s {", g.test())
		g.line("\t\tk := k + 1")
		if g.chance(40) {
			g.change("\t\t", "")
		}
		g.send("\t\t", g.rng.IntN(len(g.rounds)), "k", g.receivers(""))
		g.line("\t}\n}")
		return
	}
	if g.chance(25) {
		g.change("\t", "")
	}
	switch {
	case g.chance(70):
		g.line("\tmove(k + 1, %s)", g.pick("all", "others", "who", "all - all"))
	case g.chance(50):
		g.send("\t", g.rng.IntN(len(g.rounds)), "k + 1", g.receivers(""))
	}
	if g.chance(8) {
		g.line("\tpeek()")
	}
	g.line("}")
}

// body makes an action of a round: changes, perhaps loops and an output, and a way out.
func (g *wild) body(round int, m string, mailbox bool) {
	if g.light {
		g.line("\tlit := false")
	}
	for range 1 + g.rng.IntN(2) {
		g.change("\t", m)
	}
	if mailbox && g.chance(8) {
		g.line("\tpeek()")
	}
	if mailbox && g.chance(5) {
		g.line("\tlet seen = received(%s)\n\ta := len(seen) %% 3", g.msgs[g.rng.IntN(len(g.msgs))].name)
	}
	if g.chance(25) || g.edge && g.chance(50) {
		g.line("\toutput %s", g.pick("a", "len(log)"))
		if g.chance(40) {
			g.change("\t", m)
		}
	}
	if g.chance(30) {
		g.line("\tif %s {", g.test())
		g.leave("\t\t", round, m)
		g.line("\t} else {")
		g.leave("\t\t", round, m)
		g.line("\t}")
	} else {
		g.leave("\t", round, m)
	}
	if g.chance(2) {
		g.change("\t", m) // after the send
	}
	if g.chance(1) {
		g.line("\toutput a")
	}
	g.line("}")
}

func (g *wild) test() string {
	return g.pick("b", "a == 1", "len(log) > 1", "opt != none", "(exists p in who: p != self)", "self == node(1)", "k > 2",
		"100 in far")
}

// change makes one assignment, in a loop or not.
func (g *wild) change(indent, m string) {
	options := []string{"a := next(a)", "a := choose({0, 2})", "b := not b", "who := who + {self}",
		"who := who - {node(1)}",
		"opt := some(a)", "opt := none", "log := if len(log) < 2 then log + [a] else []", "far := far + {100, a}",
		"far := {}",
		"note(a)", "a := 40000 / (a + 1) % 3", "a := (2147483646 + a) % 3"}
	if m != "" {
		options = append(options, "a := "+m+".v % 3", "who := "+m+".who + {"+m+".from}", "b := "+m+".v > a", "k := "+m+".k",
			"k := "+m+".k", "k := "+m+".k")
	}
	if g.edge && g.chance(60) {
		options = []string{"a := 40000", "a := 40000 + a % 2", "b := a > 30000", "far := far + {356}", "far := far + {100}",
			"b := 100 in far", "b := 356 in far", "far := far + {100, 356}", "b := 356 in {100, a}",
			"a := (2147483646 + a) % 3", "a := 2147483645 + a - 2147483645", "a := -2147483647 - a + 2147483647", "a := next(a)"}
	}
	text := options[g.rng.IntN(len(options))]
	switch {
	case g.chance(5):
		g.loops++
		g.line("%sfor z%d in who {\n%s\tbump()\n%s}", indent, g.loops, indent, indent)
	case g.chance(20):
		g.line("%sif %s {\n%s\t%s\n%s}", indent, g.test(), indent, text, indent)
	case g.chance(12):
		g.loops++
		g.line("%sfor x%d in %s {\n%s\t%s\n%s}", indent, g.loops, g.pick("who", "all", "[1, 1]"), indent, text, indent)
	default:
		g.line("%s%s", indent, text)
	}
}

// leave ends an action: on to a later round, to another phase, in a loop, or nowhere.
func (g *wild) leave(indent string, round int, m string) {
	later := round + 1
	if later < len(g.rounds) {
		later += g.rng.IntN(len(g.rounds) - later)
	}
	switch {
	case later < len(g.rounds) && g.chance(55):
		if g.chance(20) {
			g.sendLoop(indent, later)
			return
		}
		if g.chance(6) {
			g.countingLoop(indent, later)
			return
		}
		g.send(indent, later, "k", g.receivers(m))
		if g.chance(10) && later+1 < len(g.rounds) {
			g.send(indent, later+1, "k", g.receivers(m)) // two sends
		}
	case g.chance(12): // into the middle of another phase
		g.line("%sk := k + %s", indent, g.pick("1", "2"))
		g.send(indent, g.rng.IntN(len(g.rounds)), "k", g.receivers(m))
	case g.chance(70):
		g.line("%smove(k + %s, %s)", indent, g.pick("1", "1", "1", "2"), g.pick("all", "all", "others", "who"))
	case g.chance(20):
		g.line("%sk := k + 1", indent)
	}
}

// sendLoop sends to one node after the other, perhaps through an action, perhaps in a loop around the loop.
func (g *wild) sendLoop(indent string, round int) {
	g.loops++
	x, y := fmt.Sprintf("p%d", g.loops), ""
	if g.chance(30) {
		set := g.pick("all", "[1, 1]", "who")
		y = fmt.Sprintf("y%d", g.loops)
		g.line("%sfor %s in %s {", indent, y, set)
		defer g.line("%s}", indent) // a loop around the loop
		if set == "[1, 1]" {
			y = ""
		}
	}
	g.line("%sfor %s in %s {", indent, x, g.pick("all", "who", "[node(1), self]"))
	if g.chance(15) {
		g.line("%s\tbump()", indent)
	}
	switch {
	case y != "" && g.chance(30):
		g.send(indent+"\t", round, "k", y)
	case g.chance(20):
		g.line("%s\ttell(a, %s)", indent, g.pick(x, "node(1)", "self"))
	default:
		g.send(indent+"\t", round, "k", g.pick(x, x, "others"))
	}
	g.line("%s}", indent)
}

// countingLoop moves the phase in a loop and sends only after more passes than proofs follow.
func (g *wild) countingLoop(indent string, round int) {
	g.loops++
	g.line("%slet j%d = k", indent, g.loops)
	g.line("%sfor z%d in %s {\n%s\t%s\n%s}", indent, g.loops, g.pick("[1, 1, 1]", "all"), indent,
		g.pick("bump()", "k := k + 1"), indent)
	g.line("%sif k > j%d + 2 {", indent, g.loops)
	g.send(indent+"\t", round, g.pick("k", fmt.Sprintf("j%d", g.loops)), g.receivers(""))
	g.line("%s}", indent)
}

func (g *wild) properties() {
	if g.light {
		g.line("network %s\nproperty Dark: forall p in all: not p.lit", g.pick("reliable", "own"))
	} else {
		g.line("network %s", g.pick("any", "any", "reliable", "atleast(n - f)", "kernel", "mutual", "own"))
	}
	if g.edge {
		g.line("property Large: forall p in all: %s", g.pick("p.a < 40001", "p.a < 40000", "p.a >= 0", "p.b or p.a >= 0"))
		g.line("property Once: on output v: self.output == none or self.output == some(v)")
		g.line("test small { phases = 2; timeouts = free }")
		return
	}
	g.line("property Values: forall p in all: p.a < 3 and len(p.log) < 3")
	if g.chance(40) {
		g.line("property Few: forall p in all: %s", g.pick("not p.b", "p.a != 2", "p.opt == none", "len(p.who) < 2",
			"p.far == {}"))
	}
	if g.chance(50) {
		g.line("property Quiet: forall p in all: p.output == none")
	}
	if g.chance(40) {
		g.line("property Once: on output v: self.output == none or self.output == some(v)")
	}
	if g.chance(40) {
		g.line("property Same: on output v: v == self.a or v == len(self.log)")
	}
	if g.chance(30) {
		g.line("property Agree: forall p, q in all: p.output == none or q.output == none or p.output == q.output")
	}
	g.line("test small { phases = 2; timeouts = free }")
}
