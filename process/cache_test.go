package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/internal/testkit/processes"
)

// A filled directory is reused, and a failed fill leaves nothing behind.
func TestCached(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	made := 0
	fill := func(dir string) error {
		made++
		return os.WriteFile(filepath.Join(dir, "file"), nil, 0o644)
	}
	dir, err := Cached("thing", func(string) error { return errors.New("no") })
	if err == nil || dir != "" {
		t.Errorf("%q, %v", dir, err)
	}
	for range 2 {
		if dir, err = Cached("thing", fill); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "file")); err != nil {
			t.Error(err)
		}
	}
	left, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(left) != 1 || made != 1 {
		t.Errorf("made %d times, %v, %v", made, left, err)
	}
}

// Several workers that need the same directory at once wait for the one that fills it, and it is announced once.
func TestCachedAtOnce(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var lines bytes.Buffer
	was := notices
	notices = &lines
	defer func() { notices = was }()
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			if _, err := Cached("thing", func(string) error {
				Notify("making a %s", "thing")
				time.Sleep(10 * time.Millisecond) // the other workers arrive meanwhile
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	workers.Wait()
	if got := lines.String(); got != "lockstep: making a thing\n" {
		t.Errorf("%q", got)
	}
}

// cacheVariable makes this test's program fill a directory of the cache until it is killed.
const cacheVariable = "LOCKSTEP_PROCESS_CACHE"

// fillUntilKilled is that program.
func fillUntilKilled() {
	_, err := Cached("thing", func(dir string) error {
		fmt.Println(dir)
		select {}
	})
	fmt.Println(err)
}

// If a process is killed while it fills a directory, the next process to fill one removes the remains.
func TestCachedKilled(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	program := processes.Begin(t, cacheVariable+"=1", "XDG_CACHE_HOME="+cache)
	half := program.Line()
	program.Kill()
	if _, err := os.Stat(half); err != nil {
		t.Fatal("there is nothing to remove", err)
	}
	dir, err := Cached("other", func(string) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}
