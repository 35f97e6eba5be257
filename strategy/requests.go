package strategy

import (
	"math/rand/v2"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/rounds"
	"github.com/lockstep-go/lockstep/trace"
)

// requests gives clients' requests in a run of rounds: one at the start of each phase of the
// protocol, so that there are as many whatever the period of the strategy, or in each round that
// is a stretch of time.
type requests struct {
	every  int  // rounds from one to the next
	inTurn bool // the oldest, to the nodes in turn; else any, to any node
	until  int  // rounds until the next
	due    bool // in this round
	given  int
}

// untaggedPhase is the number of rounds that count as a phase where messages carry no tags.
const untaggedPhase = 4

// phaseLength is the number of rounds of a phase of the protocol.
func phaseLength(info lockstep.Info) int {
	if k := len(info.Rounds); k > 0 {
		return k
	}
	return untaggedPhase
}

// betweenRequests is the number of rounds from one request to the next. Where a round is a
// stretch of time there is no phase of a protocol to go by, and one may be given in each.
func betweenRequests(info lockstep.Info) int {
	if rounds.Coarse(info) {
		return 1
	}
	return phaseLength(info)
}

// givenRequests says how requests are given in a run that is one of all executions.
func givenRequests(info lockstep.Info) string {
	if !info.Supports.Has(trace.Request) {
		return ""
	}
	return "the given workload, with requests in their order to the nodes in turn"
}

func (r *requests) reset() { r.due, r.until, r.given = false, 0, 0 }

// open begins the next round.
func (r *requests) open() {
	r.until--
	if r.due = r.until < 0; r.due {
		r.until = r.every - 1
	}
}

// give gives the request that is due.
func (r *requests) give(source *rand.Rand, turn *lockstep.Turn, next *lockstep.Step) bool {
	if !r.due || givable(turn) == 0 {
		return false
	}
	r.due = false
	if !r.inTurn {
		giveAny(source, turn, next)
		return true
	}
	for _, p := range turn.Pending() {
		if to := p.To & turn.Up(); to != 0 {
			next.Kind, next.Request, next.Node = trace.Request, p.ID, to.Nth(r.given%to.Len())
			break
		}
	}
	r.given++
	return true
}
