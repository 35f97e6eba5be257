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

// Prefix is the protocol's promise: of any two outputs, of different nodes or of one
// node at different times, one is a prefix of the other.
var Prefix = spec.New("prefix", func(lockstep.Info) *prefix { return &prefix{} })

// prefix compares every output with the longest so far: as long as all outputs are
// comparable, they are all prefixes of it.
type prefix struct {
	longest Log
	by      lockstep.Node
	judged  int
}

// Reset begins a new run.
func (p *prefix) Reset() { *p = prefix{} }

// Event judges an output.
func (p *prefix) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if e.Type != Output {
		return nil
	}
	p.judged++
	log := *e.Value.(*Log)
	k := min(len(log), len(p.longest))
	if !slices.Equal(log[:k], p.longest[:k]) {
		return &lockstep.Finding{Nodes: trace.NodesOf(e.Node, p.by),
			Text:   fmt.Sprintf("node %d outputs %s, but node %d had output %s", e.Node, log, p.by, p.longest),
			Values: []string{log.String(), p.longest.String()}}
	}
	if len(log) > k {
		p.longest, p.by = log, e.Node
	}
	return nil
}

// Judged counts the outputs.
func (p *prefix) Judged() int { return p.judged }
