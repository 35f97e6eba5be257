package promela

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep/distal/check"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

// structs declares what a node holds: its variables, its last output and the messages it has sent into rounds to come.
func (g *generator) structs() string {
	var b strings.Builder
	b.WriteString("typedef struct __attribute__((packed)) { u8 kind; short phase; u8 round; u16 to; union {")
	for _, m := range g.prog.Messages {
		fmt.Fprintf(&b, " %s %s;", g.ctype(m.Type), m.Type.Name)
	}
	b.WriteString(" } u; } Pending;\ntypedef struct __attribute__((packed)) {")
	for _, v := range g.prog.Vars {
		fmt.Fprintf(&b, " %s v_%s;", g.ctype(v.Type), v.Name)
	}
	if g.prog.Output != nil {
		fmt.Fprintf(&b, " %s out;", g.ctype(&check.Type{Kind: check.Option, Elem: g.prog.Output}))
	}
	for _, m := range g.prog.Messages {
		g.ctype(&check.Type{Kind: check.Set, Elem: m.Type})
	}
	fmt.Fprintf(&b, " u8 pendings; Pending pend[%d]; } Local;\n", g.maxSends())
	return b.String() + "//---\n"
}

// maxSends is the most messages that one action can leave pending.
func (g *generator) maxSends() int {
	most := 1
	count := func(body []*syntax.Stmt) {
		if n, ok := g.prog.MostSends(body); ok {
			most = max(most, n)
		} else {
			most = max(most, 4)
		}
	}
	count(g.prog.Init.Body)
	for _, r := range g.prog.Rules {
		count(r.Decl.Body)
	}
	return most
}

// runtime is the fixed part of the code. Choices are numbered: x_path holds the choices of the resolution being run.
const runtime = `static int faulted, broken;
static int x_path[32], x_sizes[32], x_depth, x_at;
static int pick(int n) {
	if (n <= 1) return 0;
	if (x_at == x_depth) { if (x_depth == 32) { faulted = 1; return 0; } x_path[x_at] = 0; x_sizes[x_at] = n; x_depth++; }
	return x_path[x_at++];
}
static int nth(u64 set) {
	int k = pick(__builtin_popcountll(set));
	if (!set) { faulted = 1; return 0; }
	while (k--) set &= set - 1;
	return __builtin_ctzll(set);
}
static int advance(void) {
	int i = x_depth - 1;
	while (i >= 0 && x_path[i] + 1 >= x_sizes[i]) i--;
	if (i < 0) return 0;
	x_path[i]++; x_depth = i + 1; x_at = 0;
	return 1;
}
#define L(i) (&now.G[i])
static Pending *post(Local *s, int kind, int phase, int round, int to) {
	int i;
	if (s->pendings >= sizeof s->pend / sizeof s->pend[0]) { faulted = 1; return 0; }
	for (i = s->pendings; i > 0 && (s->pend[i-1].phase > phase || s->pend[i-1].phase == phase && s->pend[i-1].round > round); i--) s->pend[i] = s->pend[i-1];
	memset(&s->pend[i], 0, sizeof s->pend[i]);
	s->pend[i].kind = kind; s->pend[i].phase = phase; s->pend[i].round = round; s->pend[i].to = to;
	s->pendings++;
	return &s->pend[i];
}
`

func (g *generator) functions() string {
	var b strings.Builder
	b.WriteString(runtime)
	for _, f := range g.prog.Funs {
		fmt.Fprintf(&b, "static %s fun_%s(%s);\n", g.ctype(f.Result), f.Name, g.parameters(f, false))
	}
	for _, f := range g.prog.Funs {
		fmt.Fprintf(&b, "static %s fun_%s(%s) { return %s; }\n", g.ctype(f.Result), f.Name, g.parameters(f, false), g.expr(f.Expr))
	}
	g.publish(&b)
	for _, a := range g.prog.Actions {
		fmt.Fprintf(&b, "static void act_%s(%s);\n", a.Name, g.parameters(a, true))
	}
	for _, a := range g.prog.Actions {
		fmt.Fprintf(&b, "static void act_%s(%s) {\n%s}\n", a.Name, g.parameters(a, true), g.stmts(a.Body, "\t"))
	}
	fmt.Fprintf(&b, "static void start(Local *s, int self) {\n\tmemset(s, 0, sizeof *s);\n")
	for _, v := range g.prog.Vars {
		if v.Init != nil {
			fmt.Fprintf(&b, "\ts->v_%s = %s;\n", v.Name, g.expr(v.Init))
		}
	}
	b.WriteString(g.stmts(g.prog.Init.Body, "\t") + "}\n")
	g.invariants(&b)
	return b.String()
}

func (g *generator) parameters(c *check.Callable, action bool) string {
	var parts []string
	if action {
		parts = append(parts, "Local *s", "int self")
	}
	for i, p := range c.Params {
		parts = append(parts, fmt.Sprintf("%s l%d", g.ctype(p.Type), i))
	}
	if len(parts) == 0 {
		return "void"
	}
	return strings.Join(parts, ", ")
}

// publish makes a value the node's last output, after checking the properties on outputs. In them, L means s.
func (g *generator) publish(b *strings.Builder) {
	if g.prog.Output == nil {
		return
	}
	fmt.Fprintf(b, "#undef L\n#define L(i) s\nstatic void publish(Local *s, int self, %s l0) {\n", g.ctype(g.prog.Output))
	for _, q := range g.prog.Props {
		if q.OnOutput {
			fmt.Fprintf(b, "\tif (!%s) broken = 1; /* %s */\n", g.expr(q.Expr), q.Name)
		}
	}
	b.WriteString("\ts->out.some = 1;\n\ts->out.v = l0;\n}\n#undef L\n#define L(i) (&now.G[i])\n")
}

func (g *generator) invariants(b *strings.Builder) {
	b.WriteString("static int holds(void) {\n")
	for _, q := range g.prog.Props {
		if !q.OnOutput {
			fmt.Fprintf(b, "\tif (!%s) return 0; /* %s */\n", g.expr(q.Expr), q.Name)
		}
	}
	b.WriteString("\treturn 1;\n}\n")
}

// bind writes the code that finds how a rule on messages is enabled, picks one way and runs the rule.
func (g *generator) ruleCode(b *strings.Builder, r *machine.Rule) {
	h := r.Decl.Rule
	bound := &check.Type{Kind: check.Int}
	if r.Message >= 0 {
		bound = g.prog.Messages[r.Message].Type
	} else if r.Round >= 0 {
		bound = g.roundType(r.Round)
	}
	t := g.ctype(bound)
	if h.Times != nil || h.Timeout && r.Round >= 0 {
		t = g.ctype(&check.Type{Kind: check.Set, Elem: bound})
	}
	if r.Plain() {
		t = "int"
	}
	fmt.Fprintf(b, "static void body_%d(Local *s, int self, %s l0) {\n%s}\n", r.Index, t, g.stmts(r.Decl.Body, "\t"))
	if r.Plain() {
		fmt.Fprintf(b, "static int ready_%d(Local *s, int self) { return %s; }\n", r.Index, g.guard(h))
		return
	}
	m := bound.Name
	fmt.Fprintf(b, "static int try_%d(Local *s, int self, Pending **in) {\n\tSet_%s all_ = {0};\n\tint i_;\n", r.Index, m)
	fmt.Fprintf(b, "\tfor (i_ = 1; i_ <= %d; i_++) if (in[i_] && in[i_]->kind == %d) {\n\t\t%s l1 = in[i_]->u.%s; %s l0 = l1; (void)l0;\n", g.n,
		g.kind(bound), g.ctype(bound), m, g.ctype(bound))
	filter := g.guard(h)
	if h.Timeout {
		filter = "1"
	}
	fmt.Fprintf(b, "\t\tif (%s) all_.a[all_.len++] = l1;\n\t}\n", filter)
	g.fire(b, r, bound)
}

func (g *generator) kind(t *check.Type) int {
	for i, m := range g.prog.Messages {
		if m.Type == t {
			return i + 1
		}
	}
	return 0
}

func (g *generator) roundType(round int) *check.Type {
	var found *check.Type
	for _, m := range g.prog.Messages {
		if m.Round == round {
			if found != nil {
				g.fail("timeouts in a round with several message types")
			}
			found = m.Type
		}
	}
	return found
}

func (g *generator) guard(h *syntax.Rule) string {
	if h.Guard == nil {
		return "1"
	}
	return g.expr(h.Guard)
}

func (g *generator) fire(b *strings.Builder, r *machine.Rule, bound *check.Type) {
	h := r.Decl.Rule
	switch {
	case h.Timeout:
		fmt.Fprintf(b, "\tif (%s != now.phase) return 0;\n\tSet_%s l0 = all_; (void)l0;\n\tif (!%s) return 0;\n", g.expr(h.Tag.Phase), bound.Name, g.guard(h))
		if g.model.Timeouts == check.Free {
			b.WriteString("\tif (!pick(2)) return 1;\n")
		}
		fmt.Fprintf(b, "\tbody_%d(s, self, all_);\n\treturn 1;\n}\n", r.Index)
	case h.Times == nil:
		fmt.Fprintf(b, "\tif (!all_.len) return 0;\n\tbody_%d(s, self, all_.a[pick(all_.len)]);\n\treturn 1;\n}\n", r.Index)
	default:
		need := fmt.Sprint(g.n)
		if h.Times.Op != "all" {
			need = g.expr(h.Times.Count)
			if h.Times.Op == ">" {
				need += " + 1"
			}
		}
		g.grouped(b, r, bound, need)
	}
}

// grouped splits the messages by the fields of same and picks one of the groups that are large enough.
func (g *generator) grouped(b *strings.Builder, r *machine.Rule, bound *check.Type, need string) {
	same := "1"
	for _, f := range r.Decl.Rule.Same {
		field := ".f_" + f.Name
		if g.prog.Info.Refs[f].Kind == check.RefFrom {
			field = ".from"
		}
		same += " && " + g.equal("all_.a[i_]"+field, "all_.a[j_]"+field, g.typ(f))
	}
	fmt.Fprintf(b, `	int need_ = %s, groups_ = 0, j_; u8 done_[%d] = {0};
	Set_%s group_[%d];
	if (need_ <= 0 && !all_.len) return 0;
	for (i_ = 0; i_ < all_.len; i_++) if (!done_[i_]) {
		memset(&group_[groups_], 0, sizeof group_[0]);
		for (j_ = i_; j_ < all_.len; j_++) if (!done_[j_] && %s) { done_[j_] = 1; group_[groups_].a[group_[groups_].len++] = all_.a[j_]; }
		if (group_[groups_].len >= need_) groups_++;
	}
	if (!groups_) return 0;
	body_%d(s, self, group_[pick(groups_)]);
	return 1;
}
`, need, g.n, bound.Name, g.n, same, r.Index)
}
