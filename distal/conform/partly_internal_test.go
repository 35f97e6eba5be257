package conform

import (
	"errors"
	"testing"

	"github.com/lockstep-go/lockstep/kit/raftspec"
)

// TestPartly checks when a restart is in doubt: if it finds an entry of the step in which the node crashed, or one that
// no event has shown.
func TestPartly(t *testing.T) {
	r := &raft{set: true}
	entry := func(index, term uint64) raftspec.Entry { return raftspec.Entry{Index: index, Term: term} }
	node := func(last int, added ...int) *raftNode {
		n := &raftNode{last: last, added: added}
		for i := range added {
			e := entry(uint64(i+1), 1)
			n.log = append(n.log, r.entry(&e))
		}
		return n
	}
	for _, c := range []struct {
		what  string
		node  *raftNode
		found []raftspec.Entry
		doubt bool
	}{
		{"durable entries", node(9, 4, 7), []raftspec.Entry{entry(1, 1), entry(2, 1)}, false},
		{"the log is shorter", node(9, 4, 9), []raftspec.Entry{entry(1, 1)}, false},
		{"an entry of the last step", node(9, 4, 9), []raftspec.Entry{entry(1, 1), entry(2, 1)}, true},
		{"an entry that was not shown", node(9, 4), []raftspec.Entry{entry(1, 1), entry(2, 5)}, true},
		{"an entry in the place of another", node(9, 4), []raftspec.Entry{entry(1, 2)}, true},
	} {
		err := r.partly(c.node, c.found)
		if doubt := (Doubt{}); errors.As(err, &doubt) != c.doubt {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}
