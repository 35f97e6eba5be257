package strategy

import (
	"math/rand/v2"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/rounds"
	"github.com/lockstep-go/lockstep/trace"
)

// requests gives client requests in a run of rounds: one at the start of each phase of the protocol. The number of
// requests thus does not depend on the period of the strategy. If a round is a time interval, one request may be given
// in each round.
type requests struct {
	every  int  // rounds between two requests
	inTurn bool // true: the oldest request, to the nodes in turn; false: any request, to any node
	until  int  // rounds until the next request
	due    bool // a request is due in this round
	given  int
}

// untaggedPhase is the number of rounds of a phase if messages carry no tags.
const untaggedPhase = 4

// phaseLength returns the number of rounds of a protocol phase.
func phaseLength(info lockstep.Info) int {
	if k := len(info.Rounds); k > 0 {
		return k
	}
	return untaggedPhase
}

// betweenRequests returns the number of rounds between two requests. If a round is a time interval, there is no
// protocol phase, and each round may have a request.
func betweenRequests(info lockstep.Info) int {
	if rounds.Coarse(info) {
		return 1
	}
	return phaseLength(info)
}

// givenRequests describes how requests are given in a run that stands for all executions.
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
