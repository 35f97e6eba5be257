package overlay

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// Packages of the standard library, those that preempt goroutines, and patterns that match nothing or are flags are
// refused with the reason.
func TestMatching(t *testing.T) {
	listed := map[string]string{
		"./...":   "false x example.com/x\nfalse main example.com/x/cmd\nfalse y gopkg.in/y.v3\n",
		"net":     "true net net\n",
		"ours":    "false bubble github.com/lockstep-go/lockstep/bubble\n",
		"./none":  "\n",
		"./empty": "",
	}
	list := func(args ...string) (string, error) { return listed[args[len(args)-1]], nil }
	for pattern, want := range map[string]string{
		"net":  "package net of the standard library",
		"ours": "lockstep/bubble, which preempts them",
		"-x":   "no pattern", "": "no pattern", "a=b": "no pattern", "a b": "no pattern", `a"b`: "no pattern",
	} {
		if _, err := matching(pattern, list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", pattern, err, want)
		}
	}
	got, err := matching("./...", list)
	if err != nil || strings.Join(got, " ") != "example.com/x main gopkg.in/y.v3" {
		t.Errorf("%v, %v", got, err)
	}
	tool := Toolchain{system: "linux"}
	if _, err := tool.GeneratePoints([]string{"./none", "./empty"}, list); err == nil ||
		!strings.Contains(err.Error(), "no package matches one of the patterns") {
		t.Errorf("patterns that match nothing: %v", err)
	}
	text := packageList(got)
	if _, err := parser.ParseFile(token.NewFileSet(), "", text, 0); err != nil ||
		!strings.Contains(text, `"gopkg.in/y%2ev3"`) {
		t.Errorf("%v: %s", err, text)
	}
}

// The command has the overlay with points and the flags of the compiler, and refuses the race detector, whose calls the
// points are.
func TestPreemptFlag(t *testing.T) {
	_, full, err := command(t.Context(), []string{"test", "-preempt", "./testdata/nothing,.", "-v", "."})
	if err == nil {
		t.Errorf("a package that does not exist: %q", full)
	}
	_, full, err = command(t.Context(), []string{"vet", "-tags=a", "--preempt=.", "-v", "."})
	if err != nil {
		t.Fatal(err)
	}
	args := strings.Join(full, " ")
	for _, want := range []string{
		"-tags a," + Tag + "," + PointsTag + " ", "-gcflags=.=-race -d=checkptr=0 ", " -v .",
	} {
		if !strings.Contains(args, want) {
			t.Errorf("%q lacks %q", args, want)
		}
	}
	if got := modules([]string{"-v", "-modfile", "x.mod", "--mod=mod", "-args", "-mod=y"}); strings.Join(got, " ") !=
		"-mod=mod -modfile=x.mod" {
		t.Errorf("%q", got)
	}
	if _, _, err := command(t.Context(), []string{"test", "-race", "-preempt=."}); err == nil ||
		!strings.Contains(err.Error(), "exclude each other") {
		t.Errorf("with -race: %v", err)
	}
}
