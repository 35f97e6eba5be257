package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The transcripts under testdata/script run the tool as a user would.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"lockstep": func() {
			os.Exit(execute(context.Background(), "lockstep", os.Args[1:], os.Stdout, os.Stderr))
		},
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true, Cmds: map[string]func(*testscript.TestScript, bool, []string){
		"status": status,
	}, Setup: func(e *testscript.Env) error {
		examples, err := filepath.Abs("../../examples/distal")
		e.Setenv("EXAMPLES", examples)
		return err
	}})
}

// status N COMMAND...: the command ends with exactly this exit status.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command [args...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if exit, ok := err.(interface{ ExitCode() int }); ok {
		got = string(rune('0' + exit.ExitCode()))
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != args[0] {
		ts.Fatalf("exit status %s, want %s", got, args[0])
	}
}
