package bubble

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/watchdog"
)

// The time limits, in virtual time, for nodes to stop at the end of a run, and for leftover goroutines to end after
// that.
const (
	grace  = 10 * time.Minute
	linger = time.Minute
)

// enclose performs a run in its own bubble and watches it in real time.
func (d *deployment) enclose(run func()) (*lockstep.Finding, error) {
	ended := make(chan any, 1) // with the panic of the bubble, or nil
	d.number, d.world, d.lot, d.preempter = "", nil, &lot{}, nil
	clear(d.incarnations)
	collect(d.runs)
	d.runs++
	go func() {
		var finished bool
		defer func() {
			p := recover()
			if p == nil && !finished {
				p = "the bubble ended during the run"
			}
			ended <- p
		}()
		synctest.Test(&testing.T{}, func(*testing.T) {
			d.number = bubbleNumber()
			beginRun(d.warming, d.Process.CPUs)
			run()
			d.end()
		})
		finished = true
	}()
	look, stop := watchdog.After(d.Timeout)()
	defer stop()
	for last := d.quiets.Load(); ; {
		select {
		case p := <-ended:
			return d.left(p), nil
		case <-look:
			now := d.quiets.Load()
			if now == last && d.busy.Load() {
				d.gone.Store(true)
				d.lot.end()
				giveUp(d.number)
				loosen(1)
				number := d.number
				go func() {
					<-ended
					discard(number)
					loosen(-1)
				}()
				return nil, d.hung()
			}
			last = now
		}
	}
}

// end stops all nodes and gives their goroutines time to end.
func (d *deployment) end() {
	if d.world == nil {
		return
	}
	d.lot.end()
	d.preempter.end()
	d.busy.Store(true)
	defer d.busy.Store(false)
	for i, n := range d.incarnations {
		if n != nil {
			n.thaw()
			if d.sockets != nil {
				unplug(n.number(), false)
			}
			n.end()
			d.incarnations[i] = nil
		}
	}
	d.quiesce()
	for until := d.world.Now() + grace; d.world.isStopping() && d.world.Now() < until; d.quiesce() {
		d.wait(until - d.world.Now())
	}
	d.sleep(linger)
	d.quiesce()
	if d.sockets != nil {
		carryNoMore()
	}
	serveNoMore()
}

// left discards the goroutines that a bubble left, given the panic that ended it. It returns a finding about goroutines
// that should have ended.
func (d *deployment) left(p any) *lockstep.Finding {
	if p == nil {
		return nil
	}
	defer discard(d.number)
	if (d.frozen > 0 || d.world != nil && d.world.halted) && leftOnly(p) {
		return nil
	}
	return d.blocked(p)
}

// blocked is the finding about a bubble that ended with blocked goroutines.
func (d *deployment) blocked(p any) *lockstep.Finding {
	left := inBubble(dump(), d.number)
	if d.AllowLeft != nil && leftOnly(p) {
		left = slices.DeleteFunc(left, func(g goroutine) bool { return d.AllowLeft(strings.Join(g.frames, "\n")) })
		if len(left) == 0 {
			return nil
		}
	}
	f := &lockstep.Finding{Property: "left-behind", Stack: stacksOf(left),
		Text: fmt.Sprintf("when all nodes had been stopped, %d goroutines were left: %s", len(left), summary(left))}
	if !leftOnly(p) {
		f.Property = "deadlock"
		f.Text = fmt.Sprintf("%v: %s", p, summary(left))
	}
	return f
}

// leftOnly reports whether a bubble ended well, but for goroutines that it left.
func leftOnly(p any) bool { return strings.Contains(fmt.Sprint(p), "main bubble goroutine has exited") }

// hung reports why a run never became quiescent.
func (d *deployment) hung() error {
	all := inBubble(dump(), d.number)
	culprits := slices.DeleteFunc(all, func(g goroutine) bool { return g.durable() || g.is("synctest.Wait") })
	remedy := "a goroutine that runs indefinitely without waiting must sleep or wait for something"
	switch {
	case len(culprits) == 0:
		remedy = "it was slow; give the cluster more Timeout"
	case !slices.ContainsFunc(culprits, func(g goroutine) bool { return !g.locked() }):
		remedy = "a goroutine that waits for a mutex is not quiescent to a bubble: its holder must not wait for time or " +
			"messages meanwhile; built with \"lockstep go\", it may"
	case slices.ContainsFunc(culprits, func(g goroutine) bool { return g.outside() }):
		remedy = "a goroutine that waits for a file, a socket or a goroutine outside the bubble stops virtual time; " +
			"replace what it waits for"
	}
	return &lockstep.Inconclusive{
		Reason: fmt.Sprintf("not quiescent after %v of real time: %s; %s\n%s", d.Timeout, summary(culprits), remedy,
			stacksOf(culprits)),
	}
}

// dump is the state of all goroutines as text.
func dump() string {
	for size := 1 << 18; ; size *= 2 {
		buffer := make([]byte, size)
		if n := runtime.Stack(buffer, true); n < size {
			return string(buffer[:n])
		}
	}
}

// bubbleNumber is the number of the caller's bubble, as stack dumps write it.
func bubbleNumber() string {
	buffer := make([]byte, 128)
	header, _, _ := strings.Cut(string(buffer[:runtime.Stack(buffer, false)]), "\n")
	_, number, _ := strings.Cut(header, "synctest bubble ")
	return strings.TrimSuffix(number, "]:")
}
