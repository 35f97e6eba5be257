package promela

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep/distal/core"
)

// scalar says whether values of a type are numbers in C.
func scalar(t *core.Type) bool {
	switch t.Kind {
	case core.Bool, core.Int, core.Enum, core.Node:
		return true
	case core.Option, core.Seq, core.Set, core.Record, core.Message:
	}
	return false
}

// name is the name of a type in the names of functions on its values; the type and its functions are defined on first
// use. Ranges do not make a type of their own here either.
func (g *generator) name(t *core.Type) string {
	switch {
	case scalar(t):
		return "i"
	case t.Kind == core.Set && t.Elem.Kind == core.Node:
		return "nodes"
	}
	switch t.Kind {
	case core.Option:
		return g.define("O_"+g.name(t.Elem), t, optionCode)
	case core.Seq:
		return g.define("Q_"+g.name(t.Elem), t, listCode+seqCode)
	case core.Set:
		return g.define("S_"+g.name(t.Elem), t, listCode+setCode)
	case core.Record:
		for i, r := range g.prog.Records {
			if r.Name == t.Name {
				return g.structure(fmt.Sprint("R", i), t, "")
			}
		}
	case core.Message:
		for i, m := range g.prog.Messages {
			if m.Type.Name == t.Name {
				return g.structure(fmt.Sprint("M", i), t, "u8 from;")
			}
		}
	case core.Bool, core.Int, core.Node, core.Enum:
	}
	panic("promela: a type without a name")
}

// ctype is the C type of values of a type.
func (g *generator) ctype(t *core.Type) string {
	if scalar(t) {
		return "int"
	}
	return g.name(t)
}

// stored is the C type of a variable or field: small numbers take little space.
func (g *generator) stored(t *core.Type) string {
	switch t.Kind {
	case core.Bool, core.Enum, core.Node:
		return "u8"
	case core.Int:
		low, high, err := g.model.Program.Range(t)
		switch {
		case err != nil:
		case low >= -128 && high <= 127:
			return "i8"
		case low >= -32768 && high <= 32767:
			return "short"
		}
		return "int"
	case core.Option, core.Seq, core.Set, core.Record, core.Message:
	}
	return g.name(t)
}

// define defines a type built of another by its code, in which T is its name, E the C type of elements, N their name,
// and CAP the most elements.
func (g *generator) define(name string, t *core.Type, code string) string {
	if g.defined[name] {
		return name
	}
	g.defined[name] = true
	if t.Kind == core.Set && t.Elem.Kind == core.Int {
		code += rangeCode
	}
	if t.Kind == core.Option && t.Elem.Kind == core.Seq {
		code += comparableCode
	}
	elem := g.ctype(t.Elem)
	if scalar(t.Elem) && t.Elem.Kind != core.Int {
		elem = "u8"
	}
	r := strings.NewReplacer("$T", name, "$E", elem, "$V", g.ctype(t.Elem), "$N", g.name(t.Elem), "$CAP",
		fmt.Sprint(g.most(t)))
	g.types.WriteString(r.Replace(code))
	return name
}

// most is how many elements a collection of a type can have: what is due is bounded by what is sent at once.
func (g *generator) most(t *core.Type) int {
	for _, v := range g.prog.Vars {
		if v.Type.Equal(t) && (v.Ghost || v.Most > 0) {
			if v.Most == 0 {
				return g.n // sent in a loop, to one node after the other
			}
			return v.Most
		}
	}
	if t.Kind == core.Set && t.Elem.Kind == core.Message {
		return g.n
	}
	return g.opt.SeqMax
}

const optionCode = `typedef struct __attribute__((packed)) { u8 some; $E v; } $T;
static int cmp_$T($T a, $T b) { return a.some != b.some ? (a.some < b.some ? -1 : 1) : a.some ? cmp_$N(a.v, b.v) : 0; }
static $T some_$T($V v) { $T r; memset(&r, 0, sizeof r); r.some = 1; r.v = v; return r; }
static $V the_$T($T a) { if (!a.some) fault_i(); return a.v; }
`

const comparableCode = `static int comparable_$T($T a, $T b) { return !a.some || !b.some || comparable_$N(a.v, b.v); }
`

const listCode = `typedef struct __attribute__((packed)) { u8 len; $E a[$CAP]; } $T;
static int cmp_$T($T a, $T b) {
	int i, c;
	if (a.len != b.len) return a.len < b.len ? -1 : 1;
	for (i = 0; i < a.len; i++) { c = cmp_$N(a.a[i], b.a[i]); if (c) return c; }
	return 0;
}
static int len_$T($T s) { return s.len; }
static int has_$T($T s, $V x) { int i; for (i = 0; i < s.len; i++) if (cmp_$N(s.a[i], x) == 0) return 1; return 0; }
static $V at_$T($T s, int i) { if (i < 0 || i >= s.len) { fault_i(); i = 0; } return s.a[i]; }
static $V first_$T($T s) { return at_$T(s, 0); }
static $V last_$T($T s) { return at_$T(s, s.len - 1); }
static $V choose_$T($T s) { return at_$T(s, s.len ? pick(s.len) : 0); }
static $T push_$T($T s, $V x) { if (s.len >= $CAP) limit_i(); else s.a[s.len++] = x; return s; }
`

const seqCode = `static $T cat_$T($T a, $T b) { int i; for (i = 0; i < b.len; i++) a = push_$T(a, b.a[i]); return a; }
static int pre_$T($T a, $T b) { int i; if (a.len > b.len) return 0; for (i = 0; i < a.len; i++) if (cmp_$N(a.a[i], b.a[i])) return 0; return 1; }
static int comparable_$T($T a, $T b) { return pre_$T(a, b) || pre_$T(b, a); }
`

const setCode = `static $T add_$T($T s, $V x) {
	int i, k = s.len;
	if (has_$T(s, x)) return s;
	if (s.len >= $CAP) { limit_i(); return s; }
	while (k > 0 && cmp_$N(s.a[k-1], x) > 0) k--;
	for (i = s.len; i > k; i--) s.a[i] = s.a[i-1];
	s.a[k] = x; s.len++;
	return s;
}
static $T union_$T($T a, $T b) { int i; for (i = 0; i < b.len; i++) a = add_$T(a, b.a[i]); return a; }
static $T diff_$T($T a, $T b) { $T r; int i; memset(&r, 0, sizeof r); for (i = 0; i < a.len; i++) if (!has_$T(b, a.a[i])) r.a[r.len++] = a.a[i]; return r; }
`

const rangeCode = `static $T range_$T(int a, int b) {
	$T r; long long i;
	memset(&r, 0, sizeof r);
	if ((long long)b - a >= 4096) { fault_i(); return r; }
	for (i = a; i <= b; i++) r = add_$T(r, i);
	return r;
}
`

// structure defines the struct of a record or message, its order, and how it is made.
func (g *generator) structure(name string, t *core.Type, first string) string {
	if g.defined[name] {
		return name
	}
	g.defined[name] = true
	fields, params, set, compare := first, "", "", ""
	if first != "" {
		params, set = "int from", " r.from = from;"
		compare = " if (a.from != b.from) return a.from < b.from ? -1 : 1;"
	}
	for i, f := range t.Fields {
		fields += fmt.Sprintf(" %s f%d;", g.stored(f.Type), i)
		if params != "" {
			params += ", "
		}
		params += fmt.Sprintf("%s f%d", g.ctype(f.Type), i)
		set += fmt.Sprintf(" r.f%d = f%d;", i, i)
		compare += fmt.Sprintf(" c = cmp_%s(a.f%d, b.f%d); if (c) return c;", g.name(f.Type), i, i)
	}
	if params == "" {
		params, fields = "void", fields+" u8 none;"
	}
	fmt.Fprintf(&g.types,
		"typedef struct __attribute__((packed)) {%s } %s;\nstatic int cmp_%s(%s a, %s b) { int c = 0;%s return c; }\n",
		fields, name, name, name, name, compare)
	fmt.Fprintf(&g.types, "static %s make_%s(%s) { %s r; memset(&r, 0, sizeof r);%s return r; }\n", name, name, params,
		name, set)
	return name
}

// baseCode are the functions on numbers and sets of nodes.
const baseCode = `static int cmp_i(int a, int b) { return a < b ? -1 : a > b; }
static int small_i(long long x) { return x < -2147483648LL || x > 2147483647LL ? fault_i() : (int)x; }
static int sum_i(int a, int b) { return small_i((long long)a + b); }
static int sub_i(int a, int b) { return small_i((long long)a - b); }
static int mul_i(int a, int b) { return small_i((long long)a * b); }
static int quo_i(int a, int b) { return b == 0 ? fault_i() : small_i((long long)a / b); }
static int rem_i(int a, int b) { return b == 0 ? fault_i() : small_i((long long)a % b); }
static int fit_i(int x, int low, int high) { return x < low || x > high ? (fault_i(), low) : x; }
static int node_i(int x) { return x < 1 || x > NODES_ ? (fault_i(), 1) : x; }
static int len_nodes(nodes s) { return __builtin_popcount(s); }
static int has_nodes(nodes s, int x) { return (s >> x) & 1; }
static nodes add_nodes(nodes s, int x) { return s | 1u << x; }
static nodes union_nodes(nodes a, nodes b) { return a | b; }
static nodes diff_nodes(nodes a, nodes b) { return a & ~b; }
static int at_nodes(nodes s, int i) { if (i < 0 || i >= len_nodes(s)) { fault_i(); return 1; } while (i--) s &= s - 1; return __builtin_ctz(s); }
static int first_nodes(nodes s) { return at_nodes(s, 0); }
static int last_nodes(nodes s) { return at_nodes(s, len_nodes(s) - 1); }
static int choose_nodes(nodes s) { return at_nodes(s, s ? pick(len_nodes(s)) : 0); }
static int cmp_nodes(nodes a, nodes b) {
	if (len_nodes(a) != len_nodes(b)) return len_nodes(a) < len_nodes(b) ? -1 : 1;
	if (a == b) return 0;
	return (a ^ b) & -(a ^ b) & a ? -1 : 1;
}
`
