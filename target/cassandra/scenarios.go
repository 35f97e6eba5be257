package cassandra

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/target"
)

// Isolation is the isolation of a server in a phase, from a round until the phase ends, as drawn in the paper.
type Isolation struct {
	// Phase counts ballots, from 1, and Round from 0.
	Phase, Round int32
	Node         lockstep.Node
}

// Published is the schedule with which the paper's tool causes the defect. The first transaction is committed at
// servers 1 and 2, while 3 has only accepted it. The second is accepted by 1 and 2 and committed at 2. The third is
// prepared at 3 alone, and then again at 2 and 3.
var Published = []Isolation{
	{1, committed, 3},
	{2, proposed, 3},
	{2, committed, 1},
	{3, prepared, 1},
	{3, prepared, 2},
	{4, prepared, 1},
}

// The steps of a run as long as the paper's, in which the strategy isolates no server.
const whole = "uniform:period=6,isolations=0,rounds=24"

// Scenarios are the published schedule on the servers of the paper, and on unmodified ones.
var Scenarios = []target.Scenario{
	{
		Name: "CASSANDRA-6023",
		Help: "the schedule of the paper's tool on 2.0.0 with the change of CASSANDRA-5985: a transaction takes " +
			"effect twice",
		Set:      []string{"change5985=true"},
		Strategy: whole,
		Build:    func() lockstep.Scenario { return Schedule("CASSANDRA-6023", Published...) },
	},
	{Name: "unchanged", Help: "the same schedule on unmodified servers, which have no defect", Strategy: whole,
		Build: func() lockstep.Scenario { return Schedule("unchanged", Published...) }},
}

// Schedule returns a scenario with fixed isolations. The strategy decides everything else.
func Schedule(name string, isolations ...Isolation) *scenario.Scenario {
	sc := scenario.New(name)
	for _, i := range isolations {
		words := fmt.Sprintf("server %d is isolated from %s of ballot %d on", i.Node, Rounds[i.Round], i.Phase)
		sc.If(scenario.IsSend(), scenario.Cond(words, func(m *scenario.Moment) bool {
			t := m.Message.Tag
			return t.Phase == i.Phase && t.Round >= i.Round && (m.Message.From == i.Node || m.Message.To == i.Node)
		})).Named(words).Then(scenario.Drop())
	}
	return sc
}
