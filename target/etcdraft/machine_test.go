package etcdraft

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
	"github.com/lockstep-go/lockstep/trace"
)

// These tests look inside: the replicated map is the oracle of everything else.

func newMachine() *machine {
	m := &machine{}
	m.reset(2, 2)
	m.setConf(raftlib.Conf{Voters: trace.AllNodes(3)})
	return m
}

func TestMachine(t *testing.T) {
	m := newMachine()
	for i, c := range []struct {
		op   Op
		want Result
		a    int32
	}{
		{Op{Client: 1, Seq: 1, Kind: Put, Value: 5}, Result{5, true}, 5},
		{Op{Client: 2, Seq: 1, Kind: Cas, Old: 4, Value: 6}, Result{5, false}, 5},
		{Op{Client: 2, Seq: 2, Kind: Cas, Old: 5, Value: 6}, Result{6, true}, 6},
		{Op{Client: 1, Seq: 1, Kind: Put, Value: 5}, Result{5, true}, 6}, // a second time
		{Op{Client: 1, Seq: 2, Kind: Get}, Result{6, true}, 6},
		{Op{Client: 1, Seq: 3, Kind: Put, Key: 1, Value: 7}, Result{7, true}, 6},
	} {
		if got := m.apply(decode(c.op.encode(nil))); got != c.want || m.values[0] != c.a {
			t.Errorf("%d %s: %+v with a=%d, want %+v with a=%d", i, &c.op, got, m.values[0], c.want, c.a)
		}
	}
}

func TestMachineSnapshot(t *testing.T) {
	m := newMachine()
	m.applied, m.term, m.prefix = 9, 3, 1234567
	m.apply(Op{Client: 2, Seq: 4, Kind: Put, Key: 1, Value: -7})
	m.setConf(raftlib.Conf{Voters: trace.NodesOf(1, 2)}) // 3 was removed
	again := newMachine()
	again.restore(m.snapshot())
	if again.fingerprint() != m.fingerprint() || again.applied != 9 || again.term != 3 || again.prefix != m.prefix || again.removed() != m.removed() {
		t.Errorf("%+v became %+v", m, again)
	}
	if again.apply(Op{Client: 2, Seq: 4, Kind: Put, Key: 1, Value: 8}); again.values[1] != -7 {
		t.Error("the snapshot lost a session: an operation took effect twice")
	}
	again.restore(raftlib.Snapshot{})
	if again.applied != 0 || again.values[1] != 0 || again.conf != (raftlib.Conf{}) {
		t.Errorf("a node without a snapshot has %+v", again)
	}
}

func TestMachineAllows(t *testing.T) {
	node := trace.NodesOf
	for name, c := range map[string]struct {
		conf   raftlib.Conf
		change raftlib.ConfChange
		want   bool
	}{
		"add":                   {raftlib.Conf{Voters: node(1, 2)}, raftlib.ConfChange{Add: node(4)}, true},
		"add again":             {raftlib.Conf{Voters: node(1, 2)}, raftlib.ConfChange{Add: node(3)}, false},
		"learn again":           {raftlib.Conf{Voters: node(1, 2)}, raftlib.ConfChange{Learn: node(3)}, false},
		"remove to two":         {raftlib.Conf{Voters: node(1, 2, 3)}, raftlib.ConfChange{Remove: node(2)}, true},
		"remove to one":         {raftlib.Conf{Voters: node(1, 2)}, raftlib.ConfChange{Remove: node(2)}, false},
		"remove a stranger":     {raftlib.Conf{Voters: node(1, 2, 3)}, raftlib.ConfChange{Remove: node(7)}, false},
		"demote":                {raftlib.Conf{Voters: node(1, 2, 3)}, raftlib.ConfChange{Learn: node(3)}, false},
		"promote":               {raftlib.Conf{Voters: node(1, 2), Learners: node(4)}, raftlib.ConfChange{Add: node(4)}, true},
		"replace one of three":  {raftlib.Conf{Voters: node(1, 2, 3)}, raftlib.ConfChange{Add: node(4), Remove: node(2), Joint: raftlib.Explicit}, true},
		"replace one of two":    {raftlib.Conf{Voters: node(1, 2)}, raftlib.ConfChange{Add: node(4), Remove: node(2), Joint: raftlib.Explicit}, false},
		"leave":                 {raftlib.Conf{Voters: node(1, 4), Outgoing: node(1, 2)}, raftlib.ConfChange{}, true},
		"leave what is not":     {raftlib.Conf{Voters: node(1, 2)}, raftlib.ConfChange{}, false},
		"change while in joint": {raftlib.Conf{Voters: node(1, 4), Outgoing: node(1, 2)}, raftlib.ConfChange{Add: node(5)}, false},
	} {
		m := newMachine()
		m.setConf(c.conf)
		if got := m.allows(c.change); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestPrefixes compares hashes of prefixes with the prefixes.
func TestPrefixes(t *testing.T) {
	entry := func(i, term uint64, data string) Entry { return Entry{Index: i, Term: term, Data: []byte(data)} }
	var a, b prefixes
	a.reset(1, 0)
	b.reset(1, 0)
	a.append([]Entry{entry(2, 1, "x"), entry(3, 1, "y"), entry(4, 2, "z")})
	b.append([]Entry{entry(2, 1, "x"), entry(3, 1, "q"), entry(4, 2, "z")})
	same := func(i uint64) bool {
		x, okX := a.upTo(i)
		y, okY := b.upTo(i)
		return okX && okY && x == y
	}
	if !same(1) || !same(2) || same(3) || same(4) {
		t.Error("the logs are the same up to 2 and nowhere after")
	}
	b.append([]Entry{entry(3, 1, "y")})
	if !same(3) || b.last() != 3 {
		t.Error("after the mismatch is replaced, the logs are the same up to 3, where the second ends")
	}
	if _, known := b.upTo(4); known {
		t.Error("what was replaced is still known")
	}
	if _, known := a.upTo(0); known {
		t.Error("what is before the base is known")
	}
	b.append([]Entry{entry(9, 1, "far")})
	if b.last() != 3 {
		t.Error("a gap was appended")
	}
}

// A removed node is retired when a majority of the new voters has applied the removal, not
// when it has done so itself.
func TestRetire(t *testing.T) {
	d := newDeployment(Cluster{Nodes: 4, Voters: 4}.complete())
	apply := func(id lockstep.Node) {
		m := &d.node(id).machine
		m.setConf(raftlib.Conf{Voters: trace.NodesOf(1, 2, 3, 4)})
		m.setConf(raftlib.Conf{Voters: trace.NodesOf(1, 2, 3)})
		d.retire(m)
	}
	for _, step := range []struct {
		node lockstep.Node
		want lockstep.Nodes
	}{{4, 0}, {1, 0}, {2, trace.NodesOf(4)}, {3, trace.NodesOf(4)}} {
		if apply(step.node); d.retired != step.want {
			t.Errorf("after node %d has applied the removal of 4, %s are retired, want %s", step.node, d.retired, step.want)
		}
	}
}

// What is compared with nothing is not judged: the first log that has an entry, a leader
// that has a snapshot of what was committed, a snapshot of what nobody has applied.
func TestJudgedOnlyWhatCouldFail(t *testing.T) {
	entry := Entry{Index: 2, Term: 1}
	logs := logMatching{seen: make([][]matched, 3)}
	for i, n := range []lockstep.Node{1, 2, 3} {
		log := prefixes{hash: []uint64{7, 8, 9}}
		if f := logs.match(n, &entry, &log); f != nil || logs.judged != i {
			t.Errorf("log matching, node %d: %v, judged %d times, want %d", n, f, logs.judged, i)
		}
	}
	leaders := leaderCompleteness{}
	for i, base := range []uint64{3, 2} {
		l := elected{node: 1, term: 2, log: prefixes{base: base, hash: []uint64{5}}}
		if f := leaders.judge(committed{term: 1, index: 2, prefix: 5}, &l); f != nil || leaders.judged != i {
			t.Errorf("leader completeness, log from %d on: %v, judged %d times, want %d", base, f, leaders.judged, i)
		}
	}
	states := stateMachineSafety{applied: make([]uint64, 4)}
	for i, n := range []lockstep.Node{1, 2, 3} {
		e := lockstep.Event{Type: EventInstall, Node: n, Value: &Installed{Index: 4, State: 6}}
		if f := states.Event(nil, &e); f != nil || states.judged != i {
			t.Errorf("state machine safety, node %d: %v, judged %d times, want %d", n, f, states.judged, i)
		}
	}
}
