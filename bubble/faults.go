package bubble

import (
	"errors"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Faults are what nodes suffer beside crashes. They need the overlay. In the settling stage
// there are no new ones.
type Faults struct {
	// Pause is the longest time that a step of kind Pause lasts: the goroutines of a node stand
	// still, then they go on. 0: there are no such steps.
	Pause time.Duration
	// Ahead is the most by which the wall clock of a node is ahead or behind, from the start of
	// a run on; a step of kind Jump sets one to somewhere else in these limits. 0: there are no
	// such steps.
	Ahead time.Duration
	// Drift is the most by which the clock of a node runs faster or slower, in millionths.
	Drift int
}

// mostDrift is the most that a clock may be wrong in a second: a tenth.
const mostDrift = 100_000

func (f *Faults) check() error {
	switch {
	case *f == Faults{}:
		return nil
	case !Exact:
		return errors.New("pauses and clocks need a program built by \"lockstep go build\" or \"lockstep go test\"")
	case f.Pause < 0 || f.Ahead < 0 || f.Drift < 0 || f.Drift > mostDrift:
		return fmt.Errorf("the longest pause is %v, clocks are %v ahead and drift by %d, which must not be negative, and the drift at most %d", f.Pause, f.Ahead, f.Drift, mostDrift)
	}
	return nil
}

// The events that faults report.
const (
	Paused = "paused" // a node stands still; the value is for how long
	Thawed = "thawed" // it goes on
	Clock  = "clock"  // the clock of a node was set; the value is a [ClockError]
)

// ClockError says how wrong the clock of a node is.
type ClockError struct {
	Ahead time.Duration // the wall clock, behind if negative
	Drift int           // in millionths: faster, slower if negative
}

// String is the error in words.
func (c ClockError) String() string { return fmt.Sprintf("%v ahead, drift %d ppm", c.Ahead, c.Drift) }

// errExact says what pauses and clocks need.
var errExact = errors.New("bubble: needs a program built by \"lockstep go\"")

// Pause lets the goroutines of a node stand still for a time. A node that is down, or paused, is
// left alone. Messages that arrive meanwhile wait.
func (w *World) Pause(n lockstep.Node, long time.Duration) error {
	if !Exact {
		return errExact
	}
	life := w.life(n)
	if life == nil || life.paused {
		return nil
	}
	defer asEngine()()
	life.paused = true
	freeze(life.number())
	w.Event(lockstep.Event{Node: n, Type: Paused, Value: long})
	time.AfterFunc(long, func() { life.thaw() })
	return nil
}

// thaw ends a pause, unless the life has ended meanwhile.
func (n *Node) thaw() {
	if n.paused && !n.dead.Load() {
		n.paused = false
		n.world.Event(lockstep.Event{Node: n.self, Type: Thawed})
		thaw(n.number())
	}
}

// SetClock sets the clock of a node, from now on and in its next lives: time.Now, timers and
// times of files go by it. The monotonic clock does not jump, but drifts.
func (w *World) SetClock(n lockstep.Node, c ClockError) error {
	if !Exact {
		return errExact
	}
	if c.Drift < -mostDrift || c.Drift > mostDrift {
		return fmt.Errorf("bubble: the drift is %d millionths, allowed are -%d to %d", c.Drift, mostDrift, mostDrift)
	}
	w.clocks[n] = c
	if life := w.life(n); life != nil {
		setClock(life.number(), c)
	}
	w.Event(lockstep.Event{Node: n, Type: Clock, Value: c})
	return nil
}

// parts is the number of parts in which times and errors of clocks are drawn.
const parts = 64

// within draws a number between -most and most; what is close to 0 is milder.
func (d *deployment) within(most int64) int64 {
	v := most * int64(d.choose(parts+1)) / parts
	if v != 0 && d.choose(2) == 1 {
		return -v
	}
	return v
}

// wrongClocks sets the clocks at the start of a run.
func (d *deployment) wrongClocks() error {
	f := d.Faults
	if f.Ahead == 0 && f.Drift == 0 {
		return nil
	}
	for i := range d.Nodes {
		c := ClockError{Ahead: time.Duration(d.within(int64(f.Ahead))), Drift: int(d.within(int64(f.Drift)))}
		if err := d.world.SetClock(lockstep.Node(i+1), c); err != nil {
			return err
		}
	}
	return nil
}

// kinds are the steps by which nodes suffer.
func (f *Faults) kinds() (k trace.Kinds) {
	if f.Pause > 0 {
		k |= trace.KindsOf(trace.Pause)
	}
	if f.Ahead > 0 {
		k |= trace.KindsOf(trace.Jump)
	}
	return k
}

// pause takes the step in which a node begins to stand still.
func (d *deployment) pause(n lockstep.Node) error {
	return d.world.Pause(n, d.Faults.Pause*time.Duration(1+d.choose(parts))/parts)
}

// jump takes the step in which the clock of a node jumps.
func (d *deployment) jump(n lockstep.Node) error {
	c := d.world.clocks[n]
	c.Ahead = time.Duration(d.within(int64(d.Faults.Ahead)))
	return d.world.SetClock(n, c)
}
