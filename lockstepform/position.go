package lockstepform

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// position tracks the rounds of the nodes of a run. A node is in the round of the latest message that it sent in a step
// that changed its state. A step that does not change the state, such as a leader's call for a new phase, moves no
// node. If messages carry no tags, a round is a causal layer. A message is one layer after the layer of its sender at
// the time of sending.
type position struct {
	tagged bool
	tags   []trace.Tag // by node
	layers []int       // by node: the layer of the latest step that changed its state
	sent   []int       // by message: its layer
}

func newPosition(info lockstep.Info) position {
	return position{
		tagged: len(info.Rounds) > 0,
		tags:   make([]trace.Tag, info.Nodes+1),
		layers: make([]int, info.Nodes+1),
	}
}

func (p *position) reset() {
	clear(p.tags)
	clear(p.layers)
	p.sent = p.sent[:0]
}

// step processes the last step of a run. It reports whether the step delivered a late message, and the round of the
// receiver as a tag. In an untagged system, its Phase is the layer.
func (p *position) step(run *lockstep.Run, n lockstep.Node, changed bool) (late bool, at trace.Tag) {
	deliver := run.Last().Kind == trace.Deliver
	if p.tagged {
		at = p.tags[n]
		late = deliver && run.Message(run.Last().Msg).Tag.Less(at)
		if !changed {
			return late, at
		}
		for _, m := range run.Sent() {
			if p.tags[n].Less(m.Tag) {
				p.tags[n] = m.Tag
			}
		}
		return late, at
	}
	layer := p.layers[n]
	at.Phase = int32(layer)
	if deliver {
		layer = p.sent[run.Last().Msg-1]
		late = layer < p.layers[n]
	}
	if changed {
		p.layers[n] = max(p.layers[n], layer)
	}
	for range run.Sent() {
		sent := p.layers[n] + 1
		if run.Last().Kind == trace.Duplicate {
			sent = p.sent[run.Last().Msg-1]
		}
		p.sent = append(p.sent, sent)
	}
	return late, at
}
