package promela

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep/distal/check"
	"github.com/lockstep-go/lockstep/distal/machine"
)

// rounds writes how a node begins and ends a round, and the commit of a whole round.
func (g *generator) rounds() string {
	var b strings.Builder
	for _, r := range g.model.Program.Rules {
		g.ruleCode(&b, r)
	}
	g.begin(&b)
	g.end(&b)
	fmt.Fprintf(&b, `static int may_lose(int p, int q) { return %s; }
static void start_all(void) {
	int i;
	faulted = broken = 0;
	for (i = 1; i <= %d; i++) { resolve_start(&now.G[i], i, now.begin[i]); now.begin[i] = 0; }
	now.bad = faulted || broken || !holds();
}
static void commit(void) {
	static Local next[%d];
	int i;
	faulted = broken = 0;
	for (i = 1; i <= %d; i++) resolve_end(&next[i], i, now.end_[i], 1);
	for (i = 1; i <= %d; i++) { now.G[i] = next[i]; now.begin[i] = now.end_[i] = 0; now.got[i] = 0; }
	if (++now.round == %d) { now.round = 0; now.phase++; }
	now.bad = faulted || broken || !holds();
}
`, g.loss(), g.n, g.n+1, g.n, g.n, len(g.prog.Rounds))
	return b.String()
}

// loss says when the network may lose the message from p to q.
func (g *generator) loss() string {
	switch g.model.Network {
	case check.Reliable:
		return "0"
	case check.Kernel:
		return "p != now.kern"
	case check.AtLeast:
		return fmt.Sprintf("({ int i, lost = 0; for (i = 1; i < p; i++) lost += sent(i, q) && !((now.got[q] >> i) & 1); lost < %d; })",
			g.n-g.model.AtLeast)
	}
	return "1"
}

// begin writes what a node does as a round begins: a plain timeout, then handing over what it has sent into the round.
func (g *generator) begin(b *strings.Builder) {
	fmt.Fprintf(b, "static int resolve_start(Local *s, int self, int r) {\n\tx_depth = x_at = 0;\n\tfor (;;) { start(s, self); if (!r--) break; advance(); }\n\treturn advance();\n}\n")
	b.WriteString("static int more_start(int self, int r) { Local s; return resolve_start(&s, self, r); }\n")
	b.WriteString("static void begin_once(Local *s, int self) {\n\tint count_ = s->pendings;\n\tLocal keep_ = *s;\n\tif (count_) return;\n")
	for round := range g.prog.Rounds {
		for _, r := range g.model.Plain(round) {
			idle := ""
			if g.model.Timeouts == check.Free {
				idle = " && pick(2)"
			}
			fmt.Fprintf(b, "\tif (now.round == %d && ready_%d(s, self)) {\n\t\tint f_ = faulted, b_ = broken;\n\t\tbody_%d(s, self, 0);\n", round, r.Index, r.Index)
			fmt.Fprintf(b, "\t\tif (s->pendings && s->pend[0].phase == now.phase && s->pend[0].round == now.round%s) return;\n\t\t*s = keep_; faulted = f_; broken = b_;\n\t}\n", idle)
		}
	}
	b.WriteString(`}
static int resolve_begin(Local *s, int self, int r) {
	x_depth = x_at = 0;
	for (;;) { *s = now.G[self]; begin_once(s, self); if (!r--) break; advance(); }
	return advance();
}
`)
	plain := "0"
	var rounds []string
	for round := range g.prog.Rounds {
		if len(g.model.Plain(round)) > 0 {
			rounds = append(rounds, fmt.Sprintf("now.round == %d", round))
		}
	}
	if len(rounds) > 0 {
		plain = strings.Join(rounds, " || ")
	}
	fmt.Fprintf(b, "static int more_begin(int self, int r) { Local s; return (%s) && resolve_begin(&s, self, r); }\n", plain)
	fmt.Fprintf(b, `static void at_begin(Local *s, int self) { if (%s) resolve_begin(s, self, now.begin[self]); else *s = now.G[self]; }
static Pending *from(Local *s, int to) {
	int i;
	for (i = 0; i < s->pendings; i++) if (s->pend[i].phase == now.phase && s->pend[i].round == now.round && ((s->pend[i].to >> to) & 1)) return &s->pend[i];
	return 0;
}
static int sent(int p, int q) { Local s; at_begin(&s, p); return from(&s, q) != 0; }
`, plain)
}

// end writes what a node does with its mailbox: the first rule that is enabled, or a timeout in the round.
func (g *generator) end(b *strings.Builder) {
	b.WriteString("static void end_once(Local *s, int self, Pending **in) {\n\tint k = 0, i;\n")
	b.WriteString("\tfor (i = 0; i < s->pendings; i++) if (!(s->pend[i].phase == now.phase && s->pend[i].round == now.round)) s->pend[k++] = s->pend[i];\n")
	b.WriteString("\tfor (i = k; i < s->pendings; i++) memset(&s->pend[i], 0, sizeof s->pend[i]);\n\ts->pendings = k;\n\tif (k) return;\n\tswitch (now.round) {\n")
	choices := make([]bool, len(g.prog.Rounds))
	for round := range g.prog.Rounds {
		fmt.Fprintf(b, "\tcase %d:\n", round)
		for _, r := range g.model.InRound(round) {
			fmt.Fprintf(b, "\t\tif (try_%d(s, self, in)) return;\n", r.Index)
			choices[round] = choices[round] || g.chooses(r)
		}
		b.WriteString("\t\treturn;\n")
	}
	fmt.Fprintf(b, `	}
}
static int resolve_end(Local *s, int self, int r, int last) {
	Local all[%d], start;
	Pending *in[%d];
	int i;
	for (i = 1; i <= %d; i++) { in[i] = 0; if (i == self || ((now.got[self] >> i) & 1)) { at_begin(&all[i], i); if ((now.got[self] >> i) & 1) in[i] = from(&all[i], self); } }
	start = all[self];
	x_depth = x_at = 0;
	for (;;) { *s = start; end_once(s, self, in); if (!r--) break; advance(); }
	return last ? 0 : advance();
}
`, g.n+1, g.n+1, g.n)
	var rounds []string
	for round, c := range choices {
		if c {
			rounds = append(rounds, fmt.Sprintf("now.round == %d", round))
		}
	}
	some := "0"
	if len(rounds) > 0 {
		some = strings.Join(rounds, " || ")
	}
	fmt.Fprintf(b, "static int more_end(int self, int r) { Local s; return (%s) && resolve_end(&s, self, r, 0); }\n", some)
}

// chooses says whether a rule can have several outcomes for one mailbox.
func (g *generator) chooses(r *machine.Rule) bool {
	h := r.Decl.Rule
	return h.Timeout && g.model.Timeouts == check.Free || !h.Timeout && h.Times == nil || h.Same != nil ||
		g.prog.Chooses(r.Decl.Body)
}
