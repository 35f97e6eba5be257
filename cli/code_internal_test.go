package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/target"
)

// The packages to count are those that the user names, those of the description, or, for a package of the user's own,
// those of its module. A program without Go code under test is refused.
func TestCountedPackages(t *testing.T) {
	library := target.Program{Name: "x", Module: "example.com/x", Library: "example.com/l", Versions: []string{"v1.0.0"}}
	described := library
	described.Counted = []string{"example.com/l/a", "example.com/b/..."}
	for _, c := range []struct {
		program target.Program
		given   string
		want    []string
	}{
		{library, "", []string{"example.com/l/..."}},
		{described, "", described.Counted},
		{described, "a,b/...", []string{"a", "b/..."}},
		{target.Program{Name: "./check", Package: "./check"}, "", nil},
	} {
		if got, err := countedPackages(&c.program, c.given); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s, %q: %q, %v, want %q", c.program.Name, c.given, got, err, c.want)
		}
	}
	_, err := countedPackages(&target.Program{Name: "zookeeper", Module: "example.com/z"}, "")
	if err == nil || !strings.HasPrefix(err.Error(), "zookeeper has no Go code under test") {
		t.Errorf("%v", err)
	}
}

// A share of preemptions needs a program with points, in the packages of its description.
func TestPreempts(t *testing.T) {
	for set, want := range map[string]bool{
		"": false, "preempt=0": false, "preempt=0.01": true, "preempt=x": false, "preempt-time=1s": false,
	} {
		if got := preempts([]string{"nodes=3", set}); got != want {
			t.Errorf("%q: %v, want %v", set, got, want)
		}
	}
	library := target.Program{Name: "x", Module: "example.com/x", Library: "example.com/l", Versions: []string{"v1.0.0"}}
	if got, err := preemptedPackages(&library); err != nil || !slices.Equal(got, []string{"example.com/l/..."}) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := preemptedPackages(&target.Program{Name: "./check", Package: "./check"}); err != nil || len(got) > 0 {
		t.Errorf("a package of the user's own: %q, %v", got, err)
	}
	_, err := preemptedPackages(&target.Program{Name: "zookeeper", Module: "example.com/z"})
	if err == nil || !strings.HasPrefix(err.Error(), "zookeeper has no Go code under test") {
		t.Errorf("%v", err)
	}
}
