// Package promela exports the sequential form of a Distal program to Promela, so that Spin checks the same model.
//
// The exported model has one process. Each round is one atomic step: for every message the network decides whether it
// arrives (Algorithm 1 and Fig. 11 of the sequentialization paper), every node resolves its choices, and the
// round is committed. Only states between rounds are stored, so Spin's number of states is comparable with ours.
// Data and actions are C code inside the model, which Spin compiles into the verifier.
//
// To check a model:
//
//	spin -a model.pml && gcc -O3 -DSAFETY -DVECTORSZ=65536 -o pan pan.c && ./pan -E -m1000000
package promela

import (
	"errors"
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/sequential"
)

// Options of an export.
type Options struct {
	Phases int // bound on the phases; at least 1
	// longest sequence or set; 0 means twice the number of phases. A longer one ends the verification with an error of
	// its own
	SeqMax int
	_      struct{}
}

// generator emits the lock-step program of a model as C.
type generator struct {
	model   *sequential.Model
	prog    *core.Program
	opt     Options
	n       int
	types   strings.Builder // definitions, in order of first use
	defined map[string]bool
	temps   int
	output  bool // in a property on outputs, where the only state is that of self
	missing []string
}

// fail notes something that has no counterpart in the exported model.
func (g *generator) fail(format string, args ...any) {
	g.missing = append(g.missing, fmt.Sprintf(format, args...))
}

// Export writes the model. It refuses programs that use what it cannot express, and names it.
func Export(m *sequential.Model, opt Options) (string, error) {
	if opt.Phases < 1 {
		return "", errors.New("phases must be at least 1")
	}
	if opt.SeqMax == 0 {
		opt.SeqMax = min(max(4, 2*opt.Phases), 200)
	}
	g := &generator{model: m, prog: m.Program.Core, opt: opt, n: m.Program.N, defined: map[string]bool{}}
	state := g.state()
	code := runtime(g.n) + g.functions() + g.blocks() + g.rounds()
	if len(g.missing) > 0 {
		return "", fmt.Errorf("cannot export to Promela: %s", strings.Join(g.missing, "; "))
	}
	return g.assemble(state, code), nil
}

// prelude is the start of the C declarations. Spin takes a call inside c_expr for a side effect, so calls hide behind
// macros; the backslashes keep Spin's own preprocessor away from them.
const prelude = `\#include <string.h>
\#include <stdio.h>
\#define MORE_START more_start(now.q, now.ch)
\#define MORE_BEGIN more_begin(now.q, now.ch)
\#define MORE_END more_end(now.q, now.ch)
\#define SENT sent(now.p, now.q)
\#define MAY_LOSE (sent(now.p, now.q) && may_lose(now.p, now.q))
typedef unsigned char u8;
typedef signed char i8;
typedef unsigned int nodes;
static int faulted, broken, limited;
static int fault_i(void) { faulted = 1; return 0; }
static int limit_i(void) { limited = 1; return 0; }
static int x_path[32], x_sizes[32], x_depth, x_at;
static int pick(int n) {
	if (n <= 1) return 0;
	if (x_at == x_depth) { if (x_depth == 32) { limit_i(); return 0; } x_path[x_at] = 0; x_sizes[x_at] = n; x_depth++; }
	return x_path[x_at++];
}
`

// assemble puts declarations, code and the process together.
func (g *generator) assemble(state, code string) string {
	var b strings.Builder
	fmt.Fprintf(&b,
		"/* protocol %+q, %d nodes, %d phases from %d, network %+q, timeouts %s: one atomic step is one round.\n   To check it: spin -a model.pml && gcc -O3 -DSAFETY -DVECTORSZ=65536 -o pan pan.c && ./pan -E -m1000000 */\n",
		g.prog.Name, g.n, g.opt.Phases, g.prog.First, g.model.Network.Name, g.model.Timeouts)
	fmt.Fprintf(&b, "c_decl {\n%s\\#define NODES_ %d\n\\#define ALL_NODES %du\n%s%s%s}\n", prelude, g.n, 1<<(g.n+1)-2,
		baseCode, g.types.String(), state)
	b.WriteString("c_state \"Local G[" + fmt.Sprint(g.n+1) + "]\" \"Global\"\n")
	fmt.Fprintf(&b,
		"int phase = %d; byte round = 0; byte q = 0; byte p = 0; short mode = 0; byte bad = 0; byte over = 0; short ch = 0;\nint got[%d]; short begin[%d]; short end_[%d];\n",
		g.prog.First, g.n+1, g.n+1, g.n+1)
	fmt.Fprintf(&b, "c_code {\n%s}\n", code)
	b.WriteString(g.process())
	return b.String()
}

// process is the Promela part: where the choices are made.
func (g *generator) process() string {
	mode := ""
	if last := len(g.model.Network.Modes) - 1; last > 0 {
		mode = "\t\tmode = 0; do :: mode < " + fmt.Sprint(last) + " -> mode++ :: break od;\n"
	}
	resolve := func(what, into string) string {
		return fmt.Sprintf("	ch = 0;\n			do :: c_expr { MORE_%s } -> ch++ :: break od;\n			%s[q] = ch;",
			strings.ToUpper(what), into)
	}
	loop := func(body string) string {
		return fmt.Sprintf("\t\tq = 1;\n\t\tdo :: q <= %d ->\n\t\t%s\n\t\t\tq++\n\t\t:: else -> break\n\t\tod;\n", g.n, body)
	}
	deliver := fmt.Sprintf(`	p = 1;
			do :: p <= %d ->
				if
				:: c_expr { !SENT }
				:: c_expr { SENT } -> got[q] = got[q] | (1 << p)
				:: c_expr { MAY_LOSE }
				fi;
				p++
			:: else -> break
			od;`, g.n)
	const checked = "\t\tassert(over == 0); /* SeqMax is too small */\n\t\tassert(bad == 0)\n"
	return "active proctype main() {\n\tatomic {\n" + loop(resolve("start", "begin")) +
		"\t\tc_code { start_all(); };\n\t\tq = 0; ch = 0;\n" + checked + "\t}\n" +
		fmt.Sprintf("end:\tdo\n\t:: atomic { phase < %d ->\n", g.prog.First+int64(g.opt.Phases)) +
		mode + loop(resolve("begin", "begin")) + loop(deliver) + loop(resolve("end", "end_")) +
		"\t\tc_code { commit(); };\n\t\tq = 0; p = 0; ch = 0; mode = 0;\n" + checked + "\t}\n\tod\n}\n"
}
