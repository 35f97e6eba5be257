package bubble

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/stack"
	"github.com/lockstep-go/lockstep/trace"
)

// Node is one life of a node: what its program acts with, from a start to the next crash.
// Its methods may be called from any goroutine of the program.
type Node struct {
	self   lockstep.Node
	nodes  int
	life   int
	world  *World
	chance *Chance
	disks  map[string]kept
	model  DiskModel
	folder func() (string, error)

	dead   atomic.Bool
	ctx    context.Context
	cancel context.CancelFunc

	pool    sync.Mutex
	idle    []chan func() // to goroutines that have nothing to do, the last one first
	retired bool          // those that come to have nothing to do end

	mutex   sync.Mutex
	queue   []arrival
	wake    chan struct{}
	receive func(from lockstep.Node, body any)
	atOnce  bool // receive never waits
	request func(id int32, text string)
	asAsked bool // nor does request
	lost    func(to lockstep.Node, body any)
	state   func() string
	role    func() string
	stops   []func()
	ended   bool // stops are called
	paused  bool
	open    []*write // of disks, under way
}

// arrival is a message, a request or the news of a loss on its way to its handler.
type arrival struct {
	from lockstep.Node
	body any
	id   int32         // of a request; then body is its text
	lost lockstep.Node // whom a message of ours did not reach
}

// Self is the node's number.
func (n *Node) Self() lockstep.Node { return n.self }

// Nodes is the number of nodes.
func (n *Node) Nodes() int { return n.nodes }

// Others are the numbers of all other nodes.
func (n *Node) Others() []lockstep.Node {
	var list []lockstep.Node
	for i := range n.nodes {
		if other := lockstep.Node(i + 1); other != n.self {
			list = append(list, other)
		}
	}
	return list
}

// Life counts the lives of the node in this run, from 1.
func (n *Node) Life() int { return n.life }

// World is what the nodes of the run share.
func (n *Node) World() *World { return n.world }

// Context ends when the node crashes and at the end of the run.
func (n *Node) Context() context.Context { return n.ctx }

// Alive reports whether the node has neither crashed nor been stopped.
func (n *Node) Alive() bool { return !n.dead.Load() }

// Chance is a source of the node's life that depends on the run's seed.
func (n *Node) Chance() *Chance { return n.chance }

// Rand is the same source for code that wants one of math/rand/v2. A [Chance] reads better in
// a trace and shrinks better.
func (n *Node) Rand() *rand.Rand { return n.chance.rand() }

// Send puts a message on its way. The body must not be changed after. The tag is zero where
// messages carry none. What a node sends that has crashed is lost.
func (n *Node) Send(to lockstep.Node, kind string, tag trace.Tag, body any) {
	if n.dead.Load() {
		return
	}
	w := n.world
	w.mutex.Lock()
	w.sent = append(w.sent, sending{n.self, to, kind, tag, body})
	w.mutex.Unlock()
	w.happened()
}

// Emit reports something observable that happened at the node.
func (n *Node) Emit(event string, value any) {
	if !n.dead.Load() {
		n.world.Event(lockstep.Event{Node: n.self, Type: event, Value: value})
	}
}

// Receive names the function that gets messages. It is called by a goroutine of the node,
// for one message after the other, and may block; then those behind it wait. Messages that
// came before wait for it.
func (n *Node) Receive(f func(from lockstep.Node, body any)) { n.set(func() { n.receive = f }) }

// ReceiveAtOnce is Receive for a function that never waits, neither for a channel nor for a lock that
// somebody holds while he waits: it is called by the goroutine that takes the run's steps, and
// none of the node's is woken for each message.
func (n *Node) ReceiveAtOnce(f func(from lockstep.Node, body any)) {
	n.set(func() { n.receive, n.atOnce = f, true })
}

// WhenQuiet calls a function once, when every goroutine has come to a stop, likewise: to look what the
// node made of a message without a goroutine that waits for it. It reports whether it set
// something in motion again, beside sending.
func (n *Node) WhenQuiet(look func() (moved bool)) {
	w := n.world
	w.mutex.Lock()
	w.looks = append(w.looks, lookout{n, look})
	w.mutex.Unlock()
	w.happened()
}

// Request names the function that gets clients' requests, as Receive does; nil: none, for now.
// Those that it was not given when the node crashes are offered again: a program that takes none
// before it can serve them need not care about them.
func (n *Node) Request(f func(id int32, text string)) { n.set(func() { n.request = f }) }

// RequestAtOnce is Request for a function that never waits, as in ReceiveAtOnce: one that starts a
// goroutine for the request, for example.
func (n *Node) RequestAtOnce(f func(id int32, text string)) {
	n.set(func() { n.request, n.asAsked = f, true })
}

// Lost names the function that is told of a message of this node that was dropped, or sent on a
// link that is cut: what the sender of a connection learns when it breaks. Without it, messages
// are lost in silence.
func (n *Node) Lost(f func(to lockstep.Node, body any)) { n.set(func() { n.lost = f }) }

// State names the function that puts the node's state into a few words. Like the next one it
// is called when the node is quiet, and must not wait, nor for a lock: a goroutine may sleep with it.
func (n *Node) State(f func() string) { n.set(func() { n.state = f }) }

// Role names the function that tells the part that the node plays.
func (n *Node) Role(f func() string) { n.set(func() { n.role = f }) }

// OnStop names a function that ends goroutines of the node, when it crashes and at the end
// of the run. The last one named is called first. It may block until they have ended. Named
// by a program that is still starting when its life ends, it is called at once.
func (n *Node) OnStop(f func()) {
	n.mutex.Lock()
	late := n.ended
	if !late {
		n.stops = append(n.stops, f)
	}
	n.mutex.Unlock()
	if late {
		n.stop([]func(){f})
	}
}

func (n *Node) set(change func()) {
	n.mutex.Lock()
	change()
	n.mutex.Unlock()
	n.rouse()
}

// Folder is a folder of the node that is empty at the beginning of a run and survives
// crashes. Where the cluster has no [Files], they are the operating system's: what goroutines
// of a life that has ended still write is seen, and nothing is lost in a crash. A [Disk] is
// stricter.
func (n *Node) Folder() (string, error) { return n.folder() }

// Go runs f in a goroutine of the node. A panic in it is a finding. Goroutines that have
// nothing to do are used again: their stacks have grown already.
func (n *Node) Go(f func()) {
	n.pool.Lock()
	last := len(n.idle) - 1
	if last < 0 {
		n.pool.Unlock()
		go n.work(f)
		return
	}
	next := n.idle[last]
	n.idle = n.idle[:last]
	n.pool.Unlock()
	next <- f
}

// work runs f, and what else there is to do until the node's life ends.
func (n *Node) work(f func()) {
	defer n.guard()
	onNode(n.number())
	next := make(chan func(), 1)
	for f != nil {
		f()
		n.pool.Lock()
		if n.retired {
			n.pool.Unlock()
			return
		}
		n.idle = append(n.idle, next)
		n.pool.Unlock()
		f = <-next
	}
}

// retire lets goroutines that have nothing to do end.
func (n *Node) retire() {
	n.pool.Lock()
	idle := n.idle
	n.idle, n.retired = nil, true
	n.pool.Unlock()
	for _, next := range idle {
		close(next)
	}
}

// guard catches a panic. What happens after the end of the node's life does not count.
func (n *Node) guard() {
	switch p := recover(); {
	case p == exiting{}:
		freeze(n.number()) // not before: the engine's goroutine was one of the node's
	case p != nil && !n.dead.Load():
		n.world.fail(failure{n.self, "panic", p, stack.Text(2)})
	}
}

// run starts the program and gives it what arrives.
func (n *Node) run(start func(*Node) error) {
	n.Go(func() {
		if err := start(n); err != nil && !n.dead.Load() {
			n.world.fail(failure{n.self, "start", fmt.Sprintf("node %d could not start: %v", n.self, err), ""})
		}
	})
	n.Go(n.dispatch)
}

// give hands over what arrives, at once where it may, and otherwise by the queue.
func (n *Node) give(a arrival) {
	n.mutex.Lock()
	if atOnce := n.atOnce && a.id == 0 || n.asAsked && a.id != 0; atOnce && a.lost == 0 && len(n.queue) == 0 && !n.paused {
		n.mutex.Unlock()
		n.giveAtOnce(a)
		return
	}
	n.queue = append(n.queue, a)
	n.mutex.Unlock()
	n.rouse()
}

// asEngine makes the calling goroutine one of no node, until the function returned is called.
func asEngine() func() { return asNode(0) }

// giveAtOnce calls the handler as if by a goroutine of the node.
func (n *Node) giveAtOnce(a arrival) {
	defer n.guard()
	defer n.lend()()
	if a.id != 0 {
		n.request(a.id, a.body.(string))
		return
	}
	n.receive(a.from, a.body)
}

// lend makes the engine's goroutine one of the node, until the function returned is called.
func (n *Node) lend() func() {
	undo := asNode(n.number())
	n.world.lent = true
	return func() {
		n.world.lent = false
		undo()
	}
}

// lookout is what WhenQuiet was given.
type lookout struct {
	node *Node
	look func() bool
}

// take looks, as if by a goroutine of the node.
func (l lookout) take() (moved bool) {
	defer l.node.guard()
	defer l.node.lend()()
	return l.look()
}

func (n *Node) rouse() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// dispatch calls the handlers until the node's life ends.
func (n *Node) dispatch() {
	for {
		select {
		case <-n.wake:
			for !n.dead.Load() && n.handle() {
			}
		case <-n.ctx.Done():
			return
		}
	}
}

// handle gives the first arrival that has a handler to it, and reports whether there was one.
func (n *Node) handle() bool {
	n.mutex.Lock()
	receive, request, lost := n.receive, n.request, n.lost
	at := slices.IndexFunc(n.queue, func(a arrival) bool {
		return a.lost != 0 || a.id != 0 && request != nil || a.id == 0 && receive != nil
	})
	if at < 0 {
		n.mutex.Unlock()
		return false
	}
	a := n.queue[at]
	n.queue = slices.Delete(n.queue, at, at+1)
	n.mutex.Unlock()
	switch {
	case a.lost != 0:
		lost(a.lost, a.body)
	case a.id != 0:
		request(a.id, a.body.(string))
	default:
		receive(a.from, a.body)
	}
	return true
}

// end ends the node's life: it is cut off, and its goroutines are asked to end.
func (n *Node) end() {
	n.dead.Store(true)
	n.cancel()
	n.retire()
	n.mutex.Lock()
	n.ended = true
	n.mutex.Unlock()
	if len(n.stops) > 0 {
		n.stop(n.stops)
	}
}

// stop calls functions that end goroutines.
func (n *Node) stop(stops []func()) {
	n.world.stopped(1)
	n.Go(func() {
		defer n.world.stopped(-1)
		for _, stop := range slices.Backward(stops) {
			stop()
		}
	})
}

// number tells the goroutines of this life from others: the node, and 64 for each life.
func (n *Node) number() int32 { return int32(n.self) + 64*int32(n.life) }

// folderOf makes the folder of a node in that of its deployment.
func folderOf(place *lockstep.Place, n lockstep.Node) (string, error) {
	root, err := place.Folder()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, fmt.Sprintf("node%d", n))
	return dir, os.MkdirAll(dir, 0o700)
}
