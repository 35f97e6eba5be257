package etcdraft

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
	"github.com/lockstep-go/lockstep/trace"
)

// These tests are internal: the replicated map is the oracle of all other tests.

func newMachine() *machine {
	m := &machine{}
	m.reset(2, 2)
	m.setConf(raftspec.Conf{Voters: trace.AllNodes(3)})
	return m
}

func TestMachineSnapshot(t *testing.T) {
	m := newMachine()
	m.applied, m.term = 9, 3
	m.Apply(kv.Op{Client: 2, Seq: 4, Act: kv.Act{Key: 1, Value: -7}})
	m.setConf(raftspec.Conf{Voters: trace.NodesOf(1, 2)}) // 3 was removed
	again := newMachine()
	again.restore(m.snapshot(), 2, 2)
	if again.fingerprint() != m.fingerprint() || again.applied != 9 || again.term != 3 ||
		again.removed() != m.removed() {
		t.Errorf("%+v became %+v", m, again)
	}
	again.restore(raftlib.Snapshot{}, 2, 2)
	if again.applied != 0 || again.Read(1).Value.Number != 0 || again.conf != (raftspec.Conf{}) {
		t.Errorf("a node without a snapshot has %+v", again)
	}
}

func TestMachineAllows(t *testing.T) {
	node := trace.NodesOf
	for name, c := range map[string]struct {
		conf   raftspec.Conf
		change raftlib.ConfChange
		want   bool
	}{
		"add":               {raftspec.Conf{Voters: node(1, 2)}, raftlib.ConfChange{Add: node(4)}, true},
		"add again":         {raftspec.Conf{Voters: node(1, 2)}, raftlib.ConfChange{Add: node(3)}, false},
		"learn again":       {raftspec.Conf{Voters: node(1, 2)}, raftlib.ConfChange{Learn: node(3)}, false},
		"remove to two":     {raftspec.Conf{Voters: node(1, 2, 3)}, raftlib.ConfChange{Remove: node(2)}, true},
		"remove to one":     {raftspec.Conf{Voters: node(1, 2)}, raftlib.ConfChange{Remove: node(2)}, false},
		"remove a stranger": {raftspec.Conf{Voters: node(1, 2, 3)}, raftlib.ConfChange{Remove: node(7)}, false},
		"demote":            {raftspec.Conf{Voters: node(1, 2, 3)}, raftlib.ConfChange{Learn: node(3)}, false},
		"promote": {raftspec.Conf{Voters: node(1, 2), Learners: node(4)},
			raftlib.ConfChange{Add: node(4)}, true},
		"replace one of three": {raftspec.Conf{Voters: node(1, 2, 3)},
			raftlib.ConfChange{Add: node(4), Remove: node(2), Joint: raftlib.Explicit}, true},
		"replace one of two": {raftspec.Conf{Voters: node(1, 2)}, raftlib.ConfChange{Add: node(4), Remove: node(2),
			Joint: raftlib.Explicit}, false},
		"leave":             {raftspec.Conf{Voters: node(1, 4), Outgoing: node(1, 2)}, raftlib.ConfChange{}, true},
		"leave what is not": {raftspec.Conf{Voters: node(1, 2)}, raftlib.ConfChange{}, false},
		"change while in joint": {raftspec.Conf{Voters: node(1, 4), Outgoing: node(1, 2)},
			raftlib.ConfChange{Add: node(5)}, false},
	} {
		m := newMachine()
		m.setConf(c.conf)
		if got := m.allows(c.change); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A removed node is retired when a majority of the new voters has applied the removal, not when it has applied the
// removal itself.
func TestRetire(t *testing.T) {
	d := newDeployment(Cluster{Nodes: 4, Voters: 4}.filled())
	apply := func(id lockstep.Node) {
		m := &d.node(id).machine
		m.setConf(raftspec.Conf{Voters: trace.NodesOf(1, 2, 3, 4)})
		m.setConf(raftspec.Conf{Voters: trace.NodesOf(1, 2, 3)})
		d.retire(m)
	}
	for _, step := range []struct {
		node lockstep.Node
		want lockstep.Nodes
	}{{4, 0}, {1, 0}, {2, trace.NodesOf(4)}, {3, trace.NodesOf(4)}} {
		if apply(step.node); d.retired != step.want {
			t.Errorf("after node %d has applied the removal of 4, %s are retired, want %s", step.node, d.retired,
				step.want)
		}
	}
}
