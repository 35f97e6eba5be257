package sim

import (
	"iter"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/stack"
)

// Forever is the time-out of an Await that has none.
const Forever lockstep.Time = 0

// Blocking turns a program in the blocking style into the New of a Cluster. The program
// is called when the node starts and again when it restarts after a crash; when it
// returns, the node has halted.
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
	got   arrival[M]
}

// arrival is what ends an Await.
type arrival[M any] struct {
	from    lockstep.Node
	message M
	ok      bool // a message, not a time-out
}

// Self is the node's number.
func (p *Process[M]) Self() lockstep.Node { return p.ctx.self }

// Nodes is the number of nodes.
func (p *Process[M]) Nodes() int { return p.ctx.Nodes() }

// Now is the virtual time.
func (p *Process[M]) Now() lockstep.Time { return p.ctx.Now() }

// Send sends a message to a node.
func (p *Process[M]) Send(to lockstep.Node, m M) { p.ctx.Send(to, m) }

// Broadcast sends a message to every node, the sender included.
func (p *Process[M]) Broadcast(m M) { p.ctx.Broadcast(m) }

// Emit reports something observable.
func (p *Process[M]) Emit(event string, value any) { p.ctx.Emit(event, value) }

// Await blocks until a message arrives, or until the time-out elapses, which it reports
// with false. With Forever there is no time-out.
func (p *Process[M]) Await(timeout lockstep.Time) (from lockstep.Node, m M, ok bool) {
	if timeout == Forever {
		p.ctx.StopAlarm()
	} else {
		p.ctx.SetAlarm(timeout)
	}
	if !p.yield(struct{}{}) {
		panic(unwind{})
	}
	return p.got.from, p.got.message, p.got.ok
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
	b.process.ctx, b.halted = c, false
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
	b.wake(arrival[M]{})
}

// wake lets the program run up to its next Await.
func (b *blockingNode[M]) wake(a arrival[M]) {
	if b.halted {
		return
	}
	b.process.got = a
	if _, ok := b.resume(); !ok {
		b.halted = true
		b.process.ctx.StopAlarm()
	}
}

// Receive wakes the program with a message.
func (b *blockingNode[M]) Receive(_ *Context[M], from lockstep.Node, m M) {
	b.wake(arrival[M]{from: from, message: m, ok: true})
}

// Alarm wakes the program because its time is up.
func (b *blockingNode[M]) Alarm(*Context[M]) { b.wake(arrival[M]{}) }

// Request does nothing: blocking programs hear only messages and time-outs.
func (b *blockingNode[M]) Request(*Context[M], int32, string) {}

// Reset unwinds the program.
func (b *blockingNode[M]) Reset() { b.close() }

func (b *blockingNode[M]) close() {
	if b.stop != nil {
		b.stop()
		b.stop, b.resume, b.halted = nil, nil, true
	}
}
