package sim

import (
	"iter"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/stack"
	"github.com/lockstep-go/lockstep/trace"
)

// Forever is the time-out of an Await that has none.
const Forever trace.Time = 0

// Blocking turns a program in the blocking style into the New of a Cluster. The program
// is called when the node starts and again when it restarts after a crash; when it
// returns, the node has halted. What it deferred is called when it returns or halts, when the
// node crashes and when the run is over; it must not await anything then.
//
// The program must not recover from panics it does not know: unwinding it is how a
// crash and the end of a run take it off the stage.
func Blocking[M any](program func(p *Process[M])) func(lockstep.Node, int) Node[M] {
	return func(lockstep.Node, int) Node[M] { return &blockingNode[M]{program: program} }
}

// Process is what a blocking program acts with.
type Process[M any] struct {
	ctx   *Context[M]
	yield func(struct{}) bool
	got   Arrival[M]
	kept  []Arrival[M] // requests and timers that only Next hears of
}

// Arrival is what a program waited for: what counts says Kind.
type Arrival[M any] struct {
	Kind    ArrivalKind
	From    lockstep.Node // Message: who sent it
	Message M             // Message
	Request int32         // Request: its number
	Text    string        // Request: what it asks for; Timer: the timer's name
}

// ArrivalKind says what arrived.
type ArrivalKind uint8

// The kinds of arrival.
const (
	TimeOut ArrivalKind = iota // nothing, for as long as the program would wait
	Message
	Request
	Timer
)

// Self is the node's number.
func (p *Process[M]) Self() lockstep.Node { return p.ctx.self }

// Nodes is the number of nodes.
func (p *Process[M]) Nodes() int { return p.ctx.Nodes() }

// Now is the virtual time.
func (p *Process[M]) Now() trace.Time { return p.ctx.Now() }

// Send sends a message to a node.
func (p *Process[M]) Send(to lockstep.Node, m M) { p.ctx.Send(to, m) }

// Broadcast sends a message to every node, the sender included.
func (p *Process[M]) Broadcast(m M) { p.ctx.Broadcast(m) }

// Emit reports something observable.
func (p *Process[M]) Emit(event string, value any) { p.ctx.Emit(event, value) }

// Chance is the node's own source of random numbers, see [Context.Chance].
func (p *Process[M]) Chance() *lockstep.Chance { return p.ctx.Chance() }

// SetTimer sets the timer of that name, see [Context.SetTimer]. Next hears of it.
func (p *Process[M]) SetTimer(name string, after trace.Time) { p.ctx.SetTimer(name, after) }

// StopTimer stops the timer of that name.
func (p *Process[M]) StopTimer(name string) { p.ctx.StopTimer(name) }

// Await blocks until a message arrives, or until the time-out elapses, which it reports
// with false. With Forever there is no time-out. Requests and timers that come meanwhile wait
// for the next call of Next.
func (p *Process[M]) Await(timeout trace.Time) (from lockstep.Node, m M, ok bool) {
	for p.wait(timeout); p.got.Kind == Request || p.got.Kind == Timer; p.block() {
		p.kept = append(p.kept, p.got)
	}
	return p.got.From, p.got.Message, p.got.Kind == Message
}

// Next blocks until anything arrives: a message, a client's request, a timer that was set by
// name, or the end of the time-out.
func (p *Process[M]) Next(timeout trace.Time) Arrival[M] {
	if len(p.kept) > 0 {
		first := p.kept[0]
		p.kept = p.kept[1:]
		return first
	}
	p.wait(timeout)
	return p.got
}

// wait sets the time-out and blocks.
func (p *Process[M]) wait(timeout trace.Time) {
	if timeout == Forever {
		p.ctx.StopAlarm()
	} else {
		p.ctx.SetAlarm(timeout)
	}
	p.block()
}

// block blocks until something arrives.
func (p *Process[M]) block() {
	if !p.yield(struct{}{}) {
		panic(unwind{})
	}
}

// Halt ends the program: the node takes part in nothing more.
func (p *Process[M]) Halt() { panic(unwind{}) }

func (p *Process[M]) storage() (*any, *func()) { return p.ctx.storage() }

// unwind is the panic that takes a program off its stack.
type unwind struct{}

// blockingNode runs a blocking program as an event-driven node.
type blockingNode[M any] struct {
	program func(*Process[M])
	process Process[M]
	resume  func() (struct{}, bool)
	stop    func()
	halted  bool
}

// Start runs the program up to its first Await.
func (b *blockingNode[M]) Start(c *Context[M]) {
	b.process.ctx, b.process.kept, b.halted = c, nil, false
	b.resume, b.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			if p := recover(); p != nil {
				if _, ok := p.(unwind); !ok { // it goes on at the caller, with another stack
					panic(stack.Panic{Value: p, Stack: stack.Text(1)})
				}
			}
		}()
		b.process.yield = yield
		b.program(&b.process)
	})
	b.wake(Arrival[M]{})
}

// wake lets the program run up to its next Await.
func (b *blockingNode[M]) wake(a Arrival[M]) {
	if b.halted {
		return
	}
	b.process.got = a
	if _, ok := b.resume(); !ok {
		b.halted = true
		b.process.ctx.timers.Clear()
		b.process.ctx.StopAlarm()
	}
}

// Receive wakes the program with a message.
func (b *blockingNode[M]) Receive(_ *Context[M], from lockstep.Node, m M) {
	b.wake(Arrival[M]{Kind: Message, From: from, Message: m})
}

// Alarm wakes the program because its time is up.
func (b *blockingNode[M]) Alarm(*Context[M]) { b.wake(Arrival[M]{}) }

// Timer wakes the program because a timer fired.
func (b *blockingNode[M]) Timer(_ *Context[M], name string) {
	b.wake(Arrival[M]{Kind: Timer, Text: name})
}

// Request wakes the program with a client's request.
func (b *blockingNode[M]) Request(_ *Context[M], id int32, text string) {
	b.wake(Arrival[M]{Kind: Request, Request: id, Text: text})
}

// Reset unwinds the program.
func (b *blockingNode[M]) Reset() { b.close() }

func (b *blockingNode[M]) close() {
	if b.stop != nil {
		b.stop()
		b.stop, b.resume, b.halted = nil, nil, true
	}
}
