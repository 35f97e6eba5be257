package target_test

import (
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/smr"
)

func TestRebuild(t *testing.T) {
	for _, c := range smr.Targets {
		system, err := c.Build([]string{"nodes=5", "requests=2"})
		if err != nil {
			t.Fatal(err)
		}
		info, err := system.Describe()
		if err != nil {
			t.Fatal(err)
		}
		again, err := c.Rebuild(info.Options)
		if err != nil || again != system {
			t.Errorf("%s: rebuilt %+v from %v, want %+v, %v", c.Name, again, info.Options, system, err)
		}
	}
}

func ExampleFind() {
	t, err := target.Find(smr.Targets, "smr-bug")
	fmt.Println(t.Help, err)
	_, err = target.Find(smr.Targets, "zab")
	fmt.Println(err)
	// Output:
	// smr with a bug: a node dates its log by the last phase that it joined <nil>
	// unknown target "zab": one of smr, smr-bug
}

func ExampleTarget_Build() {
	t, _ := target.Find(smr.Targets, "smr")
	_, err := t.Build([]string{"node=5"})
	fmt.Println(err)
	// Output: target smr: unknown key "node": allowed are nodes, bug, requests
}

func ExampleTarget_Options() {
	t, _ := target.Find(smr.Targets, "smr")
	for _, o := range t.Options() {
		fmt.Println(o.Key, o.Default)
	}
	// Output:
	// nodes 3
	// bug false
	// requests 0
}

// An option may collect unknown keys: the parameters of the program that the target runs.
func TestGathered(t *testing.T) {
	type program struct {
		smr.Cluster
		Params string `help:"parameters"`
	}
	gathers := target.Of("p", "a program", program{}, nil).Gathered("params")
	for _, c := range []struct {
		pairs []string
		want  string
	}{
		{[]string{"a=1"}, "a=1"},
		{[]string{"params=a=1,b=2", "c = 3"}, "a=1,b=2,c=3"},
		{[]string{}, ""},
	} {
		s, err := gathers.Build(c.pairs)
		if err != nil || s.(program).Params != c.want {
			t.Errorf("%q: %+v, %v; want %q", c.pairs, s, err, c.want)
		}
	}
	if _, err := gathers.Build([]string{"a"}); err == nil {
		t.Error("a word without a value is taken")
	}
}
