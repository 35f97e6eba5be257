package smr

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Output is the event of a node that outputs its log; its value is a *Log.
const Output = "output"

// Prefix is the protocol's promise: of any two outputs, of different nodes or of one
// node at different times, one is a prefix of the other.
var Prefix lockstep.Spec = prefix{}

type prefix struct{}

// Properties implements [lockstep.Spec].
func (prefix) Properties() []string { return []string{"prefix"} }

// New implements [lockstep.Spec].
func (prefix) New(lockstep.Info) lockstep.Monitor { return &prefixMonitor{} }

// prefixMonitor compares every output with the longest so far: as long as all outputs
// are comparable, they are all prefixes of it.
type prefixMonitor struct {
	longest Log
	by      lockstep.Node
	judged  [1]int
}

// Reset implements [lockstep.Monitor].
func (m *prefixMonitor) Reset() { *m = prefixMonitor{} }

// Step implements [lockstep.Monitor].
func (m *prefixMonitor) Step(run *lockstep.Run) *lockstep.Finding {
	for _, e := range run.Events() {
		if e.Type != Output {
			continue
		}
		m.judged[0]++
		log := *e.Value.(*Log)
		k := min(len(log), len(m.longest))
		if !slices.Equal(log[:k], m.longest[:k]) {
			return &lockstep.Finding{Property: "prefix", Nodes: trace.NodesOf(e.Node, m.by),
				Text:   fmt.Sprintf("node %d outputs %s, but node %d had output %s", e.Node, log, m.by, m.longest),
				Values: []string{log.String(), m.longest.String()}}
		}
		if len(log) > k {
			m.longest, m.by = log, e.Node
		}
	}
	return nil
}

// End implements [lockstep.Monitor].
func (m *prefixMonitor) End(*lockstep.Run) *lockstep.Finding { return nil }

// Judged implements [lockstep.Judge].
func (m *prefixMonitor) Judged() []int { return m.judged[:] }
