package spill

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// read collects a tape.
func read(t *testing.T, tape *Tape) []uint32 {
	t.Helper()
	var all, buf []uint32
	for i := range tape.Pages() {
		records, again, err := tape.Page(i, buf)
		if err != nil {
			t.Fatal(err)
		}
		buf = again
		all = append(all, records...)
	}
	return all
}

// TestTapes writes random runs to many tapes under limits from "all on disk" to "all in memory", frees and evicts some
// in between, and compares with slices.
func TestTapes(t *testing.T) {
	tier.NotShort(t)
	for _, memory := range []int64{0, 4 * DefaultPage, 10 * 4 * DefaultPage, 1 << 40} {
		t.Run(fmt.Sprint(memory), func(t *testing.T) { tapes(t, memory) })
	}
}

func tapes(t *testing.T, memory int64) {
	dir := t.TempDir()
	s := Open(Options{Memory: memory, Disk: 1 << 30, Dir: dir})
	rng := rand.New(rand.NewPCG(1, uint64(memory)))
	for generation := range 4 {
		var list []*Tape
		var want [][]uint32
		for i := range 6 {
			list = append(list, s.Tape(i+1))
			want = append(want, nil)
		}
		for range 200 {
			i := rng.IntN(len(list))
			run := make([]uint32, (i+1)*rng.IntN(3000))
			for j := range run {
				run[j] = rng.Uint32()
			}
			if err := list[i].Append(run); err != nil {
				t.Fatal(err)
			}
			want[i] = append(want[i], run...)
		}
		for i, tape := range list {
			tape.Seal()
			if i%2 == 0 {
				if err := tape.Evict(); err != nil {
					t.Fatal(err)
				}
			}
			if got := read(t, tape); !slices.Equal(got, want[i]) || tape.Len() != int64(len(got)/(i+1)) {
				t.Fatalf("generation %d, tape %d: %d words, want %d", generation, i, len(got), len(want[i]))
			}
		}
		at := int64(rng.IntN(len(want[0])))
		c := list[0].Cursor(at)
		for _, w := range want[0][at:] {
			if got, err := c.Next(); err != nil || got != w {
				t.Fatalf("the cursor reads %d, want %d (%v)", got, w, err)
			}
		}
		for _, tape := range list {
			tape.Free()
		}
		if s.used != 0 {
			t.Fatalf("%d bytes in use after everything was freed", s.used)
		}
	}
	if s.Disk() == 0 || s.Disk() > 64*4*DefaultPage*4 {
		t.Errorf("the file has %d bytes: places are not used again, or it is not used", s.Disk())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("%v is left behind", left)
	}
}

// TestNameless wants the file to have no name while it is in use, so that nothing is left when the process is killed.
func TestNameless(t *testing.T) {
	dir := t.TempDir()
	s := Open(Options{Memory: 0, Disk: 1 << 20, Dir: dir})
	defer s.Close()
	if err := s.Tape(1).Append(make([]uint32, DefaultPage)); err != nil || s.Disk() == 0 {
		t.Fatal(err, s.Disk())
	}
	left, _ := os.ReadDir(dir)
	if s.name == "" && len(left) != 0 || s.name != "" && len(left) != 1 {
		t.Errorf("%v in the directory, to be removed: %q", left, s.name)
	}
}

func TestLimits(t *testing.T) {
	full := make([]uint32, 3*DefaultPage)
	none := Open(Options{Memory: 4 * DefaultPage, Disk: 0, Dir: ""})
	defer none.Close()
	if err := none.Tape(1).Append(full); !errors.Is(err, ErrMemory) {
		t.Errorf("without a disk: %v", err)
	}
	little := Open(Options{Memory: 0, Disk: 2 * 4 * DefaultPage, Dir: t.TempDir()})
	defer little.Close()
	if err := little.Tape(1).Append(full); !errors.Is(err, ErrDisk) {
		t.Errorf("with a small disk: %v", err)
	}
	nowhere := Open(Options{Memory: 0, Disk: 1 << 30, Dir: "/nonexistent/directory"})
	defer nowhere.Close()
	if err := nowhere.Tape(1).Append(full); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a directory: %v", err)
	}
}

// fullDisk is a file on a disk with no space left.
type fullDisk struct{ *os.File }

func (fullDisk) WriteAt([]byte, int64) (int, error) { return 0, syscall.ENOSPC }

func TestFullDisk(t *testing.T) {
	s := Open(Options{Memory: 0, Disk: 1 << 30, Dir: t.TempDir()})
	create := s.create
	s.create = func() (file, string, error) {
		f, name, err := create()
		return fullDisk{f.(*os.File)}, name, err
	}
	defer s.Close()
	tape := s.Tape(1)
	if err := tape.Append(make([]uint32, DefaultPage)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v", err)
	}
	tape.Free()
	if s.used != 0 {
		t.Errorf("%d bytes in use", s.used)
	}
}
