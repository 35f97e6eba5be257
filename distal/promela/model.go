package promela

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep/distal/core"
)

// state declares what a node holds, and what it hands over to another node.
func (g *generator) state() string {
	var b strings.Builder
	fmt.Fprintf(&b, "typedef struct __attribute__((packed)) {")
	for i, v := range g.prog.Vars {
		fmt.Fprintf(&b, " %s v%d;", g.stored(v.Type), i)
	}
	b.WriteString(" } Local;\ntypedef struct __attribute__((packed)) { u8 kind; union {")
	for i, m := range g.prog.Messages {
		fmt.Fprintf(&b, " %s m%d;", g.name(m.Type), i)
		g.name(core.SetOf(m.Type))
	}
	b.WriteString(" } u; } Out;\n")
	return b.String()
}

// runtime is the fixed part of the code. Choices are numbered: x_path holds the choices of the resolution being run.
func runtime(n int) string {
	return fmt.Sprintf(`static Out out_[%d], *in_[%d];
static int half_ = -1;
static int after(int p, int r) { return half_ < 0 || p > now.phase || (p == now.phase && 2 * r + 1 > 2 * now.round + half_); }
static int advance(void) {
	int i = x_depth - 1;
	while (i >= 0 && x_path[i] + 1 >= x_sizes[i]) i--;
	if (i < 0) return 0;
	x_path[i]++; x_depth = i + 1; x_at = 0;
	return 1;
}
`, n+1, n+1)
}

// functions writes functions, actions and properties.
func (g *generator) functions() string {
	var b strings.Builder
	for i, m := range g.prog.Messages {
		set := g.name(core.SetOf(m.Type))
		fmt.Fprintf(&b,
			"static %s mail_%d(void) { %s r = {0}; int i; for (i = 1; i <= NODES_; i++) if (in_[i] && in_[i]->kind == %d) r = add_%s(r, in_[i]->u.m%d); return r; }\n",
			set, i, set, i+1, set, i)
	}
	for i, f := range g.prog.Funs {
		fmt.Fprintf(&b, "static %s fun_%d(%s);\n", g.ctype(f.Result), i, g.parameters(f.Params, ""))
	}
	for i, f := range g.prog.Funs {
		fmt.Fprintf(&b, "static %s fun_%d(%s) { return %s; }\n", g.ctype(f.Result), i, g.parameters(f.Params, ""),
			g.expr(f.Body))
	}
	g.publish(&b)
	const own = "Local *s, int self"
	for i, a := range g.prog.Actions {
		fmt.Fprintf(&b, "static void act_%d(%s);\n", i, g.parameters(a.Params, own))
	}
	for i, a := range g.prog.Actions {
		fmt.Fprintf(&b, "static void act_%d(%s) {\n%s}\n", i, g.parameters(a.Params, own), g.stmts(a.Body, "\t"))
	}
	b.WriteString("static int holds(void) {\n")
	for _, q := range g.prog.Props {
		if q.Moment == core.OnStates {
			fmt.Fprintf(&b, "\tif (!%s) return 0; /* %+q */\n", g.expr(q.X), q.Name)
		}
	}
	b.WriteString("\treturn 1;\n}\n")
	return b.String()
}

func (g *generator) parameters(params []core.Field, first string) string {
	var parts []string
	if first != "" {
		parts = append(parts, first)
	}
	for i, p := range params {
		parts = append(parts, g.ctype(p.Type)+" "+slot(i))
	}
	if len(parts) == 0 {
		return "void"
	}
	return strings.Join(parts, ", ")
}

// publish makes a value the node's last output, after checking the properties on outputs.
func (g *generator) publish(b *strings.Builder) {
	if g.prog.Output < 0 {
		return
	}
	t := g.prog.Vars[g.prog.Output].Type
	fmt.Fprintf(b, "static void publish(Local *s, int self, %s l0) {\n", g.ctype(t.Elem))
	g.output = true
	for _, q := range g.prog.Props {
		if q.Moment == core.OnOutput {
			fmt.Fprintf(b, "\tif (!%s) broken = 1; /* %+q */\n", g.expr(q.X), q.Name)
		}
	}
	g.output = false
	fmt.Fprintf(b, "\ts->v%d = some_%s(l0);\n}\n", g.prog.Output, g.name(t))
}

// blocks writes the init block and the two blocks of each round.
func (g *generator) blocks() string {
	var b strings.Builder
	b.WriteString("static void start_once(Local *s, int self) {\n\tmemset(s, 0, sizeof *s);\n")
	for i, v := range g.prog.Vars {
		if v.Init != nil {
			fmt.Fprintf(&b, "\ts->v%d = %s;\n", i, g.expr(v.Init))
		}
	}
	b.WriteString(g.stmts(g.prog.Init.Body, "\t") + "}\n")
	block := func(name string, body func(core.Round) []core.Stmt) {
		fmt.Fprintf(&b, "static void %s_once(Local *s, int self) {\n\tswitch (now.round) {\n", name)
		for i, r := range g.prog.Rounds {
			fmt.Fprintf(&b, "\tcase %d: {\n%s\t\tbreak; }\n", i, g.stmts(body(r), "\t\t"))
		}
		b.WriteString("\t}\n}\n")
		fmt.Fprintf(&b, "static int %s_chooses(void) { return %s; }\n", name, g.chooses(body))
	}
	block("begin", func(r core.Round) []core.Stmt { return r.Send })
	block("end", func(r core.Round) []core.Stmt { return r.Update })
	return b.String()
}

// chooses says in which rounds a block makes choices.
func (g *generator) chooses(body func(core.Round) []core.Stmt) string {
	var rounds []string
	for i, r := range g.prog.Rounds {
		found := false
		g.prog.ReachExprs(body(r), func(e core.Expr) {
			a, ok := e.(*core.Apply)
			found = found || ok && a.Op == core.Choose
		})
		if found {
			rounds = append(rounds, fmt.Sprintf("now.round == %d", i))
		}
	}
	if len(rounds) == 0 {
		return "0"
	}
	return strings.Join(rounds, " || ")
}

// rounds writes how a node begins and ends a round in one of the ways it can, and the commit of a whole round. What a
// node hands over is computed again whenever it is asked for: only the numbers of choices are part of the state.
func (g *generator) rounds() string {
	var b strings.Builder
	g.network(&b)
	fmt.Fprintf(&b, `static int resolve_start(Local *s, int self, int r) {
	x_depth = x_at = 0; half_ = -1;
	for (;;) { memset(out_, 0, sizeof out_); start_once(s, self); if (!r--) break; advance(); }
	return advance();
}
static int more_start(int self, int r) { Local s; return resolve_start(&s, self, r); }
static int resolve_begin(Local *s, int self, int r) {
	x_depth = x_at = 0; half_ = 0;
	for (;;) { *s = now.G[self]; memset(out_, 0, sizeof out_); begin_once(s, self); if (!r--) break; advance(); }
	return advance();
}
static int more_begin(int self, int r) { Local s; return begin_chooses() && resolve_begin(&s, self, r); }
/* What a node began with, remembered as long as it begins in the same way. */
static struct { Local from, to; Out out[%[1]d]; int phase, round, begin, known, flaws; } memo_[%[1]d];
static void at_begin(int self) {
	int f, k, l;
	if (memo_[self].known && memo_[self].phase == now.phase && memo_[self].round == now.round && memo_[self].begin == now.begin[self] &&
		memcmp(&memo_[self].from, &now.G[self], sizeof(Local)) == 0) { if (memo_[self].flaws & 1) faulted = 1; if (memo_[self].flaws & 2) broken = 1; if (memo_[self].flaws & 4) limited = 1; return; }
	f = faulted; k = broken; l = limited; faulted = broken = limited = 0;
	memo_[self].from = now.G[self];
	resolve_begin(&memo_[self].to, self, now.begin[self]);
	memcpy(memo_[self].out, out_, sizeof out_);
	memo_[self].phase = now.phase; memo_[self].round = now.round; memo_[self].begin = now.begin[self]; memo_[self].known = 1;
	memo_[self].flaws = faulted | broken << 1 | limited << 2;
	faulted |= f; broken |= k; limited |= l;
}
static int sent(int p, int q) { at_begin(p); return memo_[p].out[q].kind != 0; }
static int may_lose(int p, int q) {
	int i; nodes lost = 1u << p;
	for (i = 1; i < p; i++) if (sent(i, q) && !((now.got[q] >> i) & 1)) lost |= 1u << i;
	return allowed(now.mode, q, lost);
}
static int resolve_end(Local *s, int self, int r, int last) {
	int i;
	for (i = 1; i <= NODES_; i++) { in_[i] = 0; if ((now.got[self] >> i) & 1) { at_begin(i); in_[i] = &memo_[i].out[self]; } }
	at_begin(self);
	x_depth = x_at = 0; half_ = 1;
	for (;;) { *s = memo_[self].to; end_once(s, self); if (!r--) break; advance(); }
	return last ? 0 : advance();
}
static int more_end(int self, int r) { Local s; return end_chooses() && resolve_end(&s, self, r, 0); }
static void start_all(void) {
	int i;
	faulted = broken = limited = 0;
	for (i = 1; i <= NODES_; i++) { resolve_start(&now.G[i], i, now.begin[i]); now.begin[i] = 0; }
	now.bad = faulted || broken || !holds() || faulted;
	now.over = limited;
}
static void commit(void) {
	static Local next[%[1]d];
	int i, ok;
	faulted = broken = limited = 0;
	for (i = 1; i <= NODES_; i++) resolve_end(&next[i], i, now.end_[i], 1);
	for (i = 1; i <= NODES_; i++) { now.G[i] = memo_[i].to; }
	ok = holds();
	for (i = 1; i <= NODES_; i++) { now.G[i] = next[i]; now.begin[i] = now.end_[i] = 0; now.got[i] = 0; memo_[i].known = 0; }
	if (++now.round == %[2]d) { now.round = 0; now.phase++; }
	now.bad = !ok || faulted || broken || !holds() || faulted;
	now.over = limited;
}
`, g.n+1, len(g.prog.Rounds))
	return b.String()
}

// network writes the table of the network: by mode and node the smallest sets of nodes that must be heard.
func (g *generator) network(b *strings.Builder) {
	most := 1
	for _, mode := range g.model.Network.Modes {
		for _, sets := range mode {
			most = max(most, len(sets))
		}
	}
	fmt.Fprintf(b, "static const nodes least_[%d][%d][%d] = {\n", len(g.model.Network.Modes), g.n, most)
	for _, mode := range g.model.Network.Modes {
		b.WriteString("\t{")
		for _, sets := range mode {
			b.WriteString(" {")
			for i := range most {
				set := ^uint32(0) // never heard: a place not used
				if i < len(sets) {
					set = uint32(sets[i]) << 1
				}
				fmt.Fprintf(b, " %du,", set)
			}
			b.WriteString(" },")
		}
		b.WriteString(" },\n")
	}
	fmt.Fprintf(b,
		"};\nstatic int allowed(int mode, int q, nodes lost) { int i; for (i = 0; i < %d; i++) if (!(least_[mode][q - 1][i] & lost)) return 1; return 0; }\n", most)
}
