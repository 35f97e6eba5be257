package reference_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/command"
	"github.com/lockstep-go/lockstep/internal/reference"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// Every command line of lockstep on the pages is one that the program accepts. Tests of the modules fleet and
// internal/paper check the commands of these programs.
func TestCommandLinesOfPages(t *testing.T) {
	tier.NotShort(t)
	c := reference.Checker{App: command.App(&command.FleetCommands{}), Docs: "../../docs"}
	number, err := c.CheckPages("../..", "")
	if err != nil {
		t.Error(err)
	}
	if number < 300 {
		t.Errorf("only %d command lines", number)
	}
}

// The checker reads a page as a reader does, and reports what no program would accept.
func TestChecker(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	for _, c := range []struct{ text, want string }{
		{"    lockstep run smr-bug --runs 10 # a comment with --unknown", ""},
		{"    lockstep run smr-bug --rnus 10", "unknown flag --rnus"},
		{"```sh\ncd x && X=1 bin/lockstep run smr-bug --rnus 10 >file\n```", "unknown flag --rnus"},
		{"```console\n$ lockstep run smr-bug \\\n>   --rnus 10 | tail -1\nlockstep no command\n```", "unknown flag --rnus"},
		{"```console\n$ lockstep list\nlockstep no command\n```", ""},
		{"    A=\"--seed 7\n      --rnus 2\"\n    lockstep run smr-bug $A --runs 10", "unknown flag --rnus"},
		{"    lockstep run smr-bug --runs ten", "expected a valid 64 bit int"},
		{"    lockstep run", "expected \"<target>\""},
		{"    lockstep run TARGET      what the command does", ""},
		{"    lockstep rnu TARGET      what the command does", "unexpected argument rnu"},
		{"- It says `lockstep run` and `lockstep replay TRACE --log NODE`.", ""},
		{"- It says `lockstep run --rnus 1`.", "unknown flag --rnus"},
		{"    lockstep run smr-bgu", "unknown target \"smr-bgu\""},
		{"    lockstep run ./check --set any=1", ""},
		{"    lockstep run smr-bug --set nodes=5 --strategy wlak", "unknown strategy \"wlak\""},
		{"    lockstep run smr-bug --set ndoes=5", "ndoes"},
		{"    lockstep run raft-bug --scenario None", "None"},
		{"    lockstep compare smr-bug --strategies walk,unifrom", "unifrom"},
		{"    lockstep plan isolate --nodes 5 --confidence 0.9", ""},
		{"    lockstep plan isolaet --nodes 5 --confidence 0.9", "must be one of"},
		{"    lockstep run etcdserver --set version=v3.6.16 --set power=0.5", ""},
		{"    lockstep run etcdserver --set bit-rot=0.5", ""},
		{"    lockstep run etcdserver --set bti-rot=0.5", "etcdserver.md has no option \"bti-rot\""},
		{"    lockstep run etcdserver --set pwoer=0.5", "etcdserver.md has no option \"pwoer\""},
		{"    lockstep run etcdraft --scenario RVeote", "etcdraft.md has no scenario \"RVeote\""},
	} {
		if err := os.WriteFile(page, []byte(c.text+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		lines, err := reference.Lines(page)
		if err != nil || len(lines) == 0 {
			t.Errorf("%q: %d lines, %v", c.text, len(lines), err)
		}
		checker := reference.Checker{App: command.App(&command.FleetCommands{}), Docs: "../../docs"}
		var problems []error
		for _, l := range lines {
			problems = append(problems, checker.Check(l))
		}
		switch err := errors.Join(problems...); {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

// The Go code on the pages is Go, and names only what the project's packages have.
func TestGoOfPages(t *testing.T) {
	pages, err := reference.Pages("../..")
	if err != nil {
		t.Fatal(err)
	}
	packages, err := reference.ReadPackages("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if err := packages.CheckGo(page); err != nil {
			t.Error(err)
		}
	}
}

// The check of Go code reports names and fields that do not exist, and code that is no Go.
func TestCheckGo(t *testing.T) {
	packages, err := reference.ReadPackages("../..")
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(t.TempDir(), "page.md")
	for _, c := range []struct{ code, want string }{
		{"bubble.Cluster{Freeze: &bubble.Freeze{}, …}", ""},
		{"bubble.Cluster{Freez: nil}", "bubble.Cluster has no field Freez"},
		{"x := bubble.Clutser{}", "package bubble has no Clutser"},
		{"sim.Cluster[string]{Nods: 3}", "sim.Cluster has no field Nods"},
		{"sc.If(IsEvent(\"leader\")).Then(Drop())", ""},
		{"sc.If(IsEvnet(\"leader\"))", "no package has IsEvnet"},
		{"func f( {", "is no Go"},
		{"```\n\n```go fix=f.go\ncase a:", ""},
		{"import \"example.com/bubble\"\n\nvar x = bubble.Clutser{}", ""},
		{"import \"example.com/bubble/v3\"\n\nvar x = bubble.Clutser{}", ""},
	} {
		if err := os.WriteFile(page, []byte("```go\n"+c.code+"\n```\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		err := packages.CheckGo(page)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: %v, want %q", c.code, err, c.want)
		}
	}
}
