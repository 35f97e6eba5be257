package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/golden"
	"github.com/rogpeppe/go-internal/testscript"
)

// The transcripts under testdata/script run the tool as a user would.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"lockstep": func() {
			os.Args[0] = "lockstep"
			main()
		},
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true, UpdateScripts: golden.Rewrite(),
		Cmds:      map[string]func(*testscript.TestScript, bool, []string){"status": status},
		Condition: condition,
		Setup: func(e *testscript.Env) error {
			for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOFLAGS"} {
				value, err := exec.Command("go", "env", name).Output()
				if err != nil {
					return err
				}
				e.Setenv(name, strings.TrimSpace(string(value)))
			}
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, "cache"))
			return nil
		}})
}

// condition [module:PATH@VERSION]: the module can be had. Where nothing may be skipped it is
// taken to be there.
func condition(cond string) (bool, error) {
	module, ok := strings.CutPrefix(cond, "module:")
	if !ok {
		return false, nil
	}
	return os.Getenv("LOCKSTEP_STRICT") != "" || exec.Command("go", "mod", "download", module).Run() == nil, nil
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

// The programs are described without mistakes.
func TestPrograms(t *testing.T) {
	for _, p := range app.Programs {
		if err := p.Check(); err != nil {
			t.Error(err)
		}
	}
}
