package smr

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// Output is the event of a node that outputs its log; its value is a *Log.
const Output = "output"

// Prefix is the protocol's guarantee: of any two outputs, of different nodes or of one node at different times, one
// is a prefix of the other.
var Prefix = spec.OnEvent("prefix", Output, prefix)

// output is a log and its node.
type output struct {
	log Log
	by  lockstep.Node
}

// prefix compares every output with the longest so far: as long as all outputs are
// comparable, they are all prefixes of it.
func prefix(longest *output, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	log := *e.Value.(*Log)
	k := min(len(log), len(longest.log))
	if !slices.Equal(log[:k], longest.log[:k]) {
		return &lockstep.Finding{Nodes: trace.NodesOf(e.Node, longest.by),
			Text:   fmt.Sprintf("node %d outputs %s, but node %d had output %s", e.Node, log, longest.by, longest.log),
			Values: []string{log.String(), longest.log.String()}}
	}
	if len(log) > k {
		*longest = output{log, e.Node}
	}
	return nil
}
