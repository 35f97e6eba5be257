package system

import (
	"context"
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

// Counterexample makes the violation that the search of the sequential program found again, message by message, on the program
// as it is written, and returns the recording: a trace that replays like any other. p is the program without choices; those
// of the violation are put into it. An error says that no asynchronous run does what the search found.
func Counterexample(p Program, m *sequential.Model, v *explore.Violation) (Program, *trace.Trace, error) {
	followed, err := async.Follow(m, v.Start, v.Trace, v.Property)
	if err != nil {
		return p, nil, err
	}
	p.Choices, p.Holds = list(followed.Choices), ""
	var holds []int
	script := script{}
	for _, move := range followed.Moves {
		script = append(script, stepOf(move))
		if move.Hold {
			holds = append(holds, move.Message)
		}
	}
	p.Holds = list(holds)
	plan := lockstep.Plan{System: p, Strategy: script, Spec: Properties, Runs: 1, Workers: 1, Steps: len(script) + 1}
	result, err := lockstep.Explore(context.Background(), plan)
	if err != nil {
		return p, nil, err
	}
	found := result.First()
	if found == nil {
		return p, nil, fmt.Errorf("%s is not broken by the run as it is written", v.Property)
	}
	rounds(found.Trace, m, v.Trace, followed.Moves)
	return p, found.Trace, nil
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
		return lockstep.Step{Kind: trace.Alarm, Node: lockstep.Node(m.Node)}
	case m.Lost:
		return lockstep.Step{Kind: trace.Drop, Msg: lockstep.ID(m.Message)}
	}
	return lockstep.Step{Kind: trace.Deliver, Msg: lockstep.ID(m.Message)}
}

// rounds divides a recording into the rounds of the sequential program: a step is in the round in which it happens there. The first record is
// the start.
func rounds(t *trace.Trace, m *sequential.Model, rows []sequential.Row, moves []async.Move) {
	t.Rounds = nil
	for _, row := range rows {
		t.Rounds = append(t.Rounds, trace.Round{Number: len(t.Rounds) + 1, Phase: int(row.Tag.Phase), Name: m.Program.Round(row.Tag),
			Kernel: trace.AllNodes(m.Program.N)})
	}
	for i := range t.Records {
		t.Records[i].Round = 0
		if i > 0 && i <= len(moves) {
			t.Records[i].Round = moves[i-1].Row + 1
		}
	}
}

// script is a strategy that takes given steps.
type script []lockstep.Step

func (s script) String() string                             { return "sequential" }
func (s script) Check(lockstep.Info) error                  { return nil }
func (s script) Guarantee(lockstep.Info) lockstep.Guarantee { return lockstep.Guarantee{} }
func (s script) New(lockstep.Info) lockstep.Scheduler       { return &player{script: s} }

type player struct {
	script script
	at     int
}

func (p *player) Reset(lockstep.Start) { p.at = 0 }

func (p *player) Next(_ *lockstep.Run, next *lockstep.Step) bool {
	if p.at == len(p.script) {
		return false
	}
	*next = p.script[p.at]
	p.at++
	return true
}

// stateText is a state with a blank only between its variables.
func stateText(p *machine.Program, s *machine.State) string {
	return strings.ReplaceAll(p.FormatState(s), ", ", ",")
}
