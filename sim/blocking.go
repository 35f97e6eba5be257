package sim

import (
	"iter"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/stack"
	"github.com/lockstep-go/lockstep/trace"
)

// Indefinitely as the timeout of an Await means that there is no timeout.
const Indefinitely trace.Time = 0

// Blocking turns a program in the blocking style into the New of a [Cluster]. The program is called when the node
// starts, and again when it restarts after a crash. When the program returns, the node has halted: see [Process.Halt].
// Its deferred functions run when it returns or halts, when the node crashes and when the run ends; they must not await
// anything.
//
// The program must not recover from unknown panics: a crash and the end of a run unwind the program by a panic.
func Blocking[M any](program func(p *Process[M])) func(lockstep.Node, int) Node[M] {
	return func(lockstep.Node, int) Node[M] {
		b := &blockingNode[M]{program: program}
		return With(b, Capabilities[M]{Reset: b.close, Stop: b.close, Timer: b.timer})
	}
}

// Process connects a [Blocking] program with its node, as a [Context] does for an event-driven program. It is not an
// operating-system process.
type Process[M any] struct {
	ctx   *Context[M]
	yield func(struct{}) bool
	got   Arrival[M]
	kept  []Arrival[M] // requests and timers that only Next returns
}

// Arrival is the event for which a program waited; Kind determines the valid fields.
type Arrival[M any] struct {
	Kind    ArrivalKind
	From    lockstep.Node // sender of the message, if Kind is Message
	Message M             // the message, if Kind is Message
	Request int32         // number of the request, if Kind is Request
	Text    string        // content of the request, or name of the timer
}

// ArrivalKind is the kind of an [Arrival].
type ArrivalKind uint8

// The kinds of arrivals.
const (
	TimeOut ArrivalKind = iota // nothing arrived within the timeout
	Message                    // a message arrived
	Request                    // a client's request arrived
	Timer                      // a named timer fired
)

// Self returns the node's number.
func (p *Process[M]) Self() lockstep.Node { return p.ctx.self }

// Nodes returns the number of nodes.
func (p *Process[M]) Nodes() int { return p.ctx.Nodes() }

// Now returns the virtual time.
func (p *Process[M]) Now() trace.Time { return p.ctx.Now() }

// Send sends a message to a node.
func (p *Process[M]) Send(to lockstep.Node, m M) { p.ctx.Send(to, m) }

// Broadcast sends a message to every node, the sender included.
func (p *Process[M]) Broadcast(m M) { p.ctx.Broadcast(m) }

// Emit reports an observable event.
func (p *Process[M]) Emit(event string, value any) { p.ctx.Emit(event, value) }

// Source returns the node's own source of random numbers, see [Context.Source].
func (p *Process[M]) Source() *lockstep.Source { return p.ctx.Source() }

// SetTimer sets the timer with this name, see [Context.SetTimer]. Next returns it when it fires.
func (p *Process[M]) SetTimer(name string, after trace.Time) { p.ctx.SetTimer(name, after) }

// StopTimer stops the timer with this name.
func (p *Process[M]) StopTimer(name string) { p.ctx.StopTimer(name) }

// Await blocks until a message arrives or the timeout elapses; in the latter case it reports false. With Indefinitely
// there is no timeout. Requests and timers that arrive in the meantime wait for the next call of Next.
func (p *Process[M]) Await(timeout trace.Time) (from lockstep.Node, m M, ok bool) {
	for p.wait(timeout); p.got.Kind == Request || p.got.Kind == Timer; p.block() {
		p.kept = append(p.kept, p.got)
	}
	return p.got.From, p.got.Message, p.got.Kind == Message
}

// Next blocks until anything arrives: a message, a client's request, a named timer, or the timeout.
func (p *Process[M]) Next(timeout trace.Time) Arrival[M] {
	if len(p.kept) > 0 {
		first := p.kept[0]
		p.kept = p.kept[1:]
		return first
	}
	p.wait(timeout)
	return p.got
}

// wait sets the timeout and blocks.
func (p *Process[M]) wait(timeout trace.Time) {
	if timeout == Indefinitely {
		p.ctx.StopTimeout()
	} else {
		p.ctx.SetTimeout(timeout)
	}
	p.block()
}

// block blocks until something arrives.
func (p *Process[M]) block() {
	if !p.yield(struct{}{}) {
		panic(unwind{})
	}
}

// Halt ends the program, as if its function returned. The node is not down, but ignores messages, requests and timers.
// After a Crash step, a Restart step calls the program again.
func (p *Process[M]) Halt() { panic(unwind{}) }

func (p *Process[M]) storage() (*any, *func()) { return p.ctx.storage() }

// unwind is the panic that unwinds the stack of a program.
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
				if _, ok := p.(unwind); !ok { // the panic continues at the caller, with another stack
					panic(stack.Panic{Value: p, Stack: stack.Text(1)})
				}
			}
		}()
		b.process.yield = yield
		b.program(&b.process)
	})
	b.wake(Arrival[M]{})
}

// wake runs the program up to its next Await.
func (b *blockingNode[M]) wake(a Arrival[M]) {
	if b.halted {
		return
	}
	b.process.got = a
	if _, ok := b.resume(); !ok {
		b.halted = true
		b.process.ctx.timers.Clear()
		b.process.ctx.StopTimeout()
	}
}

// Receive wakes the program with a message.
func (b *blockingNode[M]) Receive(_ *Context[M], from lockstep.Node, m M) {
	b.wake(Arrival[M]{Kind: Message, From: from, Message: m})
}

// Timeout wakes the program because its timeout elapsed.
func (b *blockingNode[M]) Timeout(*Context[M]) { b.wake(Arrival[M]{}) }

// timer wakes the program because a named timer fired.
func (b *blockingNode[M]) timer(_ *Context[M], name string) {
	b.wake(Arrival[M]{Kind: Timer, Text: name})
}

// Request wakes the program with a client's request.
func (b *blockingNode[M]) Request(_ *Context[M], id int32, text string) {
	b.wake(Arrival[M]{Kind: Request, Request: id, Text: text})
}

// close unwinds the program.
func (b *blockingNode[M]) close() {
	if b.stop != nil {
		b.stop()
		b.stop, b.resume, b.halted = nil, nil, true
	}
}
