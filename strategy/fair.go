package strategy

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// fair is a fault-free part of a run. Messages in flight, and the messages they cause, are delivered in sending order.
// Then the timer that is due first fires; ties go to the next node in turn. It draws no random number.
type fair struct {
	left   int           // steps until the end of this part
	layers int           // generations of messages delivered before the next timer
	layer  trace.ID      // the last message of this generation
	last   lockstep.Node // the node whose timer fired last
}

// timeout is how many generations of messages, each caused by the one before, are delivered before a timer fires
// although messages are in flight. Nodes that never stop sending must not stop the clock.
const timeout = 10

func (f *fair) begin(steps int) { f.left, f.layers, f.layer = steps, timeout, 0 }

// next chooses the next step. It reports false at the end of this part and when no step is possible.
func (f *fair) next(turn *lockstep.Turn, next *lockstep.Step) bool {
	if f.left == 0 {
		return false
	}
	f.left--
	flying, timers := turn.FreeMessages(), turn.Timers()
	if len(flying) > 0 && flying[0] > f.layer {
		f.layer = flying[len(flying)-1]
		f.layers--
	}
	if len(flying) > 0 && (f.layers >= 0 || timers == 0) {
		deliver(turn, flying[0], next)
		return true
	}
	f.layers, f.layer = timeout, 0
	if timers == 0 && turn.Info().Supports.Has(trace.Wait) {
		*next = turn.Wait()
		return true
	}
	if timers == 0 {
		f.left = 0
		return false
	}
	f.last = f.due(turn, timers)
	next.Kind, next.Node = trace.Timer, f.last
	return true
}

// due returns the node whose timer is due first.
func (f *fair) due(turn *lockstep.Turn, timers lockstep.Nodes) lockstep.Node {
	var best lockstep.Node
	later := func(n lockstep.Node) bool { return n <= f.last } // its turn comes after those of the other nodes
	for n := range timers.All() {
		if best == 0 || turn.TimerAt(n) < turn.TimerAt(best) ||
			turn.TimerAt(n) == turn.TimerAt(best) && later(best) && !later(n) {
			best = n
		}
	}
	return best
}
