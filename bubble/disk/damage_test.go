package disk_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep/bubble/disk"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// drive is the oracle of damage: the blocks of each file in the page cache and all contents that the drive had of them.
type drive struct {
	cache [2][]byte
	dirty [2]map[int]bool
	had   [2]map[int][]string // by block: the contents, oldest first
}

func newDrive() *drive {
	d := &drive{}
	for f := range d.cache {
		d.dirty[f], d.had[f] = map[int]bool{}, map[int][]string{}
	}
	return d
}

// block is the content of a block in the cache, padded with zeros.
func (d *drive) block(f, b int) string {
	padded := append(slices.Clone(d.cache[f]), make([]byte, disk.Block)...)
	return string(padded[b*disk.Block : (b+1)*disk.Block])
}

func (d *drive) write(f, at int, data []byte) {
	for len(d.cache[f]) < at+len(data) {
		d.cache[f] = append(d.cache[f], 0)
	}
	copy(d.cache[f][at:], data)
	for b := at / disk.Block; b*disk.Block < at+len(data); b++ {
		d.dirty[f][b] = true
	}
}

func (d *drive) sync(f int) {
	for b := range d.dirty[f] {
		before := string(make([]byte, disk.Block))
		if had := d.had[f][b]; len(had) > 0 {
			before = had[len(had)-1]
		}
		d.had[f][b] = []string{before, d.block(f, b)}
	}
	clear(d.dirty[f])
}

// state is the content of both files, with some blocks replaced.
func (d *drive) state(replaced map[[2]int]string) string {
	text := ""
	for f := range d.cache {
		data := slices.Clone(d.cache[f])
		for at, content := range replaced {
			if at[0] == f {
				copy(data[at[1]*disk.Block:], content)
			}
		}
		text += fmt.Sprintf("%x|", data)
	}
	return text
}

// damaged are all states that damage of a kind may leave.
func (d *drive) damaged(kind disk.Damage) map[string]bool {
	states := map[string]bool{}
	rest := func(f int) (list []int) {
		if len(d.dirty[f]) > 0 && d.grows(f) {
			return nil
		}
		for b := range d.had[f] {
			if !d.dirty[f][b] {
				list = append(list, b)
			}
		}
		return list
	}
	for f := range d.cache {
		for _, b := range rest(f) {
			had, here := d.had[f][b], [2]int{f, b}
			switch {
			case kind == disk.Unreadable:
				states[fmt.Sprint(here)] = true
			case had[0] == had[1]:
			case kind == disk.LostWrite:
				states[d.state(map[[2]int]string{here: had[0]})] = true
			default:
				for g := range d.cache {
					for _, c := range rest(g) {
						n := min(disk.Block, len(d.cache[g])-c*disk.Block)
						if d.block(g, c)[:n] != had[1][:n] {
							states[d.state(map[[2]int]string{here: had[0], {g, c}: had[1][:n]})] = true
						}
					}
				}
			}
		}
	}
	return states
}

// grows reports whether the length of a file changed since it was synced.
func (d *drive) grows(f int) bool {
	for b := range d.dirty[f] {
		if len(d.had[f][b]) == 0 {
			return true
		}
	}
	return d.length(f) != len(d.cache[f])
}

func (d *drive) length(int) int { return synced }

// synced is the length of all files, which the test writes first.
const synced = 3*disk.Block - 700

// all calls f with each sequence of choices.
func all(f func(choose disk.Choose)) {
	var prefix []int
	for {
		var sizes []int
		f(func(n int) int {
			if len(sizes) == len(prefix) {
				prefix = append(prefix, 0)
			}
			sizes = append(sizes, n)
			return prefix[len(sizes)-1]
		})
		for len(prefix) > 0 && prefix[len(prefix)-1] == sizes[len(prefix)-1]-1 {
			prefix = prefix[:len(prefix)-1]
		}
		if len(prefix) == 0 {
			return
		}
		prefix[len(prefix)-1]++
	}
}

// After random writes and syncs, damage leaves exactly the states that the drive's history allows.
func TestDamage(t *testing.T) {
	tier.NotShort(t)
	states := 0
	for seed := range uint64(25) {
		for _, level := range []disk.Level{disk.Ext4, disk.POSIX} {
			for _, kind := range []disk.Damage{disk.LostWrite, disk.Misdirected, disk.Unreadable} {
				states += compareDamage(t, seed, level, kind)
			}
		}
	}
	if states < 200 {
		t.Errorf("only %d states were compared", states)
	}
}

// history performs a history on the oracle and on the model.
func history(seed uint64, level disk.Level, oracle *drive) (*disk.Disk, [2]*disk.Inode) {
	r := rand.New(rand.NewPCG(seed, 1))
	d := disk.New(level)
	var files [2]*disk.Inode
	sync := func(f int) {
		oracle.sync(f)
		d.Sync(files[f], d.Moment())
	}
	write := func(f, at int, data []byte) {
		oracle.write(f, at, data)
		d.Write(files[f], int64(at), data)
	}
	for f := range files {
		files[f] = d.Make(d.Root(), string(rune('a'+f)), disk.File)
		write(f, 0, bytes.Repeat([]byte{byte(1 + f)}, synced))
		sync(f)
	}
	for range 8 {
		f := r.IntN(2)
		if r.IntN(3) == 0 {
			sync(f)
			continue
		}
		at := r.IntN(synced)
		write(f, at, bytes.Repeat([]byte{byte(r.IntN(5))}, 1+r.IntN(min(5000, synced-at))))
	}
	return d, files
}

func compareDamage(t *testing.T, seed uint64, level disk.Level, kind disk.Damage) int {
	t.Helper()
	got, want := map[string]bool{}, map[string]bool{}
	all(func(choose disk.Choose) {
		oracle := newDrive()
		d, files := history(seed, level, oracle)
		want = oracle.damaged(kind)
		w, is := d.Damage(kind, choose)
		if !is {
			return
		}
		if kind == disk.Unreadable {
			f := slices.IndexFunc(files[:], func(i *disk.Inode) bool { return d.Root().Entry(w.Path) == i })
			got[fmt.Sprint([2]int{f, int(w.Block)})] = true
			if n := files[f].Readable(0, synced); n != w.Block*disk.Block {
				t.Errorf("%s: %d bytes can be read", w, n)
			}
			return
		}
		state := &drive{}
		for f, i := range files {
			state.cache[f] = make([]byte, i.Size())
			i.ReadAt(state.cache[f], 0)
		}
		got[state.state(nil)] = true
	})
	if !maps.Equal(got, want) {
		t.Errorf("seed %d, %s, %s: %d states, want %d", seed, level, kind, len(got), len(want))
	}
	return len(want)
}

// Bit rot changes one bit of data that was synced, and can change each.
func TestBitRot(t *testing.T) {
	hit := map[int]int{}
	for bit := range 700 * 8 {
		d := disk.New(disk.Ext4)
		i := d.Make(d.Root(), "a", disk.File)
		d.Write(i, 0, make([]byte, 700))
		if _, is := d.Damage(disk.BitRot, func(int) int { return 0 }); is {
			t.Fatal("data was damaged that was not synced")
		}
		d.Sync(i, d.Moment())
		w, is := d.Damage(disk.BitRot, func(n int) int { return min(bit, n-1) })
		data := make([]byte, 700)
		i.ReadAt(data, 0)
		changed := -1
		for at, b := range data {
			for k := range 8 {
				if b>>k&1 == 1 {
					if changed >= 0 {
						t.Fatalf("%s changed several bits", w)
					}
					changed = at*8 + k
				}
			}
		}
		if !is || changed != w.Bit {
			t.Fatalf("%v %s changed bit %d", is, w, changed)
		}
		hit[changed]++
	}
	if len(hit) != 700*8 {
		t.Errorf("%d different bits", len(hit))
	}
}

// A block that cannot be read can again after all of it was written, or freed.
func TestUnreadable(t *testing.T) {
	make2 := func() (*disk.Disk, *disk.Inode) {
		d := disk.New(disk.Ext4)
		i := d.Make(d.Root(), "a", disk.File)
		d.Write(i, 0, bytes.Repeat([]byte{1}, 2*disk.Block))
		d.Sync(i, d.Moment())
		if w, is := d.Damage(disk.Unreadable, func(n int) int { return n - 1 }); !is || w.Block != 1 {
			t.Fatal(w, is)
		}
		return d, i
	}
	d, i := make2()
	if !i.Tears(disk.Block, 512) || i.Tears(0, disk.Block) || i.Tears(disk.Block, disk.Block) {
		t.Error("only a part of block 1 tears")
	}
	if n := i.Readable(0, 2*disk.Block); n != disk.Block || i.Readable(disk.Block+1, 5) != 0 {
		t.Errorf("%d bytes can be read", n)
	}
	d.Write(i, disk.Block, make([]byte, disk.Block))
	if n := i.Readable(0, 2*disk.Block); n != 2*disk.Block {
		t.Errorf("after a write %d bytes can be read", n)
	}
	d, i = make2()
	d.Resize(i, disk.Block)
	d.Resize(i, 2*disk.Block)
	if n := i.Readable(0, 2*disk.Block); n != 2*disk.Block {
		t.Errorf("after a truncation %d bytes can be read", n)
	}
	if w, is := d.Damage(disk.Unreadable, func(int) int { return 0 }); is {
		t.Errorf("%s: the length was not synced", w)
	}
}

// The blocks that a disk counts are those of a set kept by hand.
func TestSpace(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 2))
		d := disk.New(disk.POSIX)
		d.Counts = true
		want := map[string]map[int64]bool{}
		for range 40 {
			name := string(rune('a' + r.IntN(3)))
			i := d.Root().Entry(name)
			if i == nil {
				i, want[name] = d.Make(d.Root(), name, disk.File), map[int64]bool{}
			}
			at, n := r.Int64N(5*disk.Block), 1+r.Int64N(2*disk.Block)
			blocks, more := want[name], int64(0)
			for b := at / disk.Block; b <= (at+n-1)/disk.Block; b++ {
				if !blocks[b] {
					more += disk.Block
				}
			}
			if got := i.Needs(at, n); got != more {
				t.Fatalf("seed %d: a write needs %d bytes, want %d", seed, got, more)
			}
			switch r.IntN(4) {
			case 0:
				d.Resize(i, at)
				maps.DeleteFunc(blocks, func(b int64, _ bool) bool { return b*disk.Block >= at })
			case 1:
				d.Remove(d.Root(), name)
				delete(want, name)
			default:
				d.Write(i, at, make([]byte, n))
				for b := at / disk.Block; b <= (at+n-1)/disk.Block; b++ {
					blocks[b] = true
				}
			}
			sum := int64(0)
			for _, blocks := range want {
				sum += int64(len(blocks)) * disk.Block
			}
			if got := d.Used(); got != sum {
				t.Fatalf("seed %d: %d bytes are used, want %d", seed, got, sum)
			}
		}
	}
}
