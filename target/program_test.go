package target_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/target"
)

var server = target.Program{Name: "server", Package: "example.com/server/lockstep", Module: "example.com/server",
	Library: "example.com/raft", Versions: []string{"v1.4.0", "v1.3.2"}}

func ExampleProgram_Build() {
	fmt.Println(server.Build(""))
	fmt.Println(server.Build("v1.3.2"))
	// Output:
	// example.com/raft@v1.4.0
	// example.com/raft@v1.3.2
}

func ExampleProgram_VersionOf() {
	fmt.Println(server.VersionOf("example.com/raft@v1.3.2"))
	_, ok := server.VersionOf("example.com/other@v1.3.2")
	fmt.Println(ok)
	// Output:
	// v1.3.2 true
	// false
}

func ExampleProgram_Check() {
	fmt.Println(server.Check())
	fmt.Println((&target.Program{Name: "server"}).Check())
	// Output:
	// <nil>
	// target: a program needs a name and a package, and has "server" and ""
}

func ExampleMixedVersions() {
	fmt.Println(target.MixedVersions("v1.4.0+v1.5.0"))
	fmt.Println(target.MixedVersions("v1.4.0+v1.4.0"))
	// Output:
	// [v1.4.0 v1.5.0] <nil>
	// [] the versions "v1.4.0+v1.4.0" must be different ones separated by +, as in v1.2.3+v1.3.0
}

func ExampleThisBuild() {
	fmt.Printf("%q\n", target.ThisBuild()) // these tests are not built on demand
	// Output: ""
}

func ExampleThisKey() {
	fmt.Printf("%q\n", target.ThisKey())
	// Output: ""
}

func ExampleProgram_CheckVersion() {
	older := server
	older.Oldest = "v1.3.10"
	fmt.Println(older.CheckVersion("v1.3.9"))
	fmt.Println(older.CheckVersion("v1.3.10"), older.CheckVersion("v1.10.0"), older.CheckVersion(""))
	// Output:
	// v1.3.9 is too old for the target server, which builds with example.com/raft v1.3.10 and later; versions known to work: v1.4.0, v1.3.2
	// <nil> <nil> <nil>
}

// A program with a changed library is another build than one with the unmodified library.
func TestChangedIsAnotherBuild(t *testing.T) {
	changed := server
	changed.Changed, changed.Overlay = "mutants", func(fs.FS) (map[string][]byte, error) { return nil, nil }
	if err := changed.Check(); err != nil {
		t.Fatal(err)
	}
	build := changed.Build("v1.3.2")
	if v, ok := changed.VersionOf(build); build != "example.com/raft@v1.3.2~mutants" || v != "v1.3.2" || !ok {
		t.Errorf("%s, version %s, %v", build, v, ok)
	}
	if _, ok := server.VersionOf(build); ok {
		t.Error("the plain program takes the changed build for its own")
	}
	if _, ok := changed.VersionOf(server.Build("v1.3.2")); ok {
		t.Error("the changed program takes the plain build for its own")
	}
}

func TestProgramCheckRefuses(t *testing.T) {
	for want, p := range map[string]target.Program{
		"needs a module and versions": {Name: "x", Package: "p", Library: "l"},
		"names no library":            {Name: "x", Package: "p", Versions: []string{"v1"}},
		"must name what its overlay": {Name: "x", Package: "p", Module: "m", Library: "l", Versions: []string{"v1"},
			Changed: "c"},
		"the oldest version \"1.x\"": {Name: "x", Package: "p", Module: "m", Library: "l", Versions: []string{"v1"},
			Oldest: "1.x"},
		"the oldest version \"v1\"": {Name: "x", Package: "p", Oldest: "v1"},
		"may begin with -":          {Name: "x", Package: "-toolexec=/bin/sh"},
	} {
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", p, err, want)
		}
	}
}
