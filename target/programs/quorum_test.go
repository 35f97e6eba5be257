package programs

import (
	"strings"
	"testing"
	"testing/fstest"
)

// The overlay changes the one line of the server that sets CheckQuorum, and refuses a library without it.
func TestWithoutCheckQuorum(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	line := "a\n\t\tCheckQuorum:     true,\nb\n"
	changed, err := withoutCheckQuorum(fstest.MapFS{
		"etcdserver/bootstrap.go":      file(line),
		"etcdserver/bootstrap_test.go": file(line),
		"etcdserver/raft.go":           file("CheckQuorum"),
	})
	if err != nil || len(changed) != 1 ||
		string(changed["etcdserver/bootstrap.go"]) != "a\n\t\tCheckQuorum:     false,\nb\n" {
		t.Errorf("%q, %v", changed, err)
	}
	for text, want := range map[string]string{"": "no file of the library", line + line: "2 times"} {
		if _, err := withoutCheckQuorum(fstest.MapFS{"etcdserver/a.go": file(text)}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
