// Package promela exports the sequential form of a Distal program to Promela, so that Spin judges the same model.
//
// The exported model has one process. Each round is one atomic step: for every message the network decides whether it
// arrives (Algorithm 1 and Fig. 11 of the sequentialisation paper), every node resolves its choices, and the
// round is committed. Only states between rounds are stored, so Spin's number of states is comparable with ours.
// Data and actions are C code inside the model, which Spin compiles into the verifier.
//
// To judge a model:
//
//	spin -a model.pml && gcc -O2 -DSAFETY -o pan pan.c && ./pan -E -m1000000
package promela

import (
	"errors"
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep/distal/check"
	"github.com/lockstep-go/lockstep/distal/sequential"
)

// Options of an export.
type Options struct {
	Phases int // bound on the phases; at least 1
	SeqMax int // longest sequence; 0 means twice the number of phases
	_      struct{}
}

type generator struct {
	model   *sequential.Model
	prog    *check.Program
	opt     Options
	n       int
	params  map[string]int64
	types   strings.Builder
	defined map[string]bool
	temps   int
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
		opt.SeqMax = min(2*opt.Phases, 200)
	}
	g := &generator{model: m, prog: m.Program.Checked, opt: opt, n: m.Program.N, params: m.Program.Params(),
		defined: map[string]bool{}}
	code := g.structs() + g.functions() + g.rounds()
	if len(g.missing) > 0 {
		return "", fmt.Errorf("cannot export to Promela: %s", strings.Join(g.missing, "; "))
	}
	return g.assemble(code), nil
}

// prelude is the start of the C declarations. Spin takes a call inside c_expr for a side effect, so calls hide behind
// macros; the backslashes keep Spin's own preprocessor away from them.
const prelude = `\#include <string.h>
\#define MORE_START more_start(now.q, now.ch)
\#define MORE_BEGIN more_begin(now.q, now.ch)
\#define MORE_END more_end(now.q, now.ch)
\#define SENT sent(now.p, now.q)
\#define MAY_LOSE (sent(now.p, now.q) && may_lose(now.p, now.q))
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned long long u64;
`

// assemble puts declarations, code and the process together.
func (g *generator) assemble(code string) string {
	split := strings.SplitN(code, "//---\n", 2)
	var b strings.Builder
	fmt.Fprintf(&b, "/* protocol %s, %d nodes, %d phases, network %s, timeouts %s: one atomic step is one round. */\n",
		g.prog.Name, g.n, g.opt.Phases, g.networkName(), g.model.Timeouts)
	fmt.Fprintf(&b, "c_decl {\n%s%s%s}\n", prelude, g.types.String(), split[0])
	b.WriteString("c_state \"Local G[" + fmt.Sprint(g.n+1) + "]\" \"Global\"\n")
	fmt.Fprintf(&b, "short phase = 1; byte round = 0; byte q = 0; byte p = 0; byte kern = 0; byte bad = 0; byte ch = 0;\nshort got[%d]; byte begin[%d]; byte end_[%d];\n",
		g.n+1, g.n+1, g.n+1)
	fmt.Fprintf(&b, "c_code {\n%s}\n", split[1])
	b.WriteString(g.process())
	return b.String()
}

func (g *generator) networkName() string {
	return [...]string{"any", "reliable", fmt.Sprintf("atleast(%d)", g.model.AtLeast), "kernel"}[g.model.Network]
}

// process is the Promela part: where the choices are made.
func (g *generator) process() string {
	kernel := ""
	if g.model.Network == check.Kernel {
		kernel = "\t\tkern = 1; do :: kern < " + fmt.Sprint(g.n) + " -> kern++ :: break od;\n"
	}
	resolve := func(what, into string) string {
		return fmt.Sprintf(`	ch = 0;
			do :: c_expr { MORE_%s } -> ch++ :: break od;
			%s[q] = ch;`, strings.ToUpper(what), into)
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
	return "active proctype main() {\n\tatomic {\n" + loop(resolve("start", "begin")) +
		"\t\tc_code { start_all(); };\n\t\tq = 0; ch = 0;\n\t\tassert(bad == 0)\n\t}\n" +
		fmt.Sprintf("end:\tdo\n\t:: atomic { phase <= %d ->\n", g.opt.Phases) +
		kernel + loop(resolve("begin", "begin")) + loop(deliver) + loop(resolve("end", "end_")) +
		"\t\tc_code { commit(); };\n\t\tq = 0; p = 0; ch = 0; kern = 0;\n\t\tassert(bad == 0)\n\t}\n\tod\n}\n"
}
