//go:build unix

package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/internal/testkit/processes"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/target"
)

// slowGo is a go command whose build waits until a file "on" is beside it. It leaves a file in its temporary directory,
// has a child process, and reports that it has begun.
const slowGo = `#!/bin/sh
dir=$(dirname "$0")
if [ "$1" = build ]; then
	mkdir "$GOTMPDIR/go-build1" && echo much > "$GOTMPDIR/go-build1/object"
	cd "$dir"
	sleep 600 &
	child=$!
	touch "$dir/begun"
	while [ ! -e "$dir/on" ]; do sleep 0.02; done
	kill $child
	cd - > /dev/null
fi
exec go "$@"
`

// slow returns a program to build, and the directory of a slow go command.
func slow(t *testing.T) (p target.Program, dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{"program/go.mod": "module example.com/program\n\ngo 1.26\n",
		"program/main.go": "package main\n\nfunc main() {}\n", "go": slowGo} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777),
			os.WriteFile(file, []byte(text), 0o777)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOWORK", "off")
	return target.Program{Name: filepath.Join(dir, "program"), Package: filepath.Join(dir, "program")}, dir
}

// builder is a Builder that records its log lines.
type builder struct {
	Builder
	mutex sync.Mutex
	lines []string
}

func newBuilder(dir string) *builder {
	b := &builder{Builder: Builder{Cache: filepath.Join(dir, "cache"), Go: filepath.Join(dir, "go")}}
	b.Log = func(line string) {
		b.mutex.Lock()
		defer b.mutex.Unlock()
		b.lines = append(b.lines, line)
	}
	return b
}

func (b *builder) said() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return strings.Join(b.lines, "\n")
}

// leftovers returns the files in the cache, without empty directories.
func leftovers(dir string) (files []string) {
	_ = filepath.WalkDir(filepath.Join(dir, "cache"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return nil
	})
	return files
}

// until waits until a condition holds.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after a minute still not: %s", what)
		}
	}
}

// One of three builders of the same program builds it. The others report that they wait for it.
func TestConcurrent(t *testing.T) {
	p, dir := slow(t)
	var all [3]*builder
	var files [3]string
	var failed [3]error
	var wait sync.WaitGroup
	begin := func(i int) {
		all[i] = newBuilder(dir)
		wait.Go(func() { files[i], failed[i] = all[i].Program(t.Context(), p, "") })
	}
	begin(0)
	until(t, "the first builds", func() bool { return exists(filepath.Join(dir, "begun")) })
	begin(1)
	begin(2)
	for _, b := range all[1:] {
		until(t, "another waits", func() bool {
			return strings.HasPrefix(b.said(), "another process is building "+p.Name+"; waiting for it")
		})
	}
	if err := os.WriteFile(filepath.Join(dir, "on"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	wait.Wait()
	for i, err := range failed {
		if err != nil || files[i] != files[0] {
			t.Errorf("%d: %s, %v; the first has %s", i, files[i], err, files[0])
		}
		if built := strings.Contains(all[i].said(), "built in "); built != (i == 0) {
			t.Errorf("%d says %q", i, all[i].said())
		}
	}
	if !strings.HasSuffix(all[0].said(), "s, kept as "+files[0]) {
		t.Errorf("the first says %q", all[0].said())
	}
	if left := leftovers(dir); len(left) != 1 {
		t.Errorf("left are %v", left)
	}
}

// An interrupted build leaves no file and no process, and neither does a build that waits for it. The next one builds.
func TestInterrupted(t *testing.T) {
	tier.NotShort(t)
	p, dir := slow(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	first := newBuilder(dir)
	go func() { _, err := first.Program(ctx, p, ""); ended <- err }()
	until(t, "it builds", func() bool { return exists(filepath.Join(dir, "begun")) })
	waiting, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	if _, err := newBuilder(dir).Program(waiting, p, ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the waiting process gets %v", err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if left := leftovers(dir); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
	until(t, "its processes have ended", func() bool { return len(below(dir)) == 0 })
	if err := os.WriteFile(filepath.Join(dir, "on"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if file, err := newBuilder(dir).Program(t.Context(), p, ""); err != nil || !exists(file) {
		t.Errorf("the next one: %s, %v", file, err)
	}
}

// below lists the processes that work in a directory or below it.
func below(dir string) (pids []string) {
	places, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, p := range places {
		if at, err := os.Readlink(p); err == nil && strings.HasPrefix(at, dir) {
			pids = append(pids, p)
		}
	}
	return pids
}

// motherVariable is the directory in which a program of the test builds, and is killed.
const motherVariable = "LOCKSTEP_BUILD_MOTHER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(motherVariable); dir != "" {
		_, err := newBuilder(dir).Program(context.Background(),
			target.Program{Name: dir + "/program", Package: dir + "/program"}, "")
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// A killed builder leaves only its lock, which blocks no other builder.
func TestKilled(t *testing.T) {
	p, dir := slow(t)
	mother := processes.Begin(t, motherVariable+"="+dir)
	until(t, "it builds", func() bool { return exists(filepath.Join(dir, "begun")) })
	mother.Kill()
	until(t, "its files and processes are gone", func() bool {
		left := leftovers(dir)
		return len(left) == 1 && filepath.Base(filepath.Dir(left[0])) == "locks" && len(below(dir)) == 0
	})
	if err := os.WriteFile(filepath.Join(dir, "on"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	b := newBuilder(dir)
	if file, err := b.Program(t.Context(), p, ""); err != nil || !exists(file) ||
		strings.Contains(b.said(), "waiting") {
		t.Errorf("the next one: %s, %v, says %q", file, err, b.said())
	}
}
