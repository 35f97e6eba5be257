package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep"
)

// Abreast runs a campaign in several programs at once, for a system that can be deployed only once in a process.
type Abreast struct {
	// Programs is their number, and Start starts one.
	Programs int
	Start    func(context.Context) (*Program, error)
	// Warming is called when the first program begins to warm up. The function that it returns is called when it has;
	// nil: not called. The others warm up while it makes runs.
	Warming func() (done func())
	// Took is called with the sum after each merged batch. Found is called before that with each finding that is kept,
	// in run order. Each may be nil.
	Took  func(*Sum)
	Found func(lockstep.Failure, Trace)
}

// The shortest and the longest intended time of a batch, unless a single run takes longer. When the campaign's time is
// up, the batches under way are lost.
const (
	shortest = 100 * time.Millisecond
	longest  = 400 * time.Millisecond
)

// abreast is the state of a running campaign.
type abreast struct {
	Abreast
	ctx    context.Context // until the end of the campaign
	over   context.CancelFunc
	hello  Hello
	mutex  sync.Mutex
	sum    Sum
	traces []Trace
	failed error
	next   int           // the next run to request
	last   int           // later runs do not count, according to the batches so far
	waits  map[int]*Made // by their first run, until all batches before them have arrived
	// begun is closed when the first batch did not end the campaign.
	begun chan struct{}
	once  sync.Once
}

// Make makes all runs, or those up to the end of the campaign or of the context. The traces are those of the result's
// findings.
func (a Abreast) Make(ctx context.Context) (*Sum, []Trace, error) {
	running, over := context.WithCancel(ctx)
	defer over()
	first, err := a.first(running)
	if first == nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, nil, err
	}
	h := first.Hello
	c := &abreast{
		Abreast: a,
		ctx:     running,
		over:    over,
		hello:   h,
		sum:     NewSum(h),
		last:    h.Runs - 1,
		waits:   map[int]*Made{},
		begun:   make(chan struct{}),
	}
	var all sync.WaitGroup
	all.Go(func() { c.work(first) })
	for range a.Programs - 1 {
		all.Go(c.join)
	}
	all.Wait()
	r := c.sum.Result
	r.Interrupted = ctx.Err() != nil && r.Runs <= c.last
	return &c.sum, c.traces, c.failed
}

// first starts a program and lets it warm up. It attempts that as often as there are to be programs, and returns the
// reason why the first attempt failed.
func (a Abreast) first(ctx context.Context) (p *Program, failed error) {
	if a.Warming != nil {
		defer a.Warming()()
	}
	for range a.Programs {
		p, err := a.warm(ctx)
		if err == nil {
			return p, nil
		}
		failed = cmp.Or(failed, err)
	}
	return nil, failed
}

// warm starts a program and lets it warm up.
func (a Abreast) warm(ctx context.Context) (*Program, error) {
	p, err := a.Start(ctx)
	if err == nil {
		if err = p.WarmUp(); err != nil {
			p.Close()
		}
	}
	return p, err
}

// join starts a further program, and lets it work, when the first batch did not end the campaign: a campaign that finds
// something at once warms up one process. A program that does not start is left out.
func (a *abreast) join() {
	select {
	case <-a.begun:
	case <-a.ctx.Done():
		return
	}
	if p, err := a.warm(a.ctx); err == nil {
		a.work(p)
	}
}

// work lets a program make batches until there are no more. It replaces a program that breaks down.
func (a *abreast) work(p *Program) {
	defer func() { p.Close() }()
	if a.hello.Same(p.Hello) != nil { // the program's file was replaced meanwhile
		return
	}
	for size := 1; ; {
		ask, more := a.ask(size)
		if !more {
			return
		}
		began := time.Now()
		made, err := p.Make(ask)
		if err != nil {
			other := a.again(ask, err)
			if other == nil {
				return
			}
			p.Close()
			p = other
			continue
		}
		if took := time.Since(began); took < shortest {
			size *= 2
		} else if took > longest {
			size = max(1, size/2)
		}
		a.accept(made)
	}
}

// again repeats a batch in which a program broke down. Another program makes its runs one by one, because the run under
// way need not be the one that ends the process. If it is, the second process ends, too. Then the campaign ends with an
// error that names the run. Otherwise again returns the second program.
func (a *abreast) again(ask Ask, why error) *Program {
	p, err := a.Start(a.ctx)
	if err == nil {
		if err = a.hello.Same(p.Hello); err != nil {
			p.Close()
		}
	}
	if err != nil {
		a.accept(
			&Made{
				Ask: ask,
				Error: fmt.Sprintf("in runs %d to %d: %v; there is no other process to make them: %v", ask.First,
					ask.End-1, why, err),
			},
		)
		return nil
	}
	for run := ask.First; run < ask.End; run++ {
		one := Ask{First: run, End: run + 1, Found: ask.Found}
		made, err := p.Make(one)
		if err != nil {
			a.accept(
				&Made{
					Ask: one,
					Error: fmt.Sprintf("in run %d: %v; before, in runs %d to %d: %v", run, err, ask.First, ask.End-1,
						why),
				},
			)
			return nil
		}
		a.accept(made)
	}
	return p
}

// ask returns the next batch, of at most this size, if there is one. Toward the end batches get shorter, so that all
// programs end at about the same time.
func (a *abreast) ask(size int) (Ask, bool) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.ctx.Err() != nil || a.next > a.last {
		return Ask{}, false
	}
	size = max(1, min(size, (a.hello.Runs-a.next)/(2*a.Programs)))
	ask := Ask{First: a.next, End: a.next + size, Found: len(a.sum.Result.Failures)}
	a.next = ask.End
	return ask, true
}

// accept accepts the result of a batch, and adds the results up to the first gap.
func (a *abreast) accept(made *Made) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if made.Error != "" && a.ctx.Err() != nil { // the campaign ended its program
		return
	}
	if alone := (Sum{Result: made.Result}); made.Error != "" || alone.Ended(a.hello.KeepGoing) {
		a.last = min(a.last, made.First) // runs after the batch do not count
	}
	a.waits[made.First] = made
	for next := made; next != nil && next.First == a.sum.Result.Runs &&
		next.First <= a.last; next = a.waits[a.sum.Result.Runs] {
		a.add(next)
	}
}

// add adds the batch that follows.
func (a *abreast) add(made *Made) {
	delete(a.waits, made.First)
	if made.Error != "" {
		a.failed = errors.New(made.Error)
		a.over()
	}
	if made.Result == nil { // the program broke down
		return
	}
	known := len(a.sum.Result.Failures)
	a.sum.Add(made, a.hello.Keep)
	a.traces = append(a.traces, made.Traces[:len(a.sum.Result.Failures)-known]...)
	for i := known; i < len(a.sum.Result.Failures) && a.Found != nil; i++ {
		a.Found(a.sum.Result.Failures[i], a.traces[i])
	}
	if a.failed == nil {
		a.failed = a.sum.Result.EnvironmentError()
	}
	if a.failed != nil || a.sum.Ended(a.hello.KeepGoing) {
		a.last = a.sum.Result.Runs - 1
	}
	if a.sum.Result.Runs > a.last {
		a.over()
	} else {
		a.once.Do(func() { close(a.begun) })
	}
	if a.Took != nil {
		a.Took(&a.sum)
	}
}
