// Package fixes asks whether random programs would notice the return of a defect: it takes fixes out again, one at a
// time, and runs the tests on random programs until one of them fails.
package fixes

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	programs = flag.Int("fixes", 0,
		"take every fix out and try so many programs; 0: only look whether the fixes are still there")
	only = flag.String("fix", "", "take out only fixes whose name contains this")
)

// search is a test on random programs.
type search struct {
	dir, test string
	share     int // one program of so many is enough: others are slower
}

var (
	async   = search{"async", "^TestWild$", 1}
	printed = search{"unparse", "^TestWild$", 2}
	naive   = search{"explore", "^TestWildAgainstNaive$", 2}
	spin    = search{"promela", "^TestSpinAgreesOnWild$/^edge", 20} // half of them have numbers at the edge
)

// fix is a place of the program as it is, and what was there before: it, or something with the same defect.
type fix struct {
	name      string
	file      string // below distal
	now, then string
	by        search // which finds it
}

var fixes = []fix{
	{"rounds begin with the first phase", "sequential/model.go", "lockstep = Build(p, timeouts, FirstPhase(m.Source))",
		"lockstep = Build(p, timeouts, 1)", async},
	{"negative first phases", "sequential/model.go", "lockstep = Build(p, timeouts, FirstPhase(m.Source))",
		"lockstep = Build(p, timeouts, max(0, FirstPhase(m.Source)))", async},
	{"order of timeouts in a round, lock-step", "sequential/round.go", "for i := len(timeouts) - 1; i >= 0; i-- {",
		"for i := range timeouts {", async},
	{"order of timeouts in a round, message by message", "async/instance.go", "waits[tag] = true", "waits[tag] = false",
		async},
	{"a timeout in a round after the rules on messages", "sequential/round.go",
		"for i := len(rules) - 1; i >= 0; i-- {\n\t\tchain = b.attempt(rules[i], chain)\n\t}",
		"for i := len(rules) - 1; i >= 0; i-- {\n\t\tchain = append(b.attempt(rules[i], nil), chain...)\n\t}", async},
	{"plain timeouts that move a node back", "sequential/round.go", "out := b.backward()", "var out []core.Stmt", async},
	{"received through an action of a plain timeout", "check/conditions.go",
		"v.c.prog.ReachExprs(body, func(e core.Expr) {",
		"direct := func(visit func(core.Expr)) { core.WalkStmts(body, func(s core.Stmt) { core.Exprs(s, func(e core.Expr) { core.Walk(e, visit) }) }) }\n\tdirect(func(e core.Expr) {", async},
	{"received through an action of a rule", "check/conditions.go", "prog.ReachExprs(r.Body.Body, look)",
		"core.WalkStmts(r.Body.Body, func(s core.Stmt) { core.Exprs(s, func(e core.Expr) { core.Walk(e, look) }) })", async},
	{"received shows the rule's tag", "machine/stmt.go", "!foreign && m.Tag != f.view", "!e.All && m.Tag != f.view",
		async},
	{"a send to no node moves the node", "async/instance.go", "in.post(f.Node, s)\n\t\t\tn.tag = s.Tag",
		"in.post(f.Node, s)\n\t\t\tif s.To != 0 {\n\t\t\t\tn.tag = s.Tag\n\t\t\t}", async},
	{"what a loop assigns is forgotten", "check/symbolic.go", "e.vars[a.Var] = e.unknown()", "_ = a", async},
	{"what a loop assigns through actions is forgotten", "check/symbolic.go", "e.prog.Reach(s.Body, func(in core.Stmt) {",
		"core.WalkStmts(s.Body, func(in core.Stmt) {", async},
	{"loops are followed through two passes", "check/symbolic.go", "for range 2 {", "for range 1 {", async},
	{"a loop within a loop, to the element of the outer one", "check/symbolic.go", "!nested && directly(s, at.stmt)",
		"(nested || directly(s, at.stmt))", async},
	{"an action called in a loop has names of its own", "check/symbolic.go", "!nested && directly(s, at.stmt)", "!nested",
		async},
	{"a receiver twice in a sequence", "check/symbolic.go", "&& s.X.Of().Kind == core.Set {", "{", async},
	{"outputs after a send", "check/symbolic.go", "case *core.Output:\n\t\te.change(s)", "case *core.Output:", async},
	{"writes after a send", "check/symbolic.go", "e.late = s", "_ = s", async},
	{"rounds that are jumped over", "check/conditions.go", "(round != own || !e.facts.equal(acted, phase))",
		"(round != own || acted.Base == \"?\")", async},
	{"rounds that are passed within a phase", "check/conditions.go",
		"case follows && known.noMore(own, tag) && !v.c.skipped[round]:",
		"case follows && known.noMore(own, tag) && v.c.skipped[round] == v.c.skipped[round]:", async},
	{"the phase variable may lag behind", "check/conditions.go", "follows := c.phaseFollows()",
		"follows := c.phaseFollows() || c.prog.Phase >= 0", async},
	{"an output is checked before it is the last one", "machine/stmt.go", "if f.broken < 0 {",
		"f.set(p.Core.Output, core.SomeOf(v))\n\t\tif f.broken < 0 {", spin},
	{"properties between the halves of a round", "internal/levels/worker.go", "flags := w.middle(w.send(mode))",
		"flags := w.send(mode)", naive},
	{"two sends of one action stay apart", "sequential/build.go",
		"X: core.NewApply(s.Pos, core.Union, set, b.dueVar(s.Pos, s.Message), one)})", "X: one})", async},
	{"ties do not depend on whether a program was built or read", "check/check.go",
		"c.declared(f, syntax.OutputDecl, c.output)\n\tfor _, d := range f.Decls {\n\t\tc.collectDecl(d)\n\t}",
		"for _, d := range f.Decls {\n\t\tc.collectDecl(d)\n\t}\n\tc.declared(f, syntax.OutputDecl, c.output)", printed},
	{"names of what is due", "sequential/build.go", "Name: b.fresh(\"due_\" + t.Name)", "Name: \"due_\" + t.Name",
		printed},
	{"mailboxes keep what may still matter", "async/instance.go", "!in.uses.read[m.Type] && (n.acted[m.Tag] ||",
		"(in.uses.read[m.Type] || n.acted[m.Tag] ||", async},
	{"overflow is a fault", "core/frame.go", "if n < MinInt || n > MaxInt {", "if false {", spin},
	{"numbers past 32767 in C", "promela/types.go",
		"return \"int\"\n\tcase core.Option, core.Seq, core.Set, core.Record, core.Message:\n\t}\n\treturn g.name(t)",
		"return \"short\"\n\tcase core.Option, core.Seq, core.Set, core.Record, core.Message:\n\t}\n\treturn g.name(t)",
		spin},
	{"elements of sets past 63 in C", "promela/types.go",
		"static int has_$T($T s, $V x) { int i; for (i = 0; i < s.len; i++) if (cmp_$N(s.a[i], x) == 0)",
		"static int has_$T($T s, $V x) { int i; for (i = 0; i < s.len; i++) if (!memcmp(&s.a[i], &x, 1))", spin},
	{"what fails is undone in C", "promela/stmt.go", "*s = keep_; broken = b_;", "broken = b_;", spin},
}

// TestFixes looks whether every fix is where it is said to be; with -fixes it takes each out.
func TestFixes(t *testing.T) {
	for _, m := range fixes {
		path, err := filepath.Abs(filepath.Join("..", "..", m.file))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), m.now); n != 1 {
			t.Errorf("%s: %d places in %s", m.name, n, m.file)
			continue
		}
		if *programs == 0 || !strings.Contains(m.name, *only) {
			continue
		}
		mutant := strings.Replace(string(text), m.now, m.then, 1)
		seed, err := without(t.TempDir(), path, mutant, m.by)
		switch {
		case err != nil:
			t.Errorf("%s: %v", m.name, err)
		case seed < 0:
			t.Errorf("%s: not found in %d programs", m.name, *programs/m.by.share)
		default:
			fmt.Printf("| %s | %d | `%s` |\n", m.name, seed+1, m.by.dir)
		}
	}
}

var (
	seedLine  = regexp.MustCompile(`seed (\d+)|(?:wild|edge)_(\d+)`)
	firstSeed = map[string]int{"promela": 1000}
)

// without runs a search with one file replaced and returns the number of the first program that shows a difference, -1
// when none does.
func without(dir, path, text string, by search) (int, error) {
	changed := filepath.Join(dir, "changed.go")
	overlay := filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
		return 0, err
	}
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		return 0, err
	}
	cmd := exec.Command("go", "test", "-overlay", overlay, "-failfast", "-timeout", "0", "-run", by.test, "./"+by.dir,
		"-wild", fmt.Sprint(*programs/by.share))
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.CombinedOutput()
	if err == nil {
		return -1, nil
	}
	found := seedLine.FindSubmatch(out)
	if found == nil || strings.Contains(string(out), "[build failed]") {
		return 0, fmt.Errorf("%w\n%.2000s", err, out)
	}
	var seed int
	_, err = fmt.Sscan(string(found[1])+string(found[2]), &seed)
	return seed - firstSeed[by.dir], err
}
