package process

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// What was made once is there; what failed leaves nothing.
func TestCached(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	made := 0
	fill := func(folder string) error {
		made++
		return os.WriteFile(filepath.Join(folder, "file"), nil, 0o644)
	}
	folder, err := Cached("thing", func(string) error { return errors.New("no") })
	if err == nil || folder != "" {
		t.Errorf("%q, %v", folder, err)
	}
	for range 2 {
		if folder, err = Cached("thing", fill); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(folder, "file")); err != nil {
			t.Error(err)
		}
	}
	left, err := os.ReadDir(filepath.Dir(folder))
	if err != nil || len(left) != 1 || made != 1 {
		t.Errorf("made %d times, %v, %v", made, left, err)
	}
}
