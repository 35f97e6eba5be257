package system

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/distal/async"
	"github.com/lockstep-go/lockstep/distal/explore"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/distal/sequential"
	"github.com/lockstep-go/lockstep/trace"
)

// Counterexample makes the violation that the search of the sequential program found again, message by message, on the
// program as it is written, and returns the recording: a trace that replays like any other. p is the program without
// choices; those of the violation are put into it. An error says that no asynchronous run does what the search found.
func Counterexample(
	ctx context.Context, p Program, m *sequential.Model, v *explore.Violation) (Program, *trace.Trace, error) {
	followed, err := async.Follow(m, v.Start, v.Trace, v.Property)
	if err != nil {
		return p, nil, err
	}
	p.Choices = list(followed.Choices)
	var holds []int
	script := trace.Script{}
	for _, move := range followed.Moves {
		script = append(script, trace.Action{Step: stepOf(move), Round: move.Row + 1})
		if move.Hold {
			holds = append(holds, move.Message)
		}
	}
	p.Holds = list(holds)
	bench, err := lockstep.NewRunner(lockstep.Plan{System: p, Spec: Properties})
	if err != nil {
		return p, nil, err
	}
	t, err := bench.Record(ctx, 0, lockstep.NewPlayer(script, rounds(m, v.Trace)))
	if err = errors.Join(err, bench.Close()); err != nil {
		return p, nil, err
	}
	if t.Outcome.Finding == nil {
		return p, nil, fmt.Errorf("%s is not broken by the run as it is written", v.Property)
	}
	t.Header.Strategy = "sequential"
	return p, t, nil
}

func list(numbers []int) string {
	var parts []string
	for _, n := range numbers {
		parts = append(parts, strconv.Itoa(n))
	}
	return strings.Join(parts, ",")
}

func stepOf(m async.Move) lockstep.Step {
	switch {
	case m.Node != 0:
		return lockstep.Step{Kind: trace.Timer, Node: lockstep.Node(m.Node)}
	case m.Lost:
		return lockstep.Step{Kind: trace.Drop, Msg: trace.ID(m.Message)}
	}
	return lockstep.Step{Kind: trace.Deliver, Msg: trace.ID(m.Message)}
}

// rounds are those of the sequential program.
func rounds(m *sequential.Model, rows []sequential.Row) (list []trace.Round) {
	for _, row := range rows {
		list = append(list, trace.Round{Number: len(list) + 1, Phase: int(row.Tag.Phase), Name: m.Program.Round(row.Tag),
			Kernel: trace.AllNodes(m.Program.N)})
	}
	return list
}

// stateText is a state with a blank only between its variables.
func stateText(p *machine.Program, s *machine.State) string {
	return strings.ReplaceAll(p.FormatState(s), ", ", ",")
}
