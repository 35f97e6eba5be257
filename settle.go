package lockstep

import "github.com/lockstep-go/lockstep/trace"

// settler chooses the steps of the settling stage. First cuts heal and crashed nodes return. Then each cycle delivers
// everything in flight in the order of sending, gives every waiting request to a node, and fires every timer. It lets
// time pass if the system moves on its own. It draws nothing.
type settler struct {
	script *Player // its steps come first; may be nil
	stage  int
	layer  trace.ID // deliver the messages sent up to this one
	timers Nodes    // still to fire in this cycle
	given  int      // requests given so far; the next goes to the next node in turn
	left   int      // requests still to be given in this cycle
	moved  bool     // the cycle took at least one step
	back   Nodes    // were restarted; one that stops at once, with a damaged disk perhaps, stays down
}

const (
	settleHeal = iota
	settleRestart
	settleDeliver
	settleRequest
	settleTimer
	settleWait
)

func (s *settler) reset() { *s = settler{} }

// Next chooses the next fair step, or reports false if there is none.
func (s *settler) Next(turn *Turn, next *Step) bool {
	if s.script != nil && s.script.Next(turn, next) {
		return true
	}
	for {
		switch s.stage {
		case settleHeal:
			s.stage = settleRestart
			if turn.anyCut() && turn.info.Supports.Has(trace.Heal) {
				*next = Step{Kind: trace.Heal, From: turn.all, To: turn.all}
				return true
			}
		case settleRestart:
			if down := turn.all &^ (turn.up | s.back); down != 0 && turn.info.Supports.Has(trace.Restart) {
				s.back = s.back.With(down.First())
				*next = Step{Kind: trace.Restart, Node: down.First()}
				return true
			}
			s.begin(turn)
		case settleDeliver:
			if s.deliver(turn, next) {
				return true
			}
			if s.stage, s.left = settleRequest, len(turn.pending); !turn.info.Supports.Has(trace.Request) {
				s.left = 0
			}
		case settleRequest:
			if s.request(turn, next) {
				return true
			}
			s.stage, s.timers = settleTimer, turn.Timers()
		case settleTimer:
			if s.timers &= turn.Timers(); s.timers != 0 {
				n := s.timers.First()
				s.timers, s.moved = s.timers.Without(n), true
				*next = Step{Kind: trace.Timer, Node: n}
				return true
			}
			s.stage = settleWait
		case settleWait:
			moved := s.moved
			s.begin(turn)
			if turn.info.Supports.Has(trace.Wait) {
				*next = turn.Wait()
				return true
			}
			if !moved && len(turn.FreeMessages()) == 0 {
				return false
			}
		}
	}
}

func (s *settler) begin(turn *Turn) {
	s.stage, s.layer, s.moved = settleDeliver, trace.ID(len(turn.messages)), false
}

// deliver takes the oldest message of the layer. If nodes cannot restart, a message to a crashed node is lost.
func (s *settler) deliver(turn *Turn, next *Step) bool {
	flying := turn.FreeMessages()
	if len(flying) == 0 || flying[0] > s.layer {
		return false
	}
	id := flying[0]
	*next = Step{Kind: trace.Deliver, Msg: id}
	if !turn.up.Has(turn.messages[id-1].To) {
		next.Kind = trace.Drop
	}
	s.moved = true
	return turn.info.Supports.Has(next.Kind)
}

// request gives the oldest waiting request to each eligible node in turn, so that a retrying client reaches every
// node.
func (s *settler) request(turn *Turn, next *Step) bool {
	for s.left > 0 && len(turn.pending) > 0 {
		s.left--
		p := turn.pending[0]
		if to := p.To & turn.up; to != 0 {
			s.given++
			s.moved = true
			*next = Step{Kind: trace.Request, Request: p.ID, Node: to.Nth(s.given % to.Len())}
			return true
		}
	}
	return false
}
