package shown

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A function is shown if an example calls it or is named after it. Calls in tests do not count, and unexported
// functions do not matter.
func TestVerbs(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.go"), `package a
type T struct{}
func (T) Called() {}
func (*T) Named() {}
func (t *T) Forgotten() {}
func (t T) private() {}
type L[E any] []E
func (l *L[E]) Long() {}
func Make() *T { return nil }
func Lost() {}
type hidden struct{}
func (hidden) Exported() {}
`)
	write(t, filepath.Join(dir, "a_test.go"), `package a_test
func ExampleT_Named() {}
func ExampleMake() { a.Make().Called() }
func TestLost() { a.Lost() }
`)
	missing, err := without(dir)
	if want := []string{"L.Long", "Lost", "T.Forgotten"}; err != nil || !slices.Equal(missing, want) {
		t.Errorf("missing are %q, want %q; %v", missing, want, err)
	}
	write(t, filepath.Join(dir, "b.go"), "package")
	if _, err := without(dir); err == nil {
		t.Error("a file that is none was read")
	}
}
