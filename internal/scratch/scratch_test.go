package scratch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep/internal/scratch"
	"github.com/lockstep-go/lockstep/internal/testkit/processes"
)

// root makes the program of this test act as another process, which creates a directory with a file there, and waits.
const root = "LOCKSTEP_SCRATCH_ROOT"

func TestMain(m *testing.M) {
	at := os.Getenv(root)
	if at == "" {
		os.Exit(m.Run())
	}
	f, err := scratch.New(at, "0")
	if err == nil {
		err = os.MkdirAll(filepath.Join(f.Path, "node1", "files"), 0o700)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Path)
	never, open, err := os.Pipe()
	if err == nil {
		_, err = never.Read(make([]byte, 1)) // until it is killed
	}
	fmt.Println(err, open.Close())
}

// The next process removes the directories of killed processes. It leaves those of running processes, and other
// directories.
func TestKilled(t *testing.T) {
	at := t.TempDir()
	for _, other := range []string{"lockstep-0-1", "others"} {
		if err := os.Mkdir(filepath.Join(at, other), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	killed, incarnations := processes.Begin(t, root+"="+at), processes.Begin(t, root+"="+at)
	gone, stays := killed.Line(), incarnations.Line()
	killed.Kill()
	want := []string{stays, filepath.Join(at, "lockstep-0-1"), filepath.Join(at, "others")}
	var mine []*scratch.Dir
	for i := range 2 { // the second iteration finds the directory of the first, which is of this process
		f, err := scratch.New(at, fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		mine, want = append(mine, f), append(want, f.Path)
	}
	if slices.Sort(want); !slices.Equal(list(t, at), want) {
		t.Errorf("%s was killed; there are %q, want %q", gone, list(t, at), want)
	}
	for _, f := range mine {
		if err := f.Remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(f.Path); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", f.Path, err)
		}
	}
	incarnations.Kill()
}

// Processes that create directories at the same time do not remove each other's. Each finds its own, and none is left
// when all have ended.
func TestAtOnce(t *testing.T) {
	at := t.TempDir()
	const many = 8
	done := make(chan error, many)
	for i := range many {
		go func() {
			var err error
			for range 50 {
				var f *scratch.Dir
				if f, err = scratch.New(at, fmt.Sprint(i)); err != nil {
					break
				}
				if err = os.WriteFile(filepath.Join(f.Path, "file"), nil, 0o600); err != nil {
					break
				}
				if err = f.Remove(); err != nil {
					break
				}
			}
			done <- err
		}()
	}
	for range many {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if left := list(t, at); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// If a directory cannot be created, the error names it.
func TestNowhere(t *testing.T) {
	if _, err := scratch.New(filepath.Join(t.TempDir(), "none"), "0"); !os.IsNotExist(err) {
		t.Error(err)
	}
}

func list(t *testing.T, at string) (paths []string) {
	t.Helper()
	entries, err := os.ReadDir(at)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		paths = append(paths, filepath.Join(at, e.Name()))
	}
	return paths
}
