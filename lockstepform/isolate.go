package lockstepform

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// isolations finds the nodes that count as isolated in a run in rounds. From some round of a phase to its end, no
// message from or to such a node is delivered. At least two messages must be lost for this reason. It returns the
// kernels of the rounds.
func isolations(t *trace.Trace, made []*moment) []lockstep.Nodes {
	kernels := make([]lockstep.Nodes, len(t.Rounds))
	for i := range kernels {
		kernels[i] = trace.AllNodes(t.Header.Nodes)
	}
	f := isolationFinder{trace: t, kernels: kernels, first: map[int]int{}}
	for i, r := range t.Rounds {
		if _, ok := f.first[r.Phase]; !ok {
			f.first[r.Phase] = i
		}
	}
	f.read(made)
	for _, r := range t.Rounds {
		if f.first[r.Phase] == r.Number-1 {
			f.phase(r.Phase)
		}
	}
	return kernels
}

type lostMessage struct {
	round    int
	from, to lockstep.Node
}

type isolationFinder struct {
	trace   *trace.Trace
	kernels []lockstep.Nodes
	first   map[int]int // by phase: its first round
	busy    map[int]map[lockstep.Node]int
	lost    map[int][]lostMessage
}

// read records, by phase, the last round in which each node sent or received a delivered message, and the lost
// messages.
func (f *isolationFinder) read(made []*moment) {
	f.busy, f.lost = map[int]map[lockstep.Node]int{}, map[int][]lostMessage{}
	sent := map[trace.ID]trace.Message{}
	for i, rec := range f.trace.Records {
		for _, m := range rec.Sent {
			sent[m.ID] = m.Message
		}
		if rec.Round == 0 {
			continue
		}
		round, phase := rec.Round-1, f.trace.Rounds[rec.Round-1].Phase
		if f.busy[phase] == nil {
			f.busy[phase] = map[lockstep.Node]int{}
		}
		m := sent[rec.Step.Msg]
		switch rec.Step.Kind {
		case trace.Deliver:
			f.busy[phase][m.From], f.busy[phase][m.To] = round+1, round+1
		case trace.Drop:
			f.lost[phase] = append(f.lost[phase], lostMessage{round, m.From, m.To})
		case trace.Timer:
			if made[i-1] != nil {
				f.busy[phase][rec.Step.Node] = max(f.busy[phase][rec.Step.Node], round+1)
			}
		}
	}
}

// phase isolates nodes in one phase; the node that explains most losses comes first.
func (f *isolationFinder) phase(phase int) {
	lost := f.lost[phase]
	for {
		var best lockstep.Node
		var rest []lostMessage
		from, most := 0, 1
		for n := lockstep.Node(1); int(n) <= f.trace.Header.Nodes; n++ {
			start, explained, left := f.explains(phase, n, lost)
			if explained > most {
				best, from, most, rest = n, start, explained, left
			}
		}
		if best == 0 {
			return
		}
		for i := from; i < len(f.kernels) && f.trace.Rounds[i].Phase == phase; i++ {
			f.kernels[i] = f.kernels[i].Without(best)
		}
		lost = rest
	}
}

// explains counts the losses that the isolation of a node explains, and returns the round in which it starts.
func (f *isolationFinder) explains(phase int, n lockstep.Node,
	lost []lostMessage) (start, explained int, rest []lostMessage) {
	start = len(f.kernels)
	free := f.busy[phase][n] // also 0 if the node does nothing in the phase
	for _, m := range lost {
		if (m.from == n || m.to == n) && m.round >= free {
			start = min(start, m.round)
			explained++
		} else {
			rest = append(rest, m)
		}
	}
	return start, explained, rest
}
