package disk_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/bubble/disk"
)

// The oracle is a kernel: it has a page cache and a disk, and between any two operations of a program it may write
// something back. The model must allow exactly the disk contents of all its possible executions at a crash. The oracle
// counts in units of half a sector.

const (
	unit   = disk.Sector / 2
	perBlk = disk.Block / unit
)

// op is an operation of a program.
type op struct {
	do       string // create, mkdir, write, resize, rename, remove, link, sync, datasync, fail
	name, to string // below the root, or in its directory "d"
	at, n    int    // units
	fill     byte
}

func (o op) String() string {
	return strings.TrimSpace(
		fmt.Sprintf("%s %s %s %d+%d %s", o.do, o.name, o.to, o.at, o.n, strings.Trim(string(o.fill), "\x00")))
}

// kernel is a state of the oracle.
type kernel struct {
	level  disk.Level
	names  map[string]int // cache: "directory/name" to number
	stored map[string]int
	queue  []renaming // changes of names that are not on the disk (POSIX)
	files  map[int]*kfile
	dirs   map[int]bool
	last   int  // inode number
	loose  bool // the journal has uncommitted changes (ext4)
}

type renaming struct {
	keys []string
	to   []int
}

type kfile struct {
	cache   []byte // its length is that of the file
	size    int    // i_disksize (ext4), or the length on the disk (POSIX)
	loose   bool   // its part of the journal is not committed
	dirty   map[int]bool
	ordered map[int]bool // sectors that must be written before the journal
	grown   int          // and the minimal length of the file at that time
	gen     map[int]int  // how often the block of a sector was freed
	blocks  map[[2]int][2]byte
	csize   int // committed
	cgen    map[int]int
}

func newKernel(level disk.Level) *kernel {
	return &kernel{
		level:  level,
		names:  map[string]int{},
		stored: map[string]int{},
		files:  map[int]*kfile{},
		dirs:   map[int]bool{1: true},
		last:   1,
	}
}

func (k *kernel) clone() *kernel {
	c := *k
	c.names, c.stored, c.queue, c.dirs =
		maps.Clone(k.names), maps.Clone(k.stored), slices.Clone(k.queue), maps.Clone(k.dirs)
	c.files = map[int]*kfile{}
	for n, f := range k.files {
		g := *f
		g.cache, g.dirty, g.ordered, g.gen =
			slices.Clone(f.cache), maps.Clone(f.dirty), maps.Clone(f.ordered), maps.Clone(f.gen)
		g.blocks, g.cgen = maps.Clone(f.blocks), maps.Clone(f.cgen)
		c.files[n] = &g
	}
	return &c
}

// key identifies a state; fmt prints maps in order.
func (k *kernel) key() string {
	var b strings.Builder
	fmt.Fprint(&b, k.names, k.stored, k.queue, k.last, k.loose)
	for n := range k.last + 1 {
		if f := k.files[n]; f != nil {
			fmt.Fprint(&b, "|", n, *f)
		}
	}
	return b.String()
}

func (k *kernel) path(name string) string {
	if rest, in := strings.CutPrefix(name, "d/"); in {
		return fmt.Sprintf("%d/%s", k.names["1/d"], rest)
	}
	return "1/" + name
}

// turn performs a change of names.
func (k *kernel) turn(keys []string, to []int) {
	for i, key := range keys {
		if to[i] == 0 {
			delete(k.names, key)
		} else {
			k.names[key] = to[i]
			if f := k.files[to[i]]; f != nil {
				f.loose = true
			}
		}
	}
	k.loose = true
	if k.level == disk.POSIX {
		k.queue = append(k.queue, renaming{keys, to})
	}
}

// blockwise splits a write at block boundaries: a kernel copies page by page.
func blockwise(ops []op) []op {
	var all []op
	for _, o := range ops {
		for o.do == "write" && o.at/perBlk != (o.at+o.n-1)/perBlk {
			first := o
			first.n = perBlk - o.at%perBlk
			all = append(all, first)
			o.at, o.n = o.at+first.n, o.n-first.n
		}
		all = append(all, o)
	}
	return all
}

// do performs an operation; a sync reports whether everything that it covers is on the disk.
func (k *kernel) do(o op) bool {
	key := k.path(o.name)
	f := k.files[k.names[key]]
	switch o.do {
	case "create", "mkdir":
		k.last++
		if o.do == "mkdir" {
			k.dirs[k.last] = true
		} else {
			k.files[k.last] = &kfile{
				dirty:   map[int]bool{},
				ordered: map[int]bool{},
				gen:     map[int]int{},
				blocks:  map[[2]int][2]byte{},
				cgen:    map[int]int{},
			}
		}
		k.turn([]string{key}, []int{k.last})
	case "remove":
		k.turn([]string{key}, []int{0})
	case "link":
		k.turn([]string{k.path(o.to)}, []int{k.names[key]})
	case "rename":
		to := k.path(o.to)
		if k.names[to] == k.names[key] {
			break // two names of one file
		}
		if k.level == disk.Ext4 && k.names[to] != 0 && f != nil {
			for s := range f.dirty {
				f.ordered[s] = true
			}
			f.grown = len(f.cache)
		}
		k.turn([]string{key, to}, []int{0, k.names[key]})
	case "write":
		for len(f.cache) < o.at+o.n {
			f.cache = append(f.cache, 0)
		}
		for u := o.at; u < o.at+o.n; u++ {
			f.cache[u] = o.fill
			f.dirty[u/2] = true
		}
	case "resize":
		k.resize(f, o.n)
	case "sync":
		return k.synced(key, f)
	case "datasync":
		if k.level == disk.Ext4 && f != nil {
			return len(f.dirty) == 0 && f.size == len(f.cache) && !f.loose
		}
		return k.synced(key, f)
	case "fail":
		clear(f.dirty)
	}
	return true
}

func (k *kernel) synced(key string, f *kfile) bool {
	if k.level == disk.Ext4 {
		return !k.loose && (f == nil || len(f.dirty) == 0 && f.size == len(f.cache))
	}
	if f != nil {
		return len(f.dirty) == 0 && f.size == len(f.cache)
	}
	dir := k.names[key]
	if key == "1/" {
		dir = 1
	}
	return !slices.ContainsFunc(k.queue, func(r renaming) bool {
		return slices.ContainsFunc(r.keys,
			func(key string) bool { return strings.HasPrefix(key, fmt.Sprint(dir, "/")) })
	})
}

func (k *kernel) resize(f *kfile, n int) {
	old := len(f.cache)
	if n == old {
		return
	}
	for len(f.cache) < n {
		f.cache = append(f.cache, 0)
	}
	for u := n; u < old; u++ {
		s := u / 2
		switch freed := s*2 >= (n+perBlk-1)/perBlk*perBlk; {
		case k.level == disk.POSIX:
			f.dirty[s] = true
		case freed && u%2 == 0:
			f.gen[s]++
			delete(f.dirty, s)
			delete(f.ordered, s)
		case !freed:
			f.dirty[s], f.ordered[s] = true, true
		}
	}
	f.cache = f.cache[:n]
	if k.level == disk.Ext4 {
		f.size, f.grown, f.loose, k.loose = n, 0, true, true
	}
}

// steps are the states after one background action of the kernel.
func (k *kernel) steps() []*kernel {
	var all []*kernel
	try := func(change func(*kernel)) {
		c := k.clone()
		change(c)
		all = append(all, c)
	}
	for n, f := range k.files {
		for s := range f.dirty {
			try(func(c *kernel) { c.files[n].writeBack(s) })
		}
		if f.size != len(f.cache) && (k.level == disk.POSIX || f.mayGrow()) {
			try(func(c *kernel) {
				g := c.files[n]
				g.size, g.loose, c.loose = len(g.cache), true, true
			})
		}
	}
	if k.level == disk.POSIX {
		for i, r := range k.queue {
			if !slices.ContainsFunc(k.queue[:i], func(earlier renaming) bool {
				return slices.ContainsFunc(earlier.keys, func(key string) bool { return slices.Contains(r.keys, key) })
			}) {
				try(func(c *kernel) {
					for j, key := range r.keys {
						store(c.stored, key, r.to[j])
					}
					c.queue = slices.Delete(slices.Clone(c.queue), i, i+1)
				})
			}
		}
		return all
	}
	for _, f := range k.files {
		if len(f.ordered) > 0 || f.size < f.grown {
			return all
		}
	}
	try(func(c *kernel) {
		c.stored, c.loose = maps.Clone(c.names), false
		for _, f := range c.files {
			f.csize, f.cgen, f.grown, f.loose = f.size, maps.Clone(f.gen), 0, false
		}
	})
	return all
}

func store(names map[string]int, key string, to int) {
	if to == 0 {
		delete(names, key)
	} else {
		names[key] = to
	}
}

func (k *kfile) writeBack(s int) {
	var data [2]byte
	if s*2 < len(k.cache) {
		copy(data[:], k.cache[s*2:])
	}
	k.blocks[[2]int{s, k.gen[s]}] = data
	delete(k.dirty, s)
	delete(k.ordered, s)
}

// mayGrow reports whether the kernel may write the length to the journal. The file must end in the last block of its
// old length, or the data in new blocks must be written.
func (k *kfile) mayGrow() bool {
	end := (k.size + perBlk - 1) / perBlk * perBlk
	for s := range k.dirty {
		if s*2 >= end && s*2 < len(k.cache) {
			return false
		}
	}
	return true
}

// after is the content of the disk after a crash now.
func (k *kernel) after() string {
	var b strings.Builder
	var walk func(path string, dir int)
	walk = func(path string, dir int) {
		for _, key := range slices.Sorted(maps.Keys(k.stored)) {
			in, name, _ := strings.Cut(key, "/")
			n := k.stored[key]
			if in != fmt.Sprint(dir) {
				continue
			}
			if k.dirs[n] {
				fmt.Fprintf(&b, "%s%s/ ", path, name)
				walk(path+name+"/", n)
				continue
			}
			f := k.files[n]
			size, gen := f.csize, f.cgen
			if k.level == disk.POSIX {
				size, gen = f.size, f.gen
			}
			fmt.Fprintf(&b, "%s%s=", path, name)
			for u := range size {
				b.WriteByte(letter(f.blocks[[2]int{u / 2, gen[u/2]}][u%2]))
			}
			b.WriteByte(' ')
		}
	}
	walk("", 1)
	return b.String()
}

func letter(c byte) byte {
	if c == 0 {
		return '.'
	}
	return c
}

// possible are all states after a crash at the end of a history.
func possible(level disk.Level, history []op) map[string]bool {
	states := closure([]*kernel{newKernel(level)})
	for _, o := range blockwise(history) {
		var next []*kernel
		for _, k := range states {
			if c := k.clone(); c.do(o) {
				next = append(next, c)
			}
		}
		states = closure(next)
	}
	found := map[string]bool{}
	for _, k := range states {
		found[k.after()] = true
	}
	return found
}

// closure adds all states that background actions of the kernel can reach.
func closure(states []*kernel) []*kernel {
	seen := map[string]bool{}
	var all []*kernel
	for len(states) > 0 {
		k := states[len(states)-1]
		states = states[:len(states)-1]
		if key := k.key(); !seen[key] {
			seen[key] = true
			all = append(all, k)
			states = append(states, k.steps()...)
		}
	}
	return all
}
