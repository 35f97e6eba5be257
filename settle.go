package lockstep

import "github.com/lockstep-go/lockstep/trace"

// settler chooses the steps of the settling stage: cuts heal and crashed nodes return;
// then, over and over, everything in flight is delivered in the order of sending, every
// waiting request is given to a node, and every alarm fires. It draws nothing.
type settler struct {
	stage  int
	layer  ID    // deliver what was sent up to here
	alarms Nodes // still to fire in this cycle
	given  int   // requests given so far; the next goes to the next node in turn
	left   int   // requests still to be given in this cycle
	moved  bool  // the cycle took at least one step
}

const (
	settleHeal = iota
	settleRestart
	settleDeliver
	settleRequest
	settleAlarm
)

func (s *settler) reset() { *s = settler{} }

// Next chooses the next fair step, or reports false when nothing is left to do.
func (s *settler) Next(r *Run, next *Step) bool {
	all := r.all
	for {
		switch s.stage {
		case settleHeal:
			s.stage = settleRestart
			if r.anyCut() && r.info.Supports.Has(trace.Heal) {
				*next = Step{Kind: trace.Heal, From: all, To: all}
				return true
			}
		case settleRestart:
			if down := all &^ r.up; down != 0 && r.info.Supports.Has(trace.Restart) {
				*next = Step{Kind: trace.Restart, Node: down.First()}
				return true
			}
			s.begin(r)
		case settleDeliver:
			if len(r.flying) > 0 && r.flying[0] <= s.layer {
				*next = s.deliver(r)
				return true
			}
			s.stage, s.left = settleRequest, len(r.pending)
		case settleRequest:
			if s.request(r, next) {
				return true
			}
			s.stage, s.alarms = settleAlarm, r.Alarms()
		case settleAlarm:
			if s.alarms &= r.Alarms(); s.alarms != 0 {
				n := s.alarms.First()
				s.alarms, s.moved = s.alarms.Without(n), true
				*next = Step{Kind: trace.Alarm, Node: n}
				return true
			}
			if !s.moved && len(r.flying) == 0 {
				return false
			}
			s.begin(r)
		}
	}
}

func (s *settler) begin(r *Run) {
	s.stage, s.layer, s.moved = settleDeliver, ID(len(r.messages)), false
}

func (s *settler) deliver(r *Run) Step {
	s.moved = true
	id := r.flying[0]
	if r.up.Has(r.messages[id-1].To) {
		return Step{Kind: trace.Deliver, Msg: id}
	}
	return Step{Kind: trace.Drop, Msg: id} // the system cannot restart nodes
}

// request gives the oldest waiting request to the nodes that may have it in turn, so
// that a client who retries gets round to everyone.
func (s *settler) request(r *Run, next *Step) bool {
	for s.left > 0 && len(r.pending) > 0 {
		s.left--
		p := r.pending[0]
		if to := p.To & r.up; to != 0 {
			s.given++
			s.moved = true
			*next = Step{Kind: trace.Request, Request: p.ID, Node: to.Nth(s.given % to.Len())}
			return true
		}
	}
	return false
}

func (r *Run) anyCut() bool {
	for _, c := range r.cut {
		if c != 0 {
			return true
		}
	}
	return false
}
