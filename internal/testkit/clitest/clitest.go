// Package clitest runs transcripts of command lines, which are scripts of package testscript. It adds a command for
// exact exit statuses and one for interrupts. It also sets up the environment that the go tool needs to build programs
// on demand.
package clitest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/lockstep-go/lockstep/internal/testkit/golden"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/rogpeppe/go-internal/testscript"
)

// Main is the TestMain of a package whose transcripts run a command: main gets it as the
// program "lockstep".
func Main(m *testing.M, main func()) {
	testscript.Main(m, map[string]func(){"lockstep": func() {
		os.Args[0] = "lockstep"
		main()
	}})
}

// goSettings returns the settings of the go tool that scripts need. Programs that scripts build share their packages
// with the tests, which needs the same value of CGO_ENABLED.
var goSettings = sync.OnceValues(func() (settings map[string]string, err error) {
	out, err := exec.Command("go", "env", "-json", "GOCACHE", "GOMODCACHE", "GOPROXY", "GOFLAGS", "CGO_ENABLED").Output()
	if err == nil {
		err = json.Unmarshal(out, &settings)
	}
	return settings, err
})

// Run runs the transcripts under testdata/script. With -rewrite it rewrites the files in them that cmp compares. The
// variables are set in addition to those of the go tool.
func Run(t *testing.T, variables map[string]string) {
	testscript.Run(
		t,
		testscript.Params{Dir: "testdata/script", RequireExplicitExec: true, UpdateScripts: golden.Rewrite(),
			Cmds: map[string]func(*testscript.TestScript, bool, []string){
				"status":    status,
				"interrupt": interrupt,
				"oneline":   oneline,
			},
			Condition: condition,
			Setup: func(e *testscript.Env) error {
				settings, err := goSettings()
				if err != nil {
					return err
				}
				for _, name := range slices.Sorted(maps.Keys(settings)) {
					e.Setenv(name, settings[name])
				}
				e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, "cache"))
				e.Setenv("BIN", filepath.SplitList(e.Getenv("PATH"))[0])
				for name, value := range variables {
					e.Setenv(name, os.Expand(value, e.Getenv))
				}
				return nil
			}},
	)
}

// Help checks the help of all commands of a grammar of package kong, and returns their flags. A flag with a default
// must name the default, and every command that can run must have an example.
func Help(t *testing.T, grammar any, options ...kong.Option) (flags []*kong.Flag) {
	parser, err := kong.New(grammar, append(options, kong.Name("lockstep"))...)
	if err != nil {
		t.Fatal(err)
	}
	err = kong.Visit(parser.Model, func(n kong.Visitable, next kong.Next) error {
		switch n := n.(type) {
		case *kong.Flag:
			if flags = append(flags, n); n.Help == "" || strings.Contains(n.Help, "${") {
				t.Errorf("--%s: help %q", n.Name, n.Help)
			}
			if n.HasDefault && !strings.Contains(n.Help, n.Default) {
				t.Errorf("--%s: the default is %s, its help is %q", n.Name, n.Default, n.Help)
			}
		case *kong.Node:
			if n.Leaf() && !n.Hidden &&
				!strings.Contains(n.Detail, "lockstep "+strings.TrimPrefix(n.Path(), "lockstep ")) {
				t.Errorf("%s: no example in %q", n.FullPath(), n.Detail)
			}
		}
		return next(nil)
	})
	if err != nil {
		t.Error(err)
	}
	return flags
}

// condition knows three conditions. [race]: the race detector is on. [full]: all tests run in full.
// [module:PATH@VERSION]: the module is available; if no test may be skipped, condition assumes that it is.
func condition(cond string) (bool, error) {
	if cond == "race" {
		return raceDetector(), nil
	}
	if cond == "full" {
		return tier.Full(), nil
	}
	module, ok := strings.CutPrefix(cond, "module:")
	if !ok {
		return false, nil
	}
	return os.Getenv("LOCKSTEP_STRICT") != "" || exec.Command("go", "mod", "download", module).Run() == nil, nil
}

// raceDetector reports whether the program was built with -race.
func raceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
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

// oneline: the output is one line.
func oneline(ts *testscript.TestScript, neg bool, args []string) {
	if text := ts.ReadFile("stdout"); neg || len(args) > 0 || strings.Count(text, "\n") != 1 {
		ts.Fatalf("%d lines", strings.Count(text, "\n"))
	}
}

// interrupt N TEXT COMMAND...: the command is interrupted after it has printed a line with the text to standard error,
// and ends with exactly this exit status. Its output goes to the files out and err.
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: interrupt N text command [args...]")
	}
	cmd := exec.Command(filepath.Join(ts.Getenv("BIN"), args[2]), args[3:]...)
	cmd.Dir = ts.Getenv("WORK")
	for _, name := range []string{
		"PATH", "HOME", "GOCACHE", "GOMODCACHE", "GOPROXY", "GONOSUMDB", "GOFLAGS", "XDG_CACHE_HOME", "TOY", "TMPDIR",
	} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	var out, said bytes.Buffer
	cmd.Stdout = &out
	pipe, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	stop := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }) // a command that hangs fails the test
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), args[1]) {
			ts.Check(cmd.Process.Signal(os.Interrupt))
		}
	}
	_ = cmd.Wait() // the status has the result
	stop.Stop()
	got := cmd.ProcessState.ExitCode()
	ts.Check(os.WriteFile(ts.MkAbs("out"), out.Bytes(), 0o666))
	ts.Check(os.WriteFile(ts.MkAbs("err"), said.Bytes(), 0o666))
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit status %d, want %s\n%s%s", got, args[0], out.String(), said.String())
	}
}
