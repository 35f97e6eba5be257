package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/compare"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/locksteptest"
	"github.com/lockstep-go/lockstep/report/campaign"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
	"github.com/lockstep-go/lockstep/watchdog"
)

// troubled makes a target without options of a system.
type troubled struct{ system lockstep.System }

func (t troubled) Describe() (lockstep.Info, error) { return t.system.Describe() }
func (t troubled) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	return t.system.Deploy(ctx, p)
}

// trouble is a campaign with one kind of problem, and its expected results.
type trouble struct {
	name     string
	system   toy.Troubled
	spec     lockstep.Spec
	scenario func() lockstep.Scenario
	ended    bool // the context has ended before the campaign begins
	stops    int  // the number of runs after which the user stops the campaign; 0: the user does not
	hangs    bool // the first step of the first run hangs, and not when it is repeated
	kind     string
	severity string
	verdict  trace.Verdict
	status   int
	test     bool // the Go test fails
	junit    bool // the JUnit file has a failure or an error

	cancel func() // stops the campaign
}

// rare is a spec whose property could have failed in one of ten runs.
type rare struct {
	toy.Checker
	runs int
}

func (*rare) New(lockstep.Info) lockstep.Monitor { return &rare{} }
func (r *rare) Conclude(bool) lockstep.Conclusion {
	r.runs++
	return lockstep.Conclusion{Checked: []int{int(uint(r.runs%10) / 9)}}
}

var (
	// counted is a spec whose property can fail in every run.
	counted = spec.OnEvent("counted", "got", func(*struct{}, *lockstep.Run,
		*lockstep.Event) *lockstep.Finding {
		return nil
	})
	never = spec.OnEvent("never", "no such event", func(*struct{}, *lockstep.Run,
		*lockstep.Event) *lockstep.Finding {
		return nil
	})
	// first fails only in the first run of a seed.
	first = toy.Checker{OnStep: func(r *lockstep.Run) *lockstep.Finding {
		if r.Steps() > 0 || len(r.Events()) > 0 {
			return nil
		}
		return &toy.Anything
	}}
)

// idle is a scenario that never takes effect, and halfIdle one with a part that does not.
func idle() lockstep.Scenario {
	s := scenario.New("guide")
	s.If(scenario.Type("none such")).Then(scenario.Drop())
	return s
}

func halfIdle() lockstep.Scenario {
	s := scenario.New("guide")
	s.If(scenario.Type("message")).Named("messages").Then(scenario.Deliver())
	s.If(scenario.Type("none such")).Named("none").Then(scenario.Drop())
	return s
}

var troubles = []trouble{
	{name: "clean pass", spec: counted, verdict: trace.Pass},
	{name: "failure", spec: toy.AtEnd, kind: lockstep.ProblemFailure, severity: lockstep.SeverityError,
		verdict: trace.Fail, status: 1, test: true, junit: true},
	{name: "flaky finding", system: toy.Troubled{Diverges: true}, spec: first, kind: lockstep.ProblemFlaky,
		severity: lockstep.SeverityError,
		verdict:  trace.Flaky, status: 1, test: true, junit: true},
	{name: "divergence", system: toy.Troubled{Recheck: 5, Diverges: true,
		Nondeterminism: []string{"node.go:7 reads the clock"}}, spec: counted,
		kind: lockstep.ProblemDivergence, severity: lockstep.SeverityError, verdict: trace.Flaky, status: 1, test: true,
		junit: true},
	{name: "inconclusive above the limit", system: toy.Troubled{Inconclusive: 1}, spec: counted,
		kind: lockstep.ProblemInconclusive, severity: lockstep.SeverityError, verdict: trace.Unknown, status: 2,
		test: true, junit: true},
	{name: "inconclusive below the limit", system: toy.Troubled{Inconclusive: 8}, spec: counted,
		kind: lockstep.ProblemInconclusive, severity: lockstep.SeverityWarning, verdict: trace.Unknown, test: true,
		junit: true},
	{name: "limit reached", spec: toy.Checker{Undecided: "more than 100 operations"},
		kind: lockstep.ProblemUnknown, severity: lockstep.SeverityError, verdict: trace.Unknown, status: 1, test: true,
		junit: true},
	{name: "vacuous scenario", spec: counted, scenario: idle,
		kind: lockstep.ProblemVacuousRuns, severity: lockstep.SeverityError, verdict: trace.Vacuous, status: 1,
		test: true, junit: true},
	{name: "vacuous part", spec: counted, scenario: halfIdle,
		kind: lockstep.ProblemVacuousPart, severity: lockstep.SeverityWarning, verdict: trace.Pass, test: true},
	{name: "vacuous property", spec: spec.All(counted, never),
		kind: lockstep.ProblemVacuousProperty, severity: lockstep.SeverityWarning, verdict: trace.Pass, test: true},
	{name: "unreached", spec: spec.All(counted, spec.Sometimes("the sky falls",
		func(*lockstep.Run) bool { return false })),
		kind: lockstep.ProblemUnreached, severity: lockstep.SeverityWarning, verdict: trace.Pass},
	{name: "idle", spec: &rare{}, kind: lockstep.ProblemIdle, severity: lockstep.SeverityWarning, verdict: trace.Pass},
	{name: "stall", spec: counted, hangs: true, kind: lockstep.ProblemStall, severity: lockstep.SeverityWarning,
		verdict: trace.Pass},
	{name: "stopped", spec: counted, stops: 20, kind: lockstep.ProblemStopped, severity: lockstep.SeverityWarning,
		verdict: trace.Unknown, status: 130, junit: true},
	{name: "nondeterminism", system: toy.Troubled{Nondeterminism: []string{"node.go:7 reads the clock"}}, spec: counted,
		kind: lockstep.ProblemNondeterminism, severity: lockstep.SeverityWarning, verdict: trace.Pass},
	{name: "interrupted", spec: counted, ended: true,
		kind: lockstep.ProblemNoRuns, severity: lockstep.SeverityError, verdict: trace.Unknown, status: 130, test: true,
		junit: true},
}

// walk is the strategy of all these campaigns.
const walk = "walk:deliver=2,timer=1,drop=0,request=0,steps=30"

// Each kind of problem passes through every front end. If it is an error, no front end is green; if it is not, none is
// red. All front ends print the problem.
func TestProblemsInEveryFrontEnd(t *testing.T) {
	tier.NotShort(t)
	for _, c := range troubles {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			list := c.list(t)
			red := map[string]bool{"locksteptest": c.locksteptest(t, list), "exit status": c.console(t, list), "JSON": c.json(t,
				list)}
			for name, is := range c.files(t, list) {
				red[name] = is
			}
			for name, is := range c.pages(t, list) {
				red[name] = is
			}
			for name, is := range red {
				switch {
				case c.severity == lockstep.SeverityError && !is:
					t.Errorf("%s is green", name)
				case c.severity == "" && is:
					t.Errorf("%s is red", name)
				}
			}
		})
	}
}

func (c *trouble) plan() lockstep.Plan {
	s, err := strategy.Parse(walk)
	if err != nil {
		panic(err)
	}
	plan := lockstep.Plan{System: c.made(), Strategy: s, Spec: c.checked(), Runs: 40, Workers: 1}
	if c.hangs {
		plan.Watchdog = watchdog.After(hangTimeout)
	}
	if c.scenario != nil {
		plan.Scenario = c.scenario()
	}
	return plan
}

// hangTimeout is the timeout of the watchdog for a step that hangs. Every other step is much shorter.
const hangTimeout = 500 * time.Millisecond

// made returns the system for one campaign.
func (c *trouble) made() lockstep.System {
	if !c.hangs {
		return c.system
	}
	var hung atomic.Bool
	return toy.Wrapped{System: c.system, Do: func(ctx context.Context, d lockstep.Deployment, s *lockstep.Step,
		out *lockstep.Outbox) error {
		if !hung.Swap(true) {
			<-untilTheEnd
		}
		return d.Do(ctx, s, out)
	}}
}

// checked returns the spec for one campaign.
func (c *trouble) checked() lockstep.Spec {
	if c.stops == 0 {
		return c.spec
	}
	runs := 0
	return spec.All(c.spec, toy.Checker{AtEnd: func(*lockstep.Run) *lockstep.Finding {
		if runs++; runs == c.stops {
			c.cancel()
		}
		return nil
	}})
}

// context returns a context that, for an interrupted campaign, has ended already.
func (c *trouble) context(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	c.cancel = cancel
	if t.Cleanup(cancel); c.ended {
		cancel()
	}
	return ctx
}

// explore makes the campaign. Only a front end knows that the user, and not a deadline, ended it.
func (c *trouble) explore(t *testing.T) (*lockstep.Result, error) {
	ctx := c.context(t)
	result, err := lockstep.Explore(ctx, c.plan())
	result.Stopped = c.stops > 0 && ctx.Err() != nil
	return result, err
}

// list returns the problems of the campaign. The kind that the case is about comes first within its severity.
func (c *trouble) list(t *testing.T) []lockstep.Problem {
	result, err := c.explore(t)
	if (err != nil) != (c.status == statusFailure) {
		t.Fatal(err)
	}
	list := result.Problems()
	if result.Verdict() != c.verdict || campaign.Failed(list) != (c.severity == lockstep.SeverityError) ||
		(c.kind == "") != (len(list) == 0) {
		t.Fatalf("%s: %+v", result.Verdict(), list)
	}
	if c.kind != "" && !slices.ContainsFunc(list, func(p lockstep.Problem) bool {
		return p.Kind == c.kind &&
			p.Severity == c.severity && p.Text != ""
	}) {
		t.Fatalf("no %s: %+v", c.kind, list)
	}
	return list
}

// says checks that a text contains all problems. Front ends may truncate them.
func (c *trouble) says(t *testing.T, where, text string, list []lockstep.Problem) {
	t.Helper()
	for _, p := range list {
		if p.Kind != c.kind {
			continue
		}
		for _, want := range append([]string{p.Text}, p.Places...) {
			if want = want[:min(len(want), 100)]; !strings.Contains(text, want) {
				t.Errorf("%s does not say %q:\n%.3000s", where, want, text)
			}
		}
		return // other problems of this kind may be left out
	}
}

func (c *trouble) locksteptest(t *testing.T, list []lockstep.Problem) bool {
	if c.stops > 0 { // stopping a test stops its process
		return false
	}
	f := &enginetest.FakeT{TestName: "TestTrouble"}
	if c.ended {
		f.Until = time.Now()
	}
	f.Run(func(tb testing.TB) { locksteptest.Run(tb, c.plan()) })
	text := f.Text.String()
	c.says(t, "locksteptest", text, list)
	if f.Bad != c.test {
		t.Errorf("the test fails: %v\n%s", f.Bad, text)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if last := lines[len(lines)-1]; c.test && c.status != statusFailure && !strings.HasPrefix(last,
		"go test -run '^TestTrouble$' -lockstep.") {
		t.Errorf("the last line does not say how to repeat it: %q", last)
	}
	return f.Bad
}

// command runs the command line.
func (c *trouble) command(t *testing.T, args ...string) (status int, out, errOut string) {
	t.Helper()
	x := target.Of("trouble", "one with trouble", troubled{c.made()}, c.checked())
	args = append([]string{"run", "trouble", "--strategy", walk, "--runs", "40", "--workers", "1"}, args...)
	if c.hangs {
		args = append(args, "--step-timeout", hangTimeout.String())
	}
	if c.scenario != nil {
		x = x.Guided(target.Scenario{Name: "guide", Build: c.scenario})
		args = append(args, "--scenario", "guide")
	}
	var a, b bytes.Buffer
	status = App{Targets: []target.Target{x}}.execute(c.context(t), "lockstep", args, &a, &b)
	return status, a.String(), b.String()
}

// console checks the command's text output, with the verdict in the last line, and its exit status.
func (c *trouble) console(t *testing.T, list []lockstep.Problem) bool {
	status, out, errOut := c.command(t)
	if status != c.status {
		t.Errorf("status %d, want %d\n%s%s", status, c.status, out, errOut)
	}
	c.says(t, "the console", out, list)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, strings.ToUpper(string(c.verdict))+" ") {
		t.Errorf("the verdict is not in the last line: %q", last)
	}
	for _, line := range lines {
		if strings.HasPrefix(line, "warning: ") && len(line) > 260 {
			t.Errorf("a warning of %d characters", len(line))
		}
	}
	return status != statusClean
}

func (c *trouble) json(t *testing.T, list []lockstep.Problem) bool {
	_, out, errOut := c.command(t, "--json")
	var d campaign.Document
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatalf("%v: %s%s", err, out, errOut)
	}
	if d.Verdict != c.verdict || len(d.Problems) != len(list) {
		t.Errorf("%s, %d problems, want %s, %d", d.Verdict, len(d.Problems), c.verdict, len(list))
	}
	text := ""
	for _, p := range d.Problems {
		text += p.Text + "\n" + strings.Join(p.Places, "\n") + "\n"
	}
	c.says(t, "JSON", text, list)
	return campaign.Failed(d.Problems)
}

// files checks the files that the command writes for CI servers.
func (c *trouble) files(t *testing.T, list []lockstep.Problem) map[string]bool {
	_, out, errOut := c.command(t, "--junit", "junit.xml", "--report", "page.html", "--annotate", "--json")
	junit, err := os.ReadFile("junit.xml")
	if err != nil {
		t.Fatalf("%v: %s%s", err, out, errOut)
	}
	var suites struct {
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
	}
	if err := xml.Unmarshal(junit, &suites); err != nil {
		t.Fatal(err)
	}
	c.says(t, "JUnit", unescaped(string(junit)), list)
	if is := suites.Failures+suites.Errors > 0; is != c.junit {
		t.Errorf("JUnit has %d failures and %d errors", suites.Failures, suites.Errors)
	}
	c.says(t, "annotations", strings.NewReplacer("%0A", "\n", "%25", "%").Replace(errOut), list)
	if c.severity == lockstep.SeverityWarning && !strings.Contains(errOut, "::warning ") {
		t.Errorf("no annotation warns: %s", errOut)
	}
	page, err := os.ReadFile("page.html")
	if err != nil {
		t.Fatal(err)
	}
	c.says(t, "the page", unescaped(string(page)), list)
	return map[string]bool{"JUnit": suites.Failures+suites.Errors > 0, "annotations": strings.Contains(errOut,
		"::error "), "page": red.Match(page)}
}

// red matches an error on a page.
var red = regexp.MustCompile(`<td class="problem-error">error<`)

// pages checks the page of a fleet that runs the campaign.
func (c *trouble) pages(t *testing.T, list []lockstep.Problem) map[string]bool {
	result, _ := c.explore(t)
	var page bytes.Buffer
	if err := campaign.FleetPage(&page, &campaign.Fleet{Campaigns: []campaign.FleetCampaign{{ID: "000001",
		State: "done", Campaign: &campaign.Campaign{Result: result}}}}); err != nil {
		t.Fatal(err)
	}
	var bare []lockstep.Problem // the page of the campaign shows the places separately
	for _, p := range list {
		p.Places = nil
		bare = append(bare, p)
	}
	c.says(t, "the page of a fleet", unescaped(page.String()), bare)
	return map[string]bool{"fleet page": red.Match(page.Bytes())}
}

// unescaped returns a text without the escapes of XML and HTML.
func unescaped(text string) string {
	return strings.NewReplacer("&gt;", ">", "&lt;", "<", "&#34;", `"`, "&quot;", `"`, "&#39;", "'", "&#43;", "+",
		"&amp;", "&", "&#xA;", "\n").Replace(text)
}

// Every kind of problem has a row above.
func TestEveryKindOfProblem(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../problem.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	kinds := 0
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(v.Names[0].Name, "Problem") {
			return true
		}
		kinds++
		kind := strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`)
		if !slices.ContainsFunc(troubles, func(c trouble) bool { return c.kind == kind }) {
			t.Errorf("%s (%s) has no row in troubles", v.Names[0].Name, kind)
		}
		return true
	})
	if kinds < 14 {
		t.Errorf("only %d kinds of problem are constants of problem.go", kinds)
	}
}

// A comparison of strategies has the verdict, the exit status and the problems of its campaigns.
func TestProblemsOfComparisons(t *testing.T) {
	tier.NotShort(t)
	for _, c := range troubles {
		if c.scenario != nil || c.ended || c.stops > 0 || c.status == statusFailure {
			continue // compare has no scenarios; without a campaign there is nothing to compare
		}
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			run := func(args ...string) (int, string) {
				var out, errOut bytes.Buffer
				x := target.Of("trouble", "one with trouble", troubled{c.made()}, c.checked())
				if c.hangs { // compare has no watchdog
					x = target.Of("trouble", "one with trouble", troubled{c.system}, c.checked())
				}
				status := App{Targets: []target.Target{x}}.execute(c.context(t), "lockstep", append([]string{"compare",
					"trouble", "--strategies", walk, "--runs", "40", "--repeat", "2", "--workers", "1"}, args...), &out, &errOut)
				return status, out.String() + errOut.String()
			}
			list := c.list(t)
			if c.hangs {
				list = nil
			}
			status, text := run()
			if status != c.status {
				t.Errorf("status %d, want %d\n%s", status, c.status, text)
			}
			if len(list) > 0 && c.kind != lockstep.ProblemFailure &&
				!strings.Contains(text, c.severity+": walk:") && !strings.Contains(text, " in 2 of 2 campaigns: ") {
				t.Errorf("no %s in\n%s", c.kind, text)
			}
			_, text = run("--json", "--report", "page.html")
			var d struct {
				Verdict    trace.Verdict
				Strategies []compare.Row
			}
			if err := json.Unmarshal([]byte(text), &d); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			if has := slices.ContainsFunc(d.Strategies[0].Problems, func(p compare.Problem) bool {
				return p.Kind == c.kind && p.Severity == c.severity && p.Campaigns == 2
			}); d.Verdict != c.verdict || has != (len(list) > 0) {
				t.Errorf("JSON: %s, want %s with %s", text, c.verdict, c.kind)
			}
			page, err := os.ReadFile("page.html")
			if err != nil {
				t.Fatal(err)
			}
			if red.Match(page) != (c.severity == lockstep.SeverityError) {
				t.Errorf("the page is green: %v", !red.Match(page))
			}
		})
	}
}

// twice is a system whose runs differ when they are repeated, from its third deployment on: the first are of the
// campaign with the scenario and of the recording of one of its runs.
type twice struct {
	toy.Troubled
	deployed *atomic.Int32
}

func (s twice) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	system := s.Troubled
	system.Diverges = s.deployed.Add(1) > 2
	return system.Deploy(ctx, p)
}

// A control whose runs do not repeat is a problem of the campaign, in every front end.
func TestProblemsOfControls(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("LOCKSTEP_FRESH", "x") // as in a fresh process, which starts no other: the program is this test
	guided := func() lockstep.Scenario {
		s := scenario.New("guide")
		s.Machine().On(scenario.Did(trace.Timer), "fired").MarkSuccess() // in the control, too
		s.If(scenario.Type("message")).Named("messages").Then(scenario.Deliver())
		return s
	}
	var out, errOut bytes.Buffer
	x := target.Of("trouble", "one with trouble", troubled{twice{toy.Troubled{Recheck: 5}, new(atomic.Int32)}}, counted).
		Guided(target.Scenario{Name: "guide", Build: guided})
	status := App{Targets: []target.Target{x}}.execute(t.Context(), "lockstep", []string{"run", "trouble", "--scenario",
		"guide", "--control", "--strategy", walk, "--runs", "40", "--workers", "1", "--junit", "junit.xml", "--json"},
		&out, &errOut)
	var d campaign.Document
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		t.Fatalf("%v: %s%s", err, out.String(), errOut.String())
	}
	junit, err := os.ReadFile("junit.xml")
	if err != nil {
		t.Fatal(err)
	}
	if status != statusFinding || d.Verdict != trace.Flaky || len(d.Problems) == 0 ||
		!strings.HasPrefix(d.Problems[0].Text, "in the control: run ") || d.Problems[0].Severity != lockstep.SeverityError ||
		!strings.Contains(string(junit), "in the control: run ") {
		t.Errorf("status %d, %s: %+v\n%s\n%s", status, d.Verdict, d.Problems, junit, errOut.String())
	}
}
