package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// stopping is the replicated log, which interrupts the program after a number of runs have begun.
type stopping struct {
	smr.Cluster
	left *atomic.Int64 // workers share it
	stop context.CancelFunc
}

func (s stopping) Describe() (lockstep.Info, error) {
	info, err := s.Cluster.Describe()
	info.Name, info.Options = "stopping", nil
	return info, err
}

func (s stopping) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	d, err := s.Cluster.Deploy(ctx, p)
	return &stoppingDeployment{d, s}, err
}

type stoppingDeployment struct {
	lockstep.Deployment
	system stopping
}

func (s *stoppingDeployment) Reset(ctx context.Context, seed uint64, out *lockstep.Outbox) error {
	if s.system.left.Add(-1) == 0 {
		s.system.stop()
	}
	return s.Deployment.Reset(ctx, seed, out)
}

// interrupted runs a command that is interrupted after a number of runs.
func interrupted(t *testing.T, bug bool, after int, args ...string) (status int, out, errOut string) {
	t.Helper()
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var left atomic.Int64
	left.Store(int64(after))
	app := App{Targets: []target.Target{target.Of("stopping", "one that is interrupted",
		stopping{Cluster: smr.Cluster{Nodes: 3, Bug: bug}, left: &left, stop: cancel}, smr.Prefix)}}
	var a, b bytes.Buffer
	status = app.execute(ctx, "lockstep", args, &a, &b)
	return status, a.String(), b.String()
}

// One rule holds for interrupts: the command prints and stores what was done, and the verdict is unknown unless it
// found a failure.
func TestInterrupt(t *testing.T) {
	for _, c := range []struct {
		what   string
		bug    bool
		after  int
		args   []string
		status int
		says   []string
	}{
		{
			"before the first run",
			false,
			1,
			[]string{"run", "stopping", "--workers", "1"},
			130,
			[]string{"UNKNOWN nothing found", ", interrupted"},
		},
		{
			"nothing found",
			false,
			100,
			[]string{"run", "stopping", "--workers", "1", "--json"},
			130,
			[]string{`"interrupted":true`, `"verdict":"unknown"`},
		},
		{
			"with a finding",
			true,
			700,
			[]string{"run", "stopping", "--workers", "1", "--keep-going", "--json"},
			1,
			[]string{`"interrupted":true`, `"verdict":"fail"`, `"trace":"lockstep-out/stopping-prefix`},
		},
		{
			"shrinking",
			true,
			800,
			[]string{"run", "stopping", "--workers", "1"},
			1,
			[]string{"FAIL prefix in 1 of ", ", interrupted"},
		},
		{
			"shrinking, as JSON",
			true,
			800,
			[]string{"run", "stopping", "--workers", "1", "--json"},
			1,
			[]string{`"interrupted":true`, `"verdict":"fail"`},
		},
		{
			"comparing",
			false,
			150,
			[]string{"compare", "stopping", "--strategies", "walk,uniform", "--runs", "100", "--workers", "1"},
			130,
			[]string{"interrupted: these are the campaigns made until then"},
		},
		{"comparing, as JSON", false, 150, []string{
			"compare", "stopping", "--strategies", "walk,uniform", "--runs", "100", "--workers", "1", "--json",
		}, 130,
			[]string{`"command":"compare"`, `"interrupted":true`, `"verdict":"unknown"`, `"campaigns":1`}},
	} {
		t.Run(c.what, func(t *testing.T) {
			status, out, errOut := interrupted(t, c.bug, c.after, c.args...)
			if status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
			for _, text := range c.says {
				if !strings.Contains(out, text) {
					t.Errorf("it does not say %q", text)
				}
			}
			if t.Failed() {
				t.Logf("%s%s", out, errOut)
			}
		})
	}
}

// A system that cannot be deployed is an error of one line, instead of a campaign of 0 runs.
func TestNotDeployed(t *testing.T) {
	t.Chdir(t.TempDir())
	app := App{
		Targets: []target.Target{
			target.Of("broken", "one that cannot be deployed", broken{Cluster: smr.Cluster{Nodes: 3}}, smr.Prefix),
		},
	}
	for _, args := range [][]string{
		{"run", "broken"},
		{"run", "broken", "--json"},
		{"run", "broken", "--report", "report.html", "--workers", "2"},
	} {
		var out, errOut bytes.Buffer
		status := app.execute(t.Context(), "lockstep", args, &out, &errOut)
		if status != statusFailure || out.Len() > 0 ||
			errOut.String() != "lockstep: broken cannot be deployed: there is no network\n" {
			t.Errorf("%q: status %d, %q, %q", args, status, &out, &errOut)
		}
	}
}

// broken is the replicated log, which cannot be deployed.
type broken struct{ smr.Cluster }

func (b broken) Describe() (lockstep.Info, error) {
	info, err := b.Cluster.Describe()
	info.Name, info.Options = "broken", nil
	return info, err
}

func (broken) Deploy(context.Context, *lockstep.Env) (lockstep.Deployment, error) {
	return nil, errors.New("there is no network")
}

// The name of a build shows a version that is not listed.
func TestUnlisted(t *testing.T) {
	for _, c := range [][3]string{
		{"example.com/a@v1.2.0", "example.com/a v1.1.0 v1.0.0", "v1.2.0"},
		{"example.com/a@v1.0.0", "example.com/a v1.1.0 v1.0.0", ""},
		{"example.com/a@v1.2.0~changed", "example.com/a v1.1.0", "v1.2.0"}, {"", "", ""},
		{"example.com/b@v1", "example.com/a v1.1.0", ""}, {"example.com/b@v1", "", ""},
	} {
		if got := unlisted(c[0], c[1]); got != c[2] {
			t.Errorf("%s of %s: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

// The command keeps a finding even if the interrupt came before the finding was shrunk.
func TestInterruptKeepsTheFinding(t *testing.T) {
	status, out, errOut := interrupted(t, true, 700, "run", "stopping", "--workers", "1", "--keep-going", "--junit",
		"junit.xml", "--report", "page.html")
	if status != statusFinding {
		t.Fatalf("status %d\n%s%s", status, out, errOut)
	}
	found, _ := filepath.Glob("lockstep-out/*.trace")
	if len(found) == 0 {
		t.Fatalf("no trace is stored\n%s%s", out, errOut)
	}
	for _, file := range found {
		if tr, err := trace.ReadFile(file); err != nil || tr.Outcome.Finding == nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	for _, file := range []string{"junit.xml", "page.html"} {
		if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "interrupted") {
			t.Errorf("%s does not say that it was interrupted: %v", file, err)
		}
	}
}

// An interrupted shrink keeps the smallest run so far, and reports the attempts that were made.
func TestInterruptShrinking(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	app := func(runs int64) App {
		var left atomic.Int64
		left.Store(runs)
		return App{Targets: []target.Target{target.Of("stopping", "one that is interrupted",
			stopping{Cluster: smr.Cluster{Nodes: 3, Bug: true}, left: &left, stop: cancel}, smr.Prefix)}}
	}
	const never = -1
	var out, errOut bytes.Buffer
	if status := app(never).execute(ctx, "lockstep", []string{
		"run", "stopping", "--strategy", "walk", "--no-shrink",
	}, &out, &errOut); status != statusFinding {
		t.Fatalf("status %d\n%s%s", status, out.String(), errOut.String())
	}
	found, _ := filepath.Glob("lockstep-out/*.trace")
	out.Reset()
	status := app(40).execute(ctx, "lockstep", []string{"shrink", found[0], "--out", "small.trace", "--json"}, &out,
		&errOut)
	var got struct {
		Attempts    int
		Exhausted   bool
		Interrupted bool
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("status %d: %v\n%s%s", status, err, out.String(), errOut.String())
	}
	if status != statusFinding || !got.Interrupted || got.Exhausted || got.Attempts == 0 || got.Attempts > 40 {
		t.Errorf("status %d, %+v", status, got)
	}
	if _, err := trace.ReadFile("small.trace"); err != nil {
		t.Error(err)
	}
}

// An error that only reports the interrupt is not a failure of the tool.
func TestInterruptIsNoFailure(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var b bytes.Buffer
	e := &Env{Ctx: ctx, Err: &b}
	if got := e.end(context.Canceled); got != statusInterrupted || b.String() != "lockstep: interrupted\n" {
		t.Errorf("status %d, %q", got, b.String())
	}
	if got := e.end(os.ErrPermission); got != statusFailure {
		t.Errorf("another failure has the status %d", got)
	}
}

func TestJSON(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{struct {
			A string `json:"a"`
		}{"x<y\n"}, `{"schema":3,"command":"run","a":"x<y\n"}` + "\n"},
		{struct{}{}, `{"schema":3,"command":"run"}` + "\n"},
		{[]int{1}, ""},
	} {
		var b bytes.Buffer
		err := (&Env{Out: &b, command: "run"}).JSON(c.value)
		if b.String() != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%v: %q, %v", c.value, b.String(), err)
		}
		if c.want != "" && !json.Valid(b.Bytes()) {
			t.Errorf("%s is no JSON", b.String())
		}
	}
}

// The build of a linked target is reported only if it is known.
func TestLinkedBuild(t *testing.T) {
	e := &Env{app: &App{Targets: smr.Targets, Programs: []target.Program{
		{
			Name:     "smr",
			Package:  "example.com/x",
			Module:   "example.com",
			Library:  "example.com/none",
			Versions: []string{"v1.0.0"},
		}}}}
	if at, err := e.locate("smr", nil); err != nil || at.program != nil || at.build != "" {
		t.Errorf("%+v, %v", at, err)
	}
	if at, err := e.locate("smr", []string{"version=v9.0.0"}); err != nil || at.program == nil ||
		at.version != "v9.0.0" {
		t.Errorf("in another version: %+v, %v", at, err)
	}
	info := &debug.BuildInfo{Deps: []*debug.Module{
		{Path: "a", Version: "v1.0.0"},
		{Path: "b", Version: "v1.0.0", Replace: &debug.Module{Path: "b", Version: "v2.0.0"}},
		{Path: "c", Version: "v1.0.0", Replace: &debug.Module{Path: "../c"}},
		{Path: "d", Version: "(devel)"},
		{Path: "e", Version: "v1.0.0", Replace: &debug.Module{Path: "fork", Version: "v1.0.0"}},
	}}
	for path, want := range map[string]string{"a": "v1.0.0", "b": "v2.0.0", "c": "", "d": "", "e": "", "f": ""} {
		if got := versionIn(info, path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// versioned is a system that names its version itself.
type versioned struct {
	Nodes int `help:"number of nodes"`
}

func (versioned) Describe() (lockstep.Info, error) {
	info, err := toy.Cluster(nil).Describe()
	info.Build = "v1.7.3"
	return info, err
}

func (versioned) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	return toy.Cluster(nil).Deploy(ctx, p)
}

// A trace states the program's build and is replayed by that build, whatever version the system names. If the program
// is no build, the system's own version counts.
func TestReplayedBuild(t *testing.T) {
	const build = "example.com/library@v1.7.3"
	for _, c := range []struct{ program, trace, want string }{
		{build, build, ""},
		{build, "example.com/library@v1.8.0", "this program has " + build},
		{build, "", ""},
		{"", "v1.7.3", ""},
		{"", "v1.8.0", "this program has v1.7.3"},
	} {
		at := place{target: target.Of("versioned", "names its version", versioned{}, toy.Checker{}), build: c.program}
		if s, err := at.system(nil); err != nil {
			t.Error(err)
		} else if info, err := s.Describe(); err != nil || info.Build != cmp.Or(c.program, "v1.7.3") {
			t.Errorf("%+v: a trace would be of the build %q, %v", c, info.Build, err)
		}
		_, err := (&recorded{}).plan(&trace.Trace{Header: trace.Header{Target: "versioned", Build: c.trace}}, &at)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
