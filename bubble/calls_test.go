//go:build lockstep_overlay && linux && amd64

package bubble_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
)

// busy performs random operations on files, by every call that package os has.
type busy struct {
	node *bubble.Node
	root string
	r    *rand.Rand
	made int
	maps [][]byte
}

// some is a random path of a directory or file below the root.
func (b *busy) some(dirs bool) string {
	var all []string
	_ = filepath.WalkDir(b.root, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() == dirs && e.Type()&os.ModeSymlink == 0 {
			all = append(all, path)
		}
		return nil
	})
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	return all[b.r.IntN(len(all))]
}

func (b *busy) fresh() string {
	b.made++
	return filepath.Join(b.some(true), fmt.Sprint("f", b.made))
}

func (b *busy) data(most int) []byte {
	data := make([]byte, 1+b.r.IntN(most))
	for i := range data {
		data[i] = byte(b.r.IntN(256))
	}
	return data
}

// acts are the operations of a program; most of them get an existing file.
var acts = []struct {
	name string
	do   func(b *busy, file string) error
}{
	{"create", func(b *busy, _ string) error { return os.WriteFile(b.fresh(), b.data(9000), 0o640) }},
	{"mkdir", func(b *busy, _ string) error { return os.MkdirAll(filepath.Join(b.fresh(), "below"), 0o755) }},
	{"temporary", func(b *busy, _ string) error {
		f, err := os.CreateTemp(b.some(true), "t*")
		if err == nil {
			_, err = f.Write(b.data(2000))
			err = errors.Join(err, f.Sync(), f.Close(), os.Rename(f.Name(), b.fresh()))
		}
		return err
	}},
	{"append", func(b *busy, file string) error {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.Write(b.data(3000))
			err = errors.Join(err, f.Close())
		}
		return err
	}},
	{"pwrite", func(b *busy, file string) error {
		f, err := os.OpenFile(file, os.O_RDWR, 0)
		if err == nil {
			_, err = f.WriteAt(b.data(3000), b.r.Int64N(9000))
			_, wrong := f.Write(b.data(700))
			err = errors.Join(err, wrong, f.Close())
		}
		return err
	}},
	{"writev", func(b *busy, file string) error {
		f, err := os.OpenFile(file, os.O_RDWR|syscall.O_DSYNC, 0)
		if err == nil {
			parts := net.Buffers{b.data(700), b.data(10), b.data(600)}
			_, err = parts.WriteTo(f)
			err = errors.Join(err, f.Close())
		}
		return err
	}},
	{"empty", func(b *busy, file string) error { return os.WriteFile(file, nil, 0) }},
	{"truncate", func(b *busy, file string) error { return os.Truncate(file, b.r.Int64N(12000)) }},
	{"fallocate", func(b *busy, file string) error {
		f, err := os.OpenFile(file, os.O_RDWR, 0)
		if err == nil {
			err = errors.Join(syscall.Fallocate(int(f.Fd()), 0, 0, b.r.Int64N(12000)+1), f.Close())
		}
		return err
	}},
	{"rename", func(b *busy, file string) error { return os.Rename(file, b.fresh()) }},
	{"replace", func(b *busy, file string) error { return os.Rename(file, b.some(false)) }},
	{"rename directory", func(b *busy, _ string) error {
		dir := b.some(true)
		to := b.fresh()
		if dir == b.root || strings.HasPrefix(to, dir+"/") {
			return nil
		}
		return os.Rename(dir, to)
	}},
	{"link", func(b *busy, file string) error { return os.Link(file, b.fresh()) }},
	{"symlink", func(b *busy, file string) error {
		at := b.fresh()
		if err := os.Symlink(filepath.Base(file), at); err != nil || filepath.Dir(at) != filepath.Dir(file) {
			return err
		}
		return os.WriteFile(at, b.data(100), 0)
	}},
	{"remove", func(_ *busy, file string) error { return os.Remove(file) }},
	{"remove all", func(b *busy, _ string) error {
		if dir := b.some(true); dir != b.root && b.r.IntN(4) == 0 {
			return os.RemoveAll(dir)
		}
		return nil
	}},
	{"chmod", func(_ *busy, file string) error { return os.Chmod(file, 0o600) }},
	{"copy", func(b *busy, file string) error {
		from, err := os.Open(file)
		if err != nil {
			return err
		}
		to, err := os.Create(b.fresh())
		if err == nil {
			_, err = io.Copy(to, from) // copy_file_range is refused
			err = errors.Join(err, to.Close())
		}
		return errors.Join(err, from.Close())
	}},
	{"root", func(b *busy, file string) error {
		root, err := os.OpenRoot(filepath.Dir(file))
		if err != nil {
			return err
		}
		f, err := root.OpenFile(filepath.Base(file), os.O_RDWR, 0)
		if err == nil {
			_, err = f.Write(b.data(50))
			err = errors.Join(err, f.Close())
		}
		return errors.Join(err, root.Close())
	}},
	{"map", func(b *busy, file string) error {
		f, err := os.OpenFile(file, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		if st, err := f.Stat(); err != nil || st.Size() < 4096 {
			return err
		}
		memory, err := syscall.Mmap(int(f.Fd()), 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
		if err == nil {
			copy(memory[b.r.IntN(4000):], b.data(90))
			b.maps = append(b.maps, memory)
		}
		return err
	}},
	{"unmap", func(b *busy, _ string) error {
		if len(b.maps) == 0 {
			return nil
		}
		memory := b.maps[0]
		b.maps = b.maps[1:]
		return syscall.Munmap(memory)
	}},
}

// The model of a disk matches the files whatever a program does. If a power failure loses nothing, the directory is as
// it was.
func TestCalls(t *testing.T) {
	acted := map[string]int{}
	start := func(n *bubble.Node) error {
		root, err := n.Dir()
		if err != nil {
			return err
		}
		if err := bubble.Compare(n); err != nil {
			return fmt.Errorf("after a start: %w", err)
		}
		b := &busy{node: n, root: root, r: n.Rand(), made: n.Incarnation() * 1000}
		for range 60 {
			act := acts[b.r.IntN(len(acts))]
			file := b.some(false)
			if file == "" {
				act = acts[0]
			}
			if len(b.maps) > 0 && (act.name == "truncate" || act.name == "empty") {
				continue // a file must not become shorter than its mapping
			}
			if err := act.do(b, file); err != nil {
				return fmt.Errorf("%s: %w", act.name, err)
			}
			acted[act.name]++
			if b.r.IntN(4) > 0 {
				continue
			}
			if err := bubble.Compare(n); err != nil {
				return fmt.Errorf("%s: %w", act.name, err)
			}
			time.Sleep(time.Millisecond)
		}
		return nil
	}
	result := underFaults(t, 15, bubble.Files{PowerFailures: 0.7}, start, nil)
	if f := result.First(); f != nil {
		t.Fatalf("%+v", f.Finding)
	}
	for _, act := range acts {
		if acted[act.name] < 10 {
			t.Errorf("%s was done %d times", act.name, acted[act.name])
		}
	}
}

// alone runs a program on one node, and returns the calls that were refused.
func alone(t *testing.T, files bubble.Files, start func(*bubble.Node) error) []string {
	t.Helper()
	var refused []string
	checker := spec.OnEvent(
		"refused",
		bubble.RefusedCall,
		func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
			refused = append(refused, e.Value.(string))
			return nil
		},
	)
	cluster := bubble.Cluster{
		Name:   "files",
		Nodes:  1,
		Freeze: &bubble.Freeze{Files: &files},
		Pace:   time.Hour,
		Start:  start,
	}
	result, err := lockstep.Explore(
		t.Context(),
		lockstep.Plan{
			System:   cluster,
			Strategy: strategy.Walk{Wait: 1, Steps: 2000},
			Spec:     checker,
			Runs:     1,
			Seed:     1,
			Scratch:  memory(),
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	if f := result.First(); f != nil {
		t.Fatalf("%+v", f.Finding)
	}
	return refused
}

// A call that the model lacks is refused, and an event reports its name.
func TestRefusedCalls(t *testing.T) {
	refused := alone(t, bubble.Files{}, func(n *bubble.Node) error {
		dir, err := n.Dir()
		if err != nil {
			return err
		}
		f, err := os.Create(filepath.Join(dir, "a"))
		if err != nil {
			return err
		}
		if err := syscall.Fallocate(int(f.Fd()), 3, 0, 10); !errors.Is(err, syscall.EOPNOTSUPP) {
			return fmt.Errorf("punching a hole: %w", err)
		}
		if err := syscall.Setxattr(f.Name(), "user.a", []byte("b"), 0); !errors.Is(err, syscall.ENOTSUP) {
			return fmt.Errorf("an attribute: %w", err)
		}
		if err := syscall.Mknod(filepath.Join(dir, "pipe"), syscall.S_IFIFO|0o600, 0); !errors.Is(err, syscall.EPERM) {
			return fmt.Errorf("a pipe: %w", err)
		}
		if err := os.Rename(f.Name(), filepath.Join(dir, "..", "elsewhere")); !errors.Is(err, syscall.EXDEV) {
			return fmt.Errorf("another disk: %w", err)
		}
		return f.Close()
	})
	if want := []string{"fallocate with a mode", "setxattr", "mknodat"}; !slices.Equal(refused, want) {
		t.Errorf("refused were %q, want %q", refused, want)
	}
}

// Times of files are those of the run, and nodes do not see properties of the machine.
func TestVirtual(t *testing.T) {
	alone(t, bubble.Files{}, func(n *bubble.Node) error {
		dir, err := n.Dir()
		if err != nil {
			return err
		}
		time.Sleep(time.Hour)
		file := filepath.Join(dir, "a")
		began := time.Now()
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			return err
		}
		time.Sleep(time.Hour)
		st, err := os.Stat(file)
		if err != nil || !st.ModTime().Equal(began) {
			return fmt.Errorf("written at %v, it says %v (%w)", began, st.ModTime(), err)
		}
		set := time.Date(1999, 1, 2, 3, 4, 5, 6, time.UTC)
		if err := os.Chtimes(file, set, set); err != nil {
			return err
		}
		if st, err = os.Stat(file); err != nil || !st.ModTime().Equal(set) {
			return fmt.Errorf("set to %v, it says %v (%w)", set, st.ModTime(), err)
		}
		memory, err := os.ReadFile("/proc/meminfo")
		if err != nil || !strings.HasPrefix(string(memory), "MemTotal: 8388608 kB\n") {
			return fmt.Errorf("memory is %q (%w)", memory, err)
		}
		if _, err := os.ReadFile("/proc/self/maps"); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("maps: %w", err)
		}
		var fs syscall.Statfs_t
		if err := syscall.Statfs(dir, &fs); err != nil || fs.Bavail != 1<<25 {
			return fmt.Errorf("%d blocks are free (%w)", fs.Bavail, err)
		}
		return nil
	})
}

// Syncs fail and disks are full with the configured probability, and never in the settling stage.
func TestErrors(t *testing.T) {
	counts := map[string]int{}
	alone(t, bubble.Files{SyncErrors: 0.3, FullDisk: 0.2}, func(n *bubble.Node) error {
		dir, err := n.Dir()
		if err != nil {
			return err
		}
		for i := range 300 {
			f, err := os.Create(filepath.Join(dir, fmt.Sprint(i)))
			if errors.Is(err, syscall.ENOSPC) {
				counts["create"]++
				continue
			} else if err != nil {
				return err
			}
			if _, err := f.Write([]byte("x")); errors.Is(err, syscall.ENOSPC) {
				counts["write"]++
			} else if err != nil {
				return err
			}
			if err := f.Sync(); errors.Is(err, syscall.EIO) {
				counts["sync"]++
			} else if err != nil {
				return err
			}
			if err := f.Close(); err != nil {
				return err
			}
		}
		counts["done"]++
		return nil
	})
	if counts["done"] == 0 || counts["create"] < 30 || counts["write"] < 25 || counts["sync"] < 40 {
		t.Errorf("failed: %v", counts)
	}
}
