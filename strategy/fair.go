package strategy

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// fair is a stretch of a run in which nothing goes wrong: what is in flight arrives in the
// order of sending, and what it causes, too; then the alarm fires that is due first, of
// several at the same time that of the next node in turn. It draws nothing.
type fair struct {
	left   int           // steps until the end of the stretch
	layers int           // generations of messages that arrive before the next alarm
	layer  trace.ID      // the last message of this generation
	last   lockstep.Node // whose alarm fired last
}

// patience is how many generations of messages, each caused by the one before, arrive
// before an alarm fires although messages are in flight: nodes that never stop talking
// must not stop the clock.
const patience = 10

func (f *fair) begin(steps int) { f.left, f.layers, f.layer = steps, patience, 0 }

// next chooses the next step; it reports false at the end of the stretch and when nothing
// can happen.
func (f *fair) next(turn *lockstep.Turn, next *lockstep.Step) bool {
	if f.left == 0 {
		return false
	}
	f.left--
	flying, alarms := turn.InFlight(), turn.Alarms()
	if len(flying) > 0 && flying[0] > f.layer {
		f.layer = flying[len(flying)-1]
		f.layers--
	}
	if len(flying) > 0 && (f.layers >= 0 || alarms == 0) {
		deliver(turn, flying[0], next)
		return true
	}
	f.layers, f.layer = patience, 0
	if alarms == 0 && turn.Info().Supports.Has(trace.Wait) {
		*next = turn.Wait()
		return true
	}
	if alarms == 0 {
		f.left = 0
		return false
	}
	f.last = f.due(turn, alarms)
	next.Kind, next.Node = trace.Alarm, f.last
	return true
}

// due is the node whose alarm is due first.
func (f *fair) due(turn *lockstep.Turn, alarms lockstep.Nodes) lockstep.Node {
	var best lockstep.Node
	later := func(n lockstep.Node) bool { return n <= f.last } // its turn comes after those of the others
	for n := range alarms.All() {
		if best == 0 || turn.AlarmAt(n) < turn.AlarmAt(best) ||
			turn.AlarmAt(n) == turn.AlarmAt(best) && later(best) && !later(n) {
			best = n
		}
	}
	return best
}
