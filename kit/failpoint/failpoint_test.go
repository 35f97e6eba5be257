package failpoint_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/lockstep-go/lockstep/kit/failpoint"
)

const library = `package raft

func save() {
	// gofail: var beforeSave struct{}
	write()
	if sync() {
		// gofail: var dropIt struct{}
		// return
		// gofail: var badSync string
	} // gofail: var notAlone struct{}
}
`

// Comments become calls, on their lines; those that are code, or of other kinds, stay, and tests are left alone.
func TestInstrument(t *testing.T) {
	files, err := failpoint.Instrument(fstest.MapFS{"a/raft.go": {Data: []byte(library)},
		"a/raft_test.go": {Data: []byte(library)},
		"b.go":           {Data: []byte("package b\n")}, "go.mod": {Data: []byte("// gofail: var x struct{}")}})
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, []string{"a/lockstep_failpoints.go", "a/raft.go"}) {
		t.Errorf("changed are %q", got)
	}
	if got, want := string(files["a/raft.go"]), strings.Replace(library, "\t// gofail: var beforeSave struct{}",
		`lockstepFailpoint("beforeSave")`, 1); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := string(files["a/lockstep_failpoints.go"]); !strings.HasPrefix(got, "package raft\n") ||
		!strings.Contains(got, `Register([]string{"beforeSave"}...)`) {
		t.Error(got)
	}
}

// A library without places, or one that is no Go, is refused.
func TestNothing(t *testing.T) {
	for _, text := range []string{"package a\n", "packge a\nfunc f() {\n// gofail: var x struct{}\n}\n"} {
		if files, err := failpoint.Instrument(fstest.MapFS{"a.go": {Data: []byte(text)}}); err == nil {
			t.Errorf("%q became %q", text, files)
		}
	}
}

func ExampleHere() {
	failpoint.Here("nothing is set")
	failpoint.Register("raftBeforeSave")
	failpoint.Set(func(name string) { fmt.Println("at", name) })
	defer failpoint.Set(nil)
	failpoint.Here("raftBeforeSave")
	fmt.Println(failpoint.Names())
	// Output:
	// at raftBeforeSave
	// [raftBeforeSave]
}

func ExampleInstrument() {
	files,
		err := failpoint.Instrument(fstest.MapFS{"a.go": {Data: []byte("package a\n\nfunc f() {\n// gofail: var here " +
		"struct{}\n}\n")}})
	fmt.Printf("%s%v\n", files["a.go"], err)
	// Output:
	// package a
	//
	// func f() {
	// lockstepFailpoint("here")
	// }
	// <nil>
}
