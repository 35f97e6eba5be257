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

func (w *wild) program() string {
	w.header()
	w.actions()
	w.init()
	common := w.cut()
	rules := map[string]string{}
	for _, m := range w.msgs {
		w.messageRule(m)
		if w.chance(25) {
			w.messageRule(m)
		}
		rules[m.name] = w.cut()
	}
	for r := range w.rounds {
		if w.chance(45) {
			w.roundTimeout(r)
		}
		if w.chance(10) {
			w.roundTimeout(r)
		}
	}
	if w.edge || w.chance(45) {
		w.plainTimeout()
	}
	if w.chance(15) {
		w.plainTimeout()
	}
	w.properties()
	rest := w.cut()
	// Rules on messages that no node sends would be refused.
	out := common
	for again := true; again; {
		again = false
		for _, m := range w.msgs {
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
func (w *wild) cut() string {
	text := w.b.String()
	w.b.Reset()
	return text
}

func (w *wild) line(format string, args ...any) { fmt.Fprintf(&w.b, format+"\n", args...) }

func (w *wild) pick(options ...string) string { return options[w.rng.IntN(len(options))] }

func (w *wild) chance(percent int) bool { return w.rng.IntN(100) < percent }

func (w *wild) header() {
	w.line("protocol Wild(n = %s, f = 1)", w.pick("2", "2", "3"))
	for r := range 1 + w.rng.IntN(3) {
		w.rounds = append(w.rounds, fmt.Sprintf("R%d", r))
		w.msgs = append(w.msgs, message{fmt.Sprintf("M%d", r), r})
		if w.chance(15) {
			w.msgs = append(w.msgs, message{fmt.Sprintf("N%d", r), r}) // a round shared by two messages
		}
	}
	for _, m := range w.msgs {
		w.line("message %s { k: int, v: int, who: set<node> } tag (k, %s)", m.name, w.rounds[m.round])
	}
	w.line("rounds %s", strings.Join(w.rounds, " < "))
	if w.chance(60) {
		w.line("phase k")
	}
	w.first = []int{1, 1, 1, 0, -2, 5}[w.rng.IntN(6)]
	w.light = w.chance(5)
	more := ""
	if w.light {
		more = "\n\tlit: bool = false"
	}
	if w.chance(4) { // names that the lock-step form would take
		w.line("record DueM0 { x: int }")
		more += "\n\tdue_M0: int = 0"
	}
	w.line("state {\n\tk: int = %d\n\ta: %s = %s\n\tb: bool = false\n\twho: set<node>\n\tfar: set<int>\n\tlog: seq<int>\n\topt: int?%s\n}", w.first,
		w.pick("int", "int", "int(0..40000)", "int(-1..2)"), w.pick("0", "1", "choose({0, 1})"), more)
	w.line("output int")
	w.line("fun next(x: int): int = (x + 1) %% 3")
}

// actions may be called from anywhere, with a phase and a set of nodes.
func (w *wild) actions() {
	w.line("action move(there: int, whom: set<node>) {")
	if w.chance(94) {
		w.line("\tk := there")
	}
	w.send("\t", 0, w.pick("k", "k", "k", "there"), "whom")
	w.line("}")
	w.line("action note(x: int) {\n\t%s\n}", w.pick("a := x % 3", "log := if len(log) < 2 then log + [x] else []",
		"opt := some(x)", "output x"))
	w.line("action bump() {\n\t%s\n}", w.pick("k := k + 1", "a := next(a)"))
	w.line("action tell(x: int, whom: node) {")
	w.sendValue("\t", len(w.rounds)-1, "k", "x", "whom")
	w.line("}")
	w.line("action peek() {\n\ta := len(received(%s)) %% 3\n}", w.msgs[w.rng.IntN(len(w.msgs))].name)
}

func (w *wild) init() {
	w.line("init {")
	if w.chance(20) {
		w.line("\tif self == node(1) {")
		w.send("\t\t", 0, "k", "all")
		w.line("\t}")
	} else {
		w.send("\t", 0, w.pick("k", "k", "k", "k", "k", "k", "k + 1"), w.receivers(""))
	}
	w.line("}")
}

// receivers is a set of nodes or a node; m is an expression for a message, or "".
func (w *wild) receivers(m string) string {
	options := []string{"all", "all", "all", "others", "who", "node(1)", "{}", "who - {self}", "choose(all)"}
	if m != "" {
		options = append(options, m+".from", m+".who")
	}
	r := options[w.rng.IntN(len(options))]
	if r == "{}" {
		return "all - all"
	}
	return r
}

func (w *wild) send(indent string, round int, phase, to string) {
	w.sendValue(indent, round, phase, w.pick("a", "a", "k", "next(a)", "len(far)"), to)
}

func (w *wild) sendValue(indent string, round int, phase, value, to string) {
	var in []message
	for _, m := range w.msgs {
		if m.round == round {
			in = append(in, m)
		}
	}
	m := in[w.rng.IntN(len(in))]
	w.line("%ssend %s(%s, %s, who) to %s", indent, m.name, phase, value, to)
}

func (w *wild) messageRule(m message) {
	timely := w.pick(" and timely", " and timely", "", "")
	if w.chance(50) {
		guard := w.pick("m.k == k", "m.k >= k", "m.k > k", "m.k == k and m.v >= a", "m.v >= a", "m.k <= k + 1")
		w.line("upon %s m with %s%s do {", m.name, guard, timely)
		w.body(m.round, "m", true)
		return
	}
	times := w.pick("times > n / 2", "times >= 1", "times all", "times >= n - f", "same (.v) times > n / 2", "times >= a",
		"same (.v, .from) times >= 1", "times > len(far)")
	w.line("upon %s ms with %s%s %s do {", m.name, w.pick(".k == k", ".k >= k", ".k > k"), timely, times)
	w.body(m.round, "first(ms)", true)
}

func (w *wild) roundTimeout(round int) {
	bind := "ms "
	for i, m := range w.msgs {
		for _, o := range w.msgs[:i] {
			if o.round == round && m.round == round {
				bind = ""
			}
		}
	}
	guard := ""
	if w.chance(30) {
		guard = "with " + w.test() + " "
		if bind != "" && w.chance(40) {
			guard = "with len(ms) < n "
		}
	}
	w.line("upon timeout in (%s, R%d) %s%sdo {", w.pick("k", "k", "k", "k + 1"), round, bind, guard)
	w.body(round, "", false)
}

func (w *wild) plainTimeout() {
	w.line("upon timeout %sdo {", w.pick("", "with b ", "with a < 2 ", "with self == node(1) "))
	if w.light {
		w.line("\tlit := true\n\tmove(k + 1, all)\n}")
		return
	}
	if w.chance(60) {
		w.line("\tif %s {", w.test())
		w.line("\t\tk := k + 1")
		if w.chance(40) {
			w.change("\t\t", "")
		}
		w.send("\t\t", w.rng.IntN(len(w.rounds)), "k", w.receivers(""))
		w.line("\t}\n}")
		return
	}
	if w.chance(25) {
		w.change("\t", "")
	}
	switch {
	case w.chance(70):
		w.line("\tmove(k + 1, %s)", w.pick("all", "others", "who", "all - all"))
	case w.chance(50):
		w.send("\t", w.rng.IntN(len(w.rounds)), "k + 1", w.receivers(""))
	}
	if w.chance(8) {
		w.line("\tpeek()")
	}
	w.line("}")
}

// body makes an action of a round: changes, perhaps loops and an output, and a way out.
func (w *wild) body(round int, m string, mailbox bool) {
	if w.light {
		w.line("\tlit := false")
	}
	for range 1 + w.rng.IntN(2) {
		w.change("\t", m)
	}
	if mailbox && w.chance(8) {
		w.line("\tpeek()")
	}
	if mailbox && w.chance(5) {
		w.line("\tlet seen = received(%s)\n\ta := len(seen) %% 3", w.msgs[w.rng.IntN(len(w.msgs))].name)
	}
	if w.chance(25) || w.edge && w.chance(50) {
		w.line("\toutput %s", w.pick("a", "len(log)"))
		if w.chance(40) {
			w.change("\t", m)
		}
	}
	if w.chance(30) {
		w.line("\tif %s {", w.test())
		w.leave("\t\t", round, m)
		w.line("\t} else {")
		w.leave("\t\t", round, m)
		w.line("\t}")
	} else {
		w.leave("\t", round, m)
	}
	if w.chance(2) {
		w.change("\t", m) // after the send
	}
	if w.chance(1) {
		w.line("\toutput a")
	}
	w.line("}")
}

func (w *wild) test() string {
	return w.pick("b", "a == 1", "len(log) > 1", "opt != none", "(exists p in who: p != self)", "self == node(1)", "k > 2",
		"100 in far")
}

// change makes one assignment, in a loop or not.
func (w *wild) change(indent, m string) {
	options := []string{"a := next(a)", "a := choose({0, 2})", "b := not b", "who := who + {self}",
		"who := who - {node(1)}",
		"opt := some(a)", "opt := none", "log := if len(log) < 2 then log + [a] else []", "far := far + {100, a}",
		"far := {}",
		"note(a)", "a := 40000 / (a + 1) % 3", "a := (2147483646 + a) % 3"}
	if m != "" {
		options = append(options, "a := "+m+".v % 3", "who := "+m+".who + {"+m+".from}", "b := "+m+".v > a", "k := "+m+".k",
			"k := "+m+".k", "k := "+m+".k")
	}
	if w.edge && w.chance(60) {
		options = []string{"a := 40000", "a := 40000 + a % 2", "b := a > 30000", "far := far + {356}", "far := far + {100}",
			"b := 100 in far", "b := 356 in far", "far := far + {100, 356}", "b := 356 in {100, a}",
			"a := (2147483646 + a) % 3", "a := 2147483645 + a - 2147483645", "a := -2147483647 - a + 2147483647", "a := next(a)"}
	}
	text := options[w.rng.IntN(len(options))]
	switch {
	case w.chance(5):
		w.loops++
		w.line("%sfor z%d in who {\n%s\tbump()\n%s}", indent, w.loops, indent, indent)
	case w.chance(20):
		w.line("%sif %s {\n%s\t%s\n%s}", indent, w.test(), indent, text, indent)
	case w.chance(12):
		w.loops++
		w.line("%sfor x%d in %s {\n%s\t%s\n%s}", indent, w.loops, w.pick("who", "all", "[1, 1]"), indent, text, indent)
	default:
		w.line("%s%s", indent, text)
	}
}

// leave ends an action: on to a later round, to another phase, in a loop, or nowhere.
func (w *wild) leave(indent string, round int, m string) {
	later := round + 1
	if later < len(w.rounds) {
		later += w.rng.IntN(len(w.rounds) - later)
	}
	switch {
	case later < len(w.rounds) && w.chance(55):
		if w.chance(20) {
			w.sendLoop(indent, later)
			return
		}
		if w.chance(6) {
			w.countingLoop(indent, later)
			return
		}
		w.send(indent, later, "k", w.receivers(m))
		if w.chance(10) && later+1 < len(w.rounds) {
			w.send(indent, later+1, "k", w.receivers(m)) // two sends
		}
	case w.chance(12): // into the middle of another phase
		w.line("%sk := k + %s", indent, w.pick("1", "2"))
		w.send(indent, w.rng.IntN(len(w.rounds)), "k", w.receivers(m))
	case w.chance(70):
		w.line("%smove(k + %s, %s)", indent, w.pick("1", "1", "1", "2"), w.pick("all", "all", "others", "who"))
	case w.chance(20):
		w.line("%sk := k + 1", indent)
	}
}

// sendLoop sends to one node after the other, perhaps through an action, perhaps in a loop around the loop.
func (w *wild) sendLoop(indent string, round int) {
	w.loops++
	x, y := fmt.Sprintf("p%d", w.loops), ""
	if w.chance(30) {
		set := w.pick("all", "[1, 1]", "who")
		y = fmt.Sprintf("y%d", w.loops)
		w.line("%sfor %s in %s {", indent, y, set)
		defer w.line("%s}", indent) // a loop around the loop
		if set == "[1, 1]" {
			y = ""
		}
	}
	w.line("%sfor %s in %s {", indent, x, w.pick("all", "who", "[node(1), self]"))
	if w.chance(15) {
		w.line("%s\tbump()", indent)
	}
	switch {
	case y != "" && w.chance(30):
		w.send(indent+"\t", round, "k", y)
	case w.chance(20):
		w.line("%s\ttell(a, %s)", indent, w.pick(x, "node(1)", "self"))
	default:
		w.send(indent+"\t", round, "k", w.pick(x, x, "others"))
	}
	w.line("%s}", indent)
}

// countingLoop moves the phase in a loop and sends only after more passes than proofs follow.
func (w *wild) countingLoop(indent string, round int) {
	w.loops++
	w.line("%slet j%d = k", indent, w.loops)
	w.line("%sfor z%d in %s {\n%s\t%s\n%s}", indent, w.loops, w.pick("[1, 1, 1]", "all"), indent,
		w.pick("bump()", "k := k + 1"), indent)
	w.line("%sif k > j%d + 2 {", indent, w.loops)
	w.send(indent+"\t", round, w.pick("k", fmt.Sprintf("j%d", w.loops)), w.receivers(""))
	w.line("%s}", indent)
}

func (w *wild) properties() {
	if w.light {
		w.line("network %s\nproperty Dark: forall p in all: not p.lit", w.pick("reliable", "own"))
	} else {
		w.line("network %s", w.pick("any", "any", "reliable", "atleast(n - f)", "kernel", "mutual", "own"))
	}
	if w.edge {
		w.line("property Large: forall p in all: %s", w.pick("p.a < 40001", "p.a < 40000", "p.a >= 0", "p.b or p.a >= 0"))
		w.line("property Once: on output v: self.output == none or self.output == some(v)")
		w.line("test small { phases = 2; timeouts = free }")
		return
	}
	w.line("property Values: forall p in all: p.a < 3 and len(p.log) < 3")
	if w.chance(40) {
		w.line("property Few: forall p in all: %s", w.pick("not p.b", "p.a != 2", "p.opt == none", "len(p.who) < 2",
			"p.far == {}"))
	}
	if w.chance(50) {
		w.line("property Quiet: forall p in all: p.output == none")
	}
	if w.chance(40) {
		w.line("property Once: on output v: self.output == none or self.output == some(v)")
	}
	if w.chance(40) {
		w.line("property Same: on output v: v == self.a or v == len(self.log)")
	}
	if w.chance(30) {
		w.line("property Agree: forall p, q in all: p.output == none or q.output == none or p.output == q.output")
	}
	w.line("test small { phases = 2; timeouts = free }")
}
