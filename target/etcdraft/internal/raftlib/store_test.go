package raftlib_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

type store = raftlib.Store[*pb.Entry, raftlib.Hard, raftspec.Conf, raftlib.Snapshot]

func newStore() *store {
	s := &store{}
	s.Lib = raftlib.Functions[*pb.Entry, raftlib.Hard, raftspec.Conf, raftlib.Snapshot]{
		Entry: func(e *pb.Entry) raftspec.Entry {
			return raftspec.Entry{Index: e.GetIndex(), Term: e.GetTerm(), Data: e.Data}
		},
		Index:     (*pb.Entry).GetIndex,
		Term:      (*pb.Entry).GetTerm,
		Size:      func(e *pb.Entry) uint64 { return uint64(proto.Size(e)) },
		Hard:      func(h raftlib.Hard) raftlib.Hard { return h },
		Conf:      func(c raftspec.Conf) raftspec.Conf { return c },
		Snapshot:  func(s raftlib.Snapshot) raftlib.Snapshot { return s },
		Compacted: raft.ErrCompacted, Unavailable: raft.ErrUnavailable,
	}
	return s
}

// TestStoreLikeMemoryStorage applies the same operations to a Store and to the library's own MemoryStorage, and
// compares their answers.
func TestStoreLikeMemoryStorage(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		s, m := newStore(), raft.NewMemoryStorage()
		s.Boot(raftlib.Snapshot{})
		for range 30 {
			change(t, r, s, m)
			compare(t, r, s, m)
		}
	}
}

func change(t *testing.T, r *rand.Rand, s *store, m *raft.MemoryStorage) {
	first, _ := m.FirstIndex()
	last, _ := m.LastIndex()
	switch r.IntN(6) {
	case 0:
		if last >= first {
			i := first + r.Uint64N(last-first+1)
			term, _ := m.Term(i)
			s.Compact(raftlib.Snapshot{Index: i, Term: term})
			if _, err := m.CreateSnapshot(i, nil, nil); err != nil {
				t.Fatal(err)
			}
			if err := m.Compact(i); err != nil {
				t.Fatal(err)
			}
		}
	case 1:
		i := last + 1 + r.Uint64N(3)
		s.Install(raftlib.Snapshot{Index: i, Term: 9}, raftlib.Hard{Term: 9, Commit: i})
		if err := m.ApplySnapshot(&pb.Snapshot{Metadata: &pb.SnapshotMetadata{Index: &i,
			Term: new(uint64(9))}}); err != nil {
			t.Fatal(err)
		}
	default:
		from := first + r.Uint64N(last-first+2)
		if from > first && r.IntN(8) == 0 {
			from-- // perhaps within the snapshot
		}
		var list []*pb.Entry
		for i := range 1 + r.Uint64N(3) {
			list = append(list,
				&pb.Entry{Index: new(from + i), Term: new(r.Uint64N(5) + 1), Data: make([]byte, r.IntN(20))})
		}
		s.Append(list)
		if err := m.Append(list); err != nil {
			t.Fatal(err)
		}
	}
}

func compare(t *testing.T, r *rand.Rand, s *store, m *raft.MemoryStorage) {
	t.Helper()
	first, _ := m.FirstIndex()
	last, _ := m.LastIndex()
	if f, _ := s.FirstIndex(); f != first || s.First() != first {
		t.Fatalf("first index %d, want %d", f, first)
	}
	if l, _ := s.LastIndex(); l != last {
		t.Fatalf("last index %d, want %d", l, last)
	}
	for i := max(first, 3) - 3; i < last+3; i++ {
		want, wantErr := m.Term(i)
		if got, err := s.Term(i); got != want || !errors.Is(err, wantErr) {
			t.Fatalf("term of %d: %d %v, want %d %v", i, got, err, want, wantErr)
		}
	}
	if last < first {
		return
	}
	lo := first + r.Uint64N(last-first+1)
	hi := lo + 1 + r.Uint64N(last-lo+1)
	for _, size := range []uint64{0, 10, 40, math.MaxUint64} {
		want, wantErr := m.Entries(lo, hi, size)
		got, err := s.Entries(lo, hi, size)
		if fmt.Sprint(got) != fmt.Sprint(want) || !errors.Is(err, wantErr) {
			t.Fatalf("entries [%d,%d) of at most %d bytes: %v %v, want %v %v", lo, hi, size, got, err, want, wantErr)
		}
		if cap(got) != len(got) {
			t.Fatal("the library could write behind the entries that it got")
		}
	}
	if _, err := s.Entries(first-1, last+1, 0); !errors.Is(err, raft.ErrCompacted) {
		t.Fatalf("compacted entries: %v", err)
	}
}

// TestCrash keeps synced writes, and loses or keeps the others.
func TestCrash(t *testing.T) {
	for _, lose := range []int{0, 1} {
		s := newStore()
		s.Boot(raftlib.Snapshot{Index: 1, Term: 1})
		s.Append([]*pb.Entry{{Index: new(uint64(2)), Term: new(uint64(2))}})
		s.SetHard(raftlib.Hard{Term: 2, Vote: 1, Commit: 1})
		s.Direct(false)
		s.SetHard(raftlib.Hard{Term: 2, Vote: 1, Commit: 2})
		s.Crash(func(int) int { return lose })
		want := raftlib.Hard{Term: 2, Vote: 1, Commit: 1}
		if lose == 0 {
			want.Commit = 2
		}
		if h, _, _ := s.InitialState(); h != want {
			t.Errorf("lose=%d: after the crash %+v, want %+v", lose, h, want)
		}
		if s.Last() != 2 || s.Entry(2).Term != 2 {
			t.Errorf("lose=%d: the entry is lost", lose)
		}
	}
}

// TestTruncate loses the tail of the log and the state that refers to it.
func TestTruncate(t *testing.T) {
	s := newStore()
	s.Boot(raftlib.Snapshot{Index: 1, Term: 1})
	s.Append([]*pb.Entry{{Index: new(uint64(2)), Term: new(uint64(2))}, {Index: new(uint64(3)), Term: new(uint64(2))}})
	s.SetHard(raftlib.Hard{Term: 2, Commit: 3})
	s.Truncate(2)
	if last, _ := s.LastIndex(); last != 2 || s.Stored().Commit != 2 {
		t.Errorf("last %d, hard state %+v", last, s.Stored())
	}
}
