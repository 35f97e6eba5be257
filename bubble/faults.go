package bubble

import (
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Faults is the fault model of nodes besides crashes. It needs the overlay. The settling stage adds no faults.
type Faults struct {
	// MaxPause is the longest time that a Pause step lasts. The step stops the goroutines of a node, which continue
	// after it. 0 means that there are no such steps.
	MaxPause time.Duration
	// MaxJump is the largest offset of a node's wall clock, ahead or behind. Each node draws its offset at the start of
	// a run, and draws it again in a Jump step. 0 means that clocks are right and that there are no such steps.
	MaxJump time.Duration
	// MaxDrift is the largest deviation of the speed of a node's clock, faster or slower, in millionths. Each node
	// draws its drift at the start of a run.
	MaxDrift int
	// Reconfigure is the share of restarts with another configuration, see Cluster.OtherConfigurations.
	Reconfigure float64
}

// mostDrift is the largest drift that a clock may have: a tenth.
const mostDrift = 100_000

func (f *Faults) check() error {
	switch {
	case *f == Faults{}:
		return nil
	case !Overlay:
		return fmt.Errorf("a fault model with pauses or wrong clocks (Faults) %w", errOverlay)
	case !(f.Reconfigure >= 0 && f.Reconfigure <= 1):
		return fmt.Errorf("the share of restarts with another configuration is %v, allowed are 0..1", f.Reconfigure)
	case f.MaxPause < 0 || f.MaxJump < 0 || f.MaxDrift < 0 || f.MaxDrift > mostDrift:
		return fmt.Errorf(
			"the longest pause is %v, clocks are %v ahead and drift by %d, which must not be negative, and the drift at most %d",
			f.MaxPause,
			f.MaxJump,
			f.MaxDrift,
			mostDrift,
		)
	}
	return nil
}

// The events that faults report.
const (
	Paused   = "paused" // a node is paused; the value is the duration
	Thawed   = "thawed" // a paused node continues
	ClockSet = "clock"  // the clock of a node was set; the value is a [ClockError]

	Reconfigured = "reconfigured" // a node starts with another configuration; the value is its name or number
)

// ClockError is the deviation of a node's clock.
type ClockError struct {
	// Ahead is how far the wall clock is ahead. A negative value means that it is behind.
	Ahead time.Duration
	// Drift is how much faster the clock runs, in millionths. A negative value means that it runs slower.
	Drift int
}

// String returns the deviation as text.
func (c ClockError) String() string { return fmt.Sprintf("%v ahead, drift %d ppm", c.Ahead, c.Drift) }

// Pause stops the goroutines of a node for a time, after which they continue. It does nothing to a node that is down or
// paused. Messages that arrive meanwhile wait. Pause needs the overlay.
func (w *World) Pause(n lockstep.Node, long time.Duration) error {
	if !Overlay {
		return fmt.Errorf("bubble: a pause %w", errOverlay)
	}
	incarnation := w.incarnation(n)
	if incarnation == nil || incarnation.paused {
		return nil
	}
	defer asEngine()()
	incarnation.paused = true
	freeze(incarnation.number())
	w.Event(lockstep.Event{Node: n, Type: Paused, Value: long})
	time.AfterFunc(long, func() { incarnation.thaw() })
	return nil
}

// thaw ends a pause, unless the incarnation has ended meanwhile.
func (n *Node) thaw() {
	if n.paused && !n.dead.Load() {
		n.paused = false
		n.world.Event(lockstep.Event{Node: n.self, Type: Thawed})
		thaw(n.number())
	}
}

// SetClock makes the clock of a node wrong, from now on and in its next incarnations. It affects time.Now, timers and
// times of files. The monotonic clock does not jump, but drifts. SetClock needs the overlay.
func (w *World) SetClock(n lockstep.Node, c ClockError) error {
	if !Overlay {
		return fmt.Errorf("bubble: setting a clock %w", errOverlay)
	}
	if c.Drift < -mostDrift || c.Drift > mostDrift {
		return fmt.Errorf("bubble: the drift is %d millionths, allowed are -%d to %d", c.Drift, mostDrift, mostDrift)
	}
	w.clocks[n] = c
	if incarnation := w.incarnation(n); incarnation != nil {
		setClock(incarnation.number(), c)
	}
	w.Event(lockstep.Event{Node: n, Type: ClockSet, Value: c})
	return nil
}

// parts is the number of steps into which the range of a drawn time or clock deviation is divided.
const parts = 64

// within draws a number between -most and most. Lower draws give numbers closer to 0, which are milder.
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
	if f.MaxJump == 0 && f.MaxDrift == 0 {
		return nil
	}
	for i := range d.Nodes {
		c := ClockError{Ahead: time.Duration(d.within(int64(f.MaxJump))), Drift: int(d.within(int64(f.MaxDrift)))}
		if err := d.world.SetClock(lockstep.Node(i+1), c); err != nil {
			return err
		}
	}
	return nil
}

// reconfigure draws the configuration of a node that restarts. It keeps the one that it had unless another is drawn.
func (d *deployment) reconfigure(n lockstep.Node) int {
	at := &d.world.settings[n]
	if d.counts[n-1] > 1 && !d.world.Settling() && d.chance.strikes(d.Faults.Reconfigure) {
		if list := d.nextSettings(n); len(list) > 0 {
			*at = list[d.choose(len(list))]
			d.world.Event(lockstep.Event{Node: n, Type: Reconfigured, Value: d.settingName(*at)})
		}
	}
	return *at
}

// settingName is the name of a configuration, or its number if it has none.
func (d *deployment) settingName(i int) any {
	if len(d.ConfigurationNames) > 0 {
		return d.ConfigurationNames[i]
	}
	return i
}

// nextSettings lists the other configurations with which a node may restart, beginning with the next one.
func (d *deployment) nextSettings(n lockstep.Node) (list []int) {
	if d.NextConfigurations != nil {
		return d.NextConfigurations(d.world, n, d.world.settings[n])
	}
	for i := range d.OtherConfigurations {
		list = append(list, (d.world.settings[n]+1+i)%(d.OtherConfigurations+1))
	}
	return list
}

// kinds are the kinds of steps that inject these faults.
func (f *Faults) kinds() (k trace.Kinds) {
	if f.MaxPause > 0 {
		k |= trace.KindsOf(trace.Pause)
	}
	if f.MaxJump > 0 {
		k |= trace.KindsOf(trace.Jump)
	}
	return k
}

// pause performs the step that pauses a node.
func (d *deployment) pause(n lockstep.Node) error {
	return d.world.Pause(n, d.Faults.MaxPause*time.Duration(1+d.choose(parts))/parts)
}

// jump performs the step in which the clock of a node jumps.
func (d *deployment) jump(n lockstep.Node) error {
	c := d.world.clocks[n]
	c.Ahead = time.Duration(d.within(int64(d.Faults.MaxJump)))
	return d.world.SetClock(n, c)
}
