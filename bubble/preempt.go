package bubble

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Preemption is the fault model of the scheduler. In a bubble, goroutines change turns where they wait. With
// Preemption, a goroutine of a node may also lose its turn at a point: where a function of the system under test
// begins, before it accesses memory that goroutines may share, and before an operation on a lock, a channel or an
// atomic variable. So races between two statements show. It needs a program that was built with points
// ("lockstep go test -preempt PACKAGES"). The settling stage preempts no goroutine.
type Preemption struct {
	// Share is the share of points with a preemption: 0.01 is one of a hundred. The highest is 0.5. The points of each
	// goroutine in a step are divided into blocks of 1/(2 Share) points. A draw decides for each block whether one of its
	// points has a preemption, and which. After each 64 blocks they become twice as long, so that a loop makes few draws.
	Share float64
	// Time is how long a preempted goroutine stops. The zero value means that it continues after the goroutines that
	// can run at that moment, and so does a goroutine that holds a mutex: functions that the engine calls, like that of
	// Node.SetState, must not wait for it.
	Time Delay
}

// errPoints explains how to build a program whose goroutines can be preempted.
var errPoints = errors.New("needs a program that was built with points in the packages of the system under test: " +
	`"lockstep run" builds programs of targets so, and "lockstep go test -preempt PACKAGES" tests`)

// check reports what is wrong with the settings.
func (p *Preemption) check() error {
	switch {
	case *p == Preemption{}:
		return nil
	case !(p.Share >= 0 && p.Share <= maxShare):
		return fmt.Errorf("the share of points with a preemption is %v, allowed are 0..%v", p.Share, maxShare)
	case p.Share == 0:
		return errors.New("the time of preemptions needs a share of them (Preemption.Share, option preempt)")
	case !hasPoints:
		return fmt.Errorf("a share of preemptions (Preemption) %w", errPoints)
	}
	return p.Time.check("the time of a preemption")
}

// maxShare is the highest share of points with a preemption: each second one.
const maxShare = 0.5

// preempter preempts goroutines in a run. Its own goroutine decides at points, while the goroutine at the point waits.
type preempter struct {
	Preemption
	world  *World
	chance *Source
	draws  int // of the run
}

// preempts begins the preemptions of a run.
func (d *deployment) preempts() *preempter {
	if d.Preemption.Share == 0 {
		return nil
	}
	p := &preempter{Preemption: d.Preemption, world: d.world}
	p.chance = d.lot.chance(0, preemptStream)
	beginPreemption()
	go p.work()
	return p
}

// arm begins the preemptions of a step. The settling stage has none.
func (p *preempter) arm() {
	if p != nil && !p.world.Settling() {
		preemptible(true)
	}
}

// disarm ends the preemptions of a step.
func (p *preempter) disarm() {
	if p != nil {
		preemptible(false)
	}
}

// end ends the preemptions of a run.
func (p *preempter) end() {
	if p != nil {
		endPreemption()
	}
}

// work decides at points.
func (p *preempter) work() {
	for continues := false; ; {
		at := awaitPoint(continues)
		if at == nil {
			return
		}
		if continues = !p.decide(at); continues {
			continue
		}
		if locked, resume := preempt(); at.Long > 0 && !locked {
			time.AfterFunc(time.Duration(at.Long), resume)
		} else {
			resume()
		}
	}
}

// decide decides whether the goroutine at a point is preempted, and how many points away it decides next: at the one
// with the preemption of a block, or at the first of the next block. Every block draws the same numbers. So shrinking
// can leave out the preemption of one block, and moves no other one.
func (p *preempter) decide(at *count) (preempts bool) {
	if at.Within > 0 {
		at.Left, at.Within = at.Rest, 0
		return true
	}
	size := blockSize(p.Share, at.Blocks)
	at.Blocks++
	if p.draws >= mostDraws {
		at.Left = mostPoints
		return false
	}
	p.draws++
	place := p.chance.about(at.Name, 2*size)
	at.Long = int64(p.Time.drawn(func(n int) int { return int(p.chance.about(at.Name, int64(n))) }))
	at.Left, at.Rest = size, size-place+1
	if place > 1 && place <= size {
		at.Within, at.Left = 1, place-1
	}
	return place == 1
}

const (
	// blocksAlike is the number of blocks of a goroutine in a step after which blocks have twice as many points.
	blocksAlike = 64
	mostPoints  = 1 << 40 // of a block
	// mostDraws is the most blocks of a run: traces have a limit. Later ones have no preemption.
	mostDraws = 200_000
)

// blockSize is the number of points in a block of a goroutine in a step, by the number of blocks before it.
func blockSize(share float64, before int64) int64 {
	size := int64(min(math.Round(1/(2*share)), mostPoints))
	for range before / blocksAlike {
		size = min(2*size, mostPoints)
	}
	return size
}
