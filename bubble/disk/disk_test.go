package disk_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/bubble/disk"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// model performs a history on the model.
func model(level disk.Level, history []op) *disk.Disk {
	d := disk.New(level)
	find := func(name string) (*disk.Inode, string) {
		if rest, in := strings.CutPrefix(name, "d/"); in {
			return d.Root().Entry("d"), rest
		}
		return d.Root(), name
	}
	for _, o := range history {
		dir, name := find(o.name)
		i := dir.Entry(name)
		if o.name == "" {
			i = d.Root()
		}
		switch o.do {
		case "create":
			d.Make(dir, name, disk.File)
		case "mkdir":
			d.Make(dir, name, disk.Directory)
		case "remove":
			d.Remove(dir, name)
		case "link":
			to, new := find(o.to)
			d.Link(to, new, i)
		case "rename":
			to, new := find(o.to)
			d.Rename(dir, name, to, new)
		case "write":
			d.Write(i, int64(o.at*unit), bytes.Repeat([]byte{o.fill}, o.n*unit))
		case "resize":
			d.Resize(i, int64(o.n*unit))
		case "sync":
			d.Sync(i, d.Moment())
		case "datasync":
			d.SyncData(i, d.Moment())
		case "fail":
			d.SyncFailed(i, d.Moment())
		}
	}
	return d
}

// show is the content of the disk as a program sees it.
func show(d *disk.Disk) string {
	var b strings.Builder
	var walk func(path string, dir *disk.Inode)
	walk = func(path string, dir *disk.Inode) {
		for _, name := range dir.Names() {
			i := dir.Entry(name)
			if i.Kind == disk.Directory {
				fmt.Fprintf(&b, "%s%s/ ", path, name)
				walk(path+name+"/", i)
				continue
			}
			data := make([]byte, i.Size())
			i.ReadAt(data, 0)
			fmt.Fprintf(&b, "%s%s=", path, name)
			for at := 0; at < len(data); at += unit {
				b.WriteByte(letter(data[at]))
			}
			b.WriteByte(' ')
		}
	}
	walk("", d.Root())
	return b.String()
}

// outcomes are all states after a crash that the model allows for a history.
func outcomes(level disk.Level, history []op) map[string]bool {
	found := map[string]bool{}
	var prefix []int
	for {
		var sizes []int
		d := model(level, history)
		d.Crash(func(n int) int {
			if len(sizes) == len(prefix) {
				prefix = append(prefix, 0)
			}
			sizes = append(sizes, n)
			return prefix[len(sizes)-1]
		})
		found[show(d)] = true
		for len(prefix) > 0 && prefix[len(prefix)-1] == sizes[len(prefix)-1]-1 {
			prefix = prefix[:len(prefix)-1]
		}
		if len(prefix) == 0 {
			return found
		}
		prefix[len(prefix)-1]++
	}
}

func compare(t *testing.T, level disk.Level, history []op) int {
	t.Helper()
	want, got := possible(level, history), outcomes(level, history)
	if maps.Equal(want, got) {
		return len(want)
	}
	t.Errorf("%s, %v:", level, history)
	for _, s := range slices.Sorted(maps.Keys(want)) {
		if !got[s] {
			t.Errorf("missing: %s", s)
		}
	}
	for _, s := range slices.Sorted(maps.Keys(got)) {
		if !want[s] {
			t.Errorf("impossible: %s", s)
		}
	}
	return len(want)
}

// After a crash the model allows exactly the states that a kernel could have left, for small random histories. The
// level with more freedom gets shorter histories.
func TestBruteForce(t *testing.T) {
	for _, c := range []struct {
		level                disk.Level
		histories, least, of int
		several              int
	}{
		{disk.Ext4, tier.Pick(50, 500), 4, 6, tier.Pick(25, 300)},
		{disk.POSIX, tier.Pick(20, 150), 3, 4, tier.Pick(10, 100)},
	} {
		t.Run(c.level.String(), func(t *testing.T) {
			states, several := 0, 0
			for seed := range uint64(c.histories) {
				n := compare(t, c.level, draw(rand.New(rand.NewPCG(seed, 1)), c.least+int(seed)%c.of))
				states += n
				if n > 1 {
					several++
				}
				if t.Failed() {
					return
				}
			}
			if several < c.several {
				t.Errorf("only %d of %d histories have several outcomes", several, c.histories)
			}
			t.Logf("%d states of %d histories, %d with several", states, c.histories, several)
		})
	}
}

// draw draws a history of a few valid operations.
func draw(r *rand.Rand, long int) []op {
	var history []op
	names := map[string]bool{} // true: a directory
	sizes := map[string]int{}
	pieces, fails := 0, r.IntN(4) == 0
	for len(history) < long {
		files := slices.DeleteFunc(slices.Sorted(maps.Keys(names)), func(n string) bool { return names[n] })
		free := []string{"a", "b"}
		if names["d"] {
			free = append(free, "d/a")
		}
		name := free[r.IntN(len(free))]
		o := op{
			do: []string{
				"create", "create", "mkdir", "write", "write", "write", "resize", "rename", "remove", "sync", "sync",
				"datasync", "syncdir", "fail", "link",
			}[r.IntN(15)],
			name: name,
		}
		_, there := names[name]
		switch {
		case o.do == "mkdir" && !names["d"]:
			o.name = "d"
			names["d"] = true
		case o.do == "create" && !there:
			names[name], sizes[name] = false, 0
		case o.do == "syncdir":
			o.do, o.name = "sync", ""
			if names["d"] && r.IntN(2) == 0 {
				o.name = "d"
			}
		case len(files) == 0 || o.do == "mkdir" || o.do == "create":
			continue
		default:
			o.name = files[r.IntN(len(files))]
			if !finish(r, &o, names, sizes, name, fails, &pieces) {
				continue
			}
		}
		history = append(history, o)
	}
	return history
}

// finish draws the remaining parameters of an operation on a file, and reports whether the operation is valid.
func finish(r *rand.Rand, o *op, names map[string]bool, sizes map[string]int, other string, fails bool,
	pieces *int) bool {
	switch o.do {
	case "write":
		if *pieces++; *pieces > 4 { // keeps the number of states small
			return false
		}
		o.at, o.n, o.fill = []int{0, 1, sizes[o.name], perBlk - 2, perBlk}[r.IntN(5)], 1+r.IntN(3), byte('p'+*pieces)
		sizes[o.name] = max(sizes[o.name], o.at+o.n)
	case "resize":
		o.n = []int{0, 1, 3, perBlk, perBlk + 1}[r.IntN(5)]
		if o.n == sizes[o.name] || fails {
			return false
		}
		sizes[o.name] = o.n
	case "rename", "link":
		_, there := names[other]
		if o.name == other || fails || o.do == "link" && there {
			return false
		}
		o.to = other
		names[other], sizes[other] = false, sizes[o.name]
		if o.do == "rename" {
			delete(names, o.name)
		}
	case "remove":
		delete(names, o.name)
	case "fail":
		return fails
	case "datasync": // after a failed sync the model allows a little more than the oracle
		return !fails
	}
	return true
}
