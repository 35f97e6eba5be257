package disk_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/bubble/disk"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// twin performs every operation on real files and on the model.
type twin struct {
	t    *testing.T
	root string
	disk *disk.Disk
	r    *rand.Rand
}

// pick is a random directory, or file, of the model and its path; nil if there is none.
func (t *twin) pick(kind disk.Kind) (*disk.Inode, string) {
	type found struct {
		i    *disk.Inode
		path string
	}
	var all []found
	var walk func(i *disk.Inode, path string)
	walk = func(i *disk.Inode, path string) {
		if i.Kind == kind {
			all = append(all, found{i, path})
		}
		for _, name := range i.Names() {
			walk(i.Entry(name), filepath.Join(path, name))
		}
	}
	walk(t.disk.Root(), t.root)
	if len(all) == 0 {
		return nil, ""
	}
	f := all[t.r.IntN(len(all))]
	return f.i, f.path
}

func (t *twin) must(err error) {
	t.t.Helper()
	if err != nil {
		t.t.Fatal(err)
	}
}

func (t *twin) step() {
	t.disk.Time++
	dir, path := t.pick(disk.Directory)
	name := string(rune('a' + t.r.IntN(6)))
	to := filepath.Join(path, name)
	file, from := t.pick(disk.File)
	switch op := t.r.IntN(12); {
	case op == 0 && dir.Entry(name) == nil:
		t.must(os.Mkdir(to, 0o700))
		t.disk.Make(dir, name, disk.Directory)
	case op < 3 && dir.Entry(name) == nil:
		t.must(os.WriteFile(to, nil, 0o600))
		t.disk.Make(dir, name, disk.File)
	case op == 3 && dir.Entry(name) != nil && len(dir.Entry(name).Names()) == 0:
		t.must(os.Remove(to))
		t.disk.Remove(dir, name)
	case file == nil:
	case op == 4 && (dir.Entry(name) == nil || dir.Entry(name).Kind == disk.File):
		parent, old := t.parent(from)
		t.must(os.Rename(from, to))
		t.disk.Rename(parent, old, dir, name)
	case op == 5 && dir.Entry(name) == nil:
		t.must(os.Link(from, to))
		t.disk.Link(dir, name, file)
	case op == 6:
		size := t.r.Int64N(20000)
		t.must(os.Truncate(from, size))
		t.disk.Resize(file, size)
	case op > 6:
		data := make([]byte, 1+t.r.IntN(6000))
		for i := range data {
			data[i] = byte(t.r.IntN(256))
		}
		at := t.r.Int64N(15000)
		f, err := os.OpenFile(from, os.O_WRONLY, 0)
		t.must(err)
		_, err = f.WriteAt(data, at)
		t.must(err)
		t.must(f.Close())
		t.disk.Write(file, at, data)
	}
}

// parent is the directory of a path in the model, and the name in it.
func (t *twin) parent(path string) (*disk.Inode, string) {
	rel, err := filepath.Rel(t.root, path)
	t.must(err)
	parts := strings.Split(rel, "/")
	dir := t.disk.Root()
	for _, name := range parts[:len(parts)-1] {
		dir = dir.Entry(name)
	}
	return dir, parts[len(parts)-1]
}

// live describes the real tree, in the same form as tree describes the model.
func (t *twin) live() []string {
	var all []string
	t.must(filepath.WalkDir(t.root, func(path string, e fs.DirEntry, err error) error {
		t.must(err)
		if e.IsDir() {
			all = append(all, path+"/")
			return nil
		}
		data, err := os.ReadFile(path)
		all = append(all, fmt.Sprintf("%s=%x", path, data))
		return err
	}))
	slices.Sort(all)
	return all
}

func tree(d *disk.Disk, root string) []string {
	var all []string
	var walk func(i *disk.Inode, path string)
	walk = func(i *disk.Inode, path string) {
		if i.Kind == disk.Directory {
			all = append(all, path+"/")
		} else {
			data := make([]byte, i.Size())
			i.ReadAt(data, 0)
			copied := make([]byte, i.Size())
			i.Extents(func(at int64, sector *[disk.Sector]byte) { copy(copied[at:], sector[:]) })
			if string(data) != string(copied) {
				all = append(all, path+" reads in two ways")
			}
			all = append(all, fmt.Sprintf("%s=%x", path, data))
		}
		for _, name := range i.Names() {
			walk(i.Entry(name), path+"/"+name)
		}
	}
	walk(d.Root(), root)
	slices.Sort(all)
	return all
}

// The model matches real files while nothing fails. After a sync of everything, a power failure loses nothing. The
// mildest power failure loses nothing either.
func TestLiveTree(t *testing.T) {
	tier.NotShort(t)
	for seed := range uint64(40) {
		level := disk.Level(seed % 2)
		w := &twin{t: t, root: t.TempDir(), disk: disk.New(level), r: rand.New(rand.NewPCG(seed, 2))}
		check := func(when string) {
			if live, model := w.live(), tree(w.disk, w.root); !slices.Equal(live, model) {
				t.Fatalf("seed %d, %s: %d and %d files, which differ", seed, when, len(live), len(model))
			}
		}
		for range 5 {
			for range 30 {
				w.step()
			}
			check("live")
			if w.r.IntN(2) == 0 {
				w.disk.SyncAll(w.disk.Moment())
				w.disk.Crash(everything)
				check("synced")
			} else if loss := w.disk.Crash(func(int) int { return 0 }); !loss.None() {
				t.Fatalf("lost %s", loss)
			}
			check("crashed")
		}
	}
}

// Data above a certain age is on the disk, and newer data may be lost.
func TestWriteBack(t *testing.T) {
	for _, level := range []disk.Level{disk.Ext4, disk.POSIX} {
		d := disk.New(level)
		d.Time = 10
		a := d.Make(d.Root(), "a", disk.File)
		d.Write(a, 0, []byte("old"))
		d.Time = 20
		d.Make(d.Root(), "b", disk.File)
		d.Write(a, 0, []byte("new"))
		d.WriteBack(15)
		loss := d.Crash(everything)
		data := make([]byte, 9)
		if n := a.ReadAt(data, 0); string(data[:n]) != "old" || d.Root().Entry("b") != nil || d.Root().Entry("a") != a {
			t.Errorf("%s: %q, lost %s", level, data[:n], loss)
		}
	}
}
