package page

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-go/lockstep/internal/testkit/golden"
)

// Section compares a part of a page with the text that write writes. The part is between the marks <!-- NAME --> and
// <!-- end of NAME -->, each on its own line. With -rewrite the part gets the written text.
func Section(t testing.TB, file, name string, write func(io.Writer) error) {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->\n"
	before, rest, ok := strings.Cut(string(page), begin)
	is, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("%s has no lines %q and %q", file, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	var made bytes.Buffer
	if err := write(&made); err != nil {
		t.Fatal(err)
	}
	want := made.String()
	switch {
	case is == want:
	case golden.Rewrite():
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o666); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s shows something else as its %s (-rewrite fixes it):\n%s", file, name,
			cmp.Diff(strings.Split(is, "\n"), strings.Split(want, "\n")))
	}
}
