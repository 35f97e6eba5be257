package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/distal/system"
	"github.com/lockstep-go/lockstep/internal/golden"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/pbft"
	"github.com/lockstep-go/lockstep/target/raft"
	"github.com/lockstep-go/lockstep/target/register"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/rogpeppe/go-internal/goproxytest"
	"github.com/rogpeppe/go-internal/testscript"
)

// testApp is the command line of the transcripts.
var testApp = App{
	Targets: slices.Concat(smr.Targets, raft.Targets, pbft.Targets, []target.Target{register.Target,
		target.Of("distal", "a protocol written in Distal", system.Program{}, system.Properties)}),
	Programs: []target.Program{
		{Name: "counter", Help: "a counter on nodes that forward it", Package: "example.com/toy/counter", Module: "example.com/toy", Dir: os.Getenv("TOY"),
			Library: "example.com/count", Versions: []string{"v1.1.0", "v1.0.0"}},
		{Name: "nowhere", Help: "a program without a source", Package: "example.com/nowhere/x", Module: "example.com/nowhere",
			Library: "example.com/count", Versions: []string{"v1.0.0"}},
	},
}

// The transcripts under testdata/script run the tool as a user would.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"lockstep": func() {
			os.Args[0] = "lockstep"
			testApp.Main()
		},
	})
}

func TestScripts(t *testing.T) {
	proxy := goproxytest.NewTestServer(t, "testdata/mod", "")
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true, UpdateScripts: golden.Rewrite(),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": status, "interrupt": interrupt, "oneline": oneline},
		Setup: func(e *testscript.Env) error {
			root, err := filepath.Abs("..")
			if err != nil {
				return err
			}
			for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOROOT"} {
				value, err := exec.Command("go", "env", name).Output()
				if err != nil {
					return err
				}
				e.Setenv(name, strings.TrimSpace(string(value)))
			}
			e.Setenv("GOPROXY", proxy.URL+","+e.Getenv("GOPROXY"))
			e.Setenv("GONOSUMDB", "example.com")
			e.Setenv("GOFLAGS", "-buildvcs=false")
			e.Setenv("ROOT", root)
			e.Setenv("BIN", filepath.SplitList(e.Getenv("PATH"))[0])
			e.Setenv("EXAMPLES", filepath.Join(root, "examples", "distal"))
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, "cache"))
			e.Setenv("TOY", filepath.Join(e.WorkDir, "toy"))
			return nil
		}})
}

// status N COMMAND...: the command ends with exactly this exit status.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command [args...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := err.(interface{ ExitCode() int }); ok {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// oneline: what was printed is one line.
func oneline(ts *testscript.TestScript, neg bool, args []string) {
	if text := ts.ReadFile("stdout"); neg || len(args) > 0 || strings.Count(text, "\n") != 1 {
		ts.Fatalf("%d lines", strings.Count(text, "\n"))
	}
}
