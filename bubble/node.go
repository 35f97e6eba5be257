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

// Node is one incarnation of a node: the interface of its program to the engine, from a start to the next crash. Its
// methods may be called from any goroutine of the program.
type Node struct {
	self        lockstep.Node
	nodes       int
	incarnation int
	setting     int
	world       *World
	chance      *Source
	disks       map[string]kept
	model       DiskModel
	dir         func() (string, error)

	dead   atomic.Bool
	ctx    context.Context
	cancel context.CancelFunc

	pool    sync.Mutex
	idle    []chan func() // channels to idle goroutines; the most recently used is last
	retired bool          // goroutines that become idle end

	mutex   sync.Mutex
	queue   []arrival
	wake    chan struct{}
	receive func(from lockstep.Node, body any)
	atOnce  bool // receive never waits
	request func(id int32, text string)
	asAsked bool // request never waits
	lost    func(to lockstep.Node, body any)
	state   func() string
	role    func() string
	stops   []func()
	ended   bool // the stops were called
	paused  bool
	open    []*write // writes to disks under way
}

// arrival is a message, a request or the report of a loss on its way to its handler.
type arrival struct {
	from lockstep.Node
	body any
	id   int32         // of a request; then body is its text
	lost lockstep.Node // the receiver of a lost message of this node
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

// Incarnation is the number of this incarnation of the node in the run, from 1.
func (n *Node) Incarnation() int { return n.incarnation }

// Configuration is the number of the configuration with which the incarnation runs: 0 is the usual one, and the largest
// is [Cluster].OtherConfigurations.
func (n *Node) Configuration() int { return n.setting }

// World is the state that the nodes of the run share.
func (n *Node) World() *World { return n.world }

// Context ends when the node crashes and at the end of the run.
func (n *Node) Context() context.Context { return n.ctx }

// Alive reports whether the node has neither crashed nor been stopped.
func (n *Node) Alive() bool { return !n.dead.Load() }

// Source is a random source of the incarnation. It depends on the run's seed.
func (n *Node) Source() *Source { return n.chance }

// Rand returns the node's [Source] as a generator of math/rand/v2, for code that needs one. The draws of a Source
// itself are easier to read in a trace and shrink better.
func (n *Node) Rand() *rand.Rand { return n.chance.rand() }

// Send sends a message. The caller must not change the body afterwards. The tag is zero where messages carry none. The
// engine discards what a crashed node sends.
func (n *Node) Send(to lockstep.Node, kind string, tag trace.Tag, body any) {
	n.needsMessages("Send")
	if n.dead.Load() {
		return
	}
	n.world.transmit(sending{n.self, to, kind, tag, body}, 0)
}

// Emit reports an observable event of the node.
func (n *Node) Emit(event string, value any) {
	if !n.dead.Load() {
		n.world.Event(lockstep.Event{Node: n.self, Type: event, Value: value})
	}
}

// Receive sets the function that gets messages. A goroutine of the node calls it, for one message after the other. The
// function may block; then later messages wait. Messages that arrive before the call of Receive wait for it.
func (n *Node) Receive(f func(from lockstep.Node, body any)) {
	n.needsMessages("Receive")
	n.set(func() { n.receive = f })
}

// ReceiveAtOnce is Receive for a function that never waits, neither for a channel nor for a lock whose holder may wait.
// The goroutine that performs the run's steps calls it, so no goroutine of the node has to wake up for each message.
func (n *Node) ReceiveAtOnce(f func(from lockstep.Node, body any)) {
	n.needsMessages("ReceiveAtOnce")
	n.set(func() { n.receive, n.atOnce = f, true })
}

// OnQuiescent sets a function to be called once, when the bubble is next quiescent. So the function can inspect how the
// node has reacted to a message, without a goroutine that waits for it. The goroutine that performs the run's steps
// calls it; it must not wait. It returns true if it woke a goroutine of the node: the deployment then waits for
// quiescence again. Sending a message wakes no goroutine.
func (n *Node) OnQuiescent(look func() (moved bool)) {
	w := n.world
	w.mutex.Lock()
	w.looks = append(w.looks, lookout{n, look})
	w.mutex.Unlock()
	w.happened()
}

// OnRequest sets the function that gets clients' requests, as Receive does for messages. Requests wait while there is
// no function, or while it is nil. The deployment offers requests again that the function did not get before a crash.
// So a program may set the function only when it can serve requests.
func (n *Node) OnRequest(f func(id int32, text string)) { n.set(func() { n.request = f }) }

// OnRequestAtOnce is OnRequest for a function that never waits, as in ReceiveAtOnce. For example, the function starts a
// goroutine for the request.
func (n *Node) OnRequestAtOnce(f func(id int32, text string)) {
	n.set(func() { n.request, n.asAsked = f, true })
}

// OnLost sets a function that is called for each message of this node that was dropped, or sent on a cut link. It
// models what the sender on a connection learns when the connection breaks. Without the function, messages are lost
// silently.
func (n *Node) OnLost(f func(to lockstep.Node, body any)) {
	n.needsMessages("OnLost")
	n.set(func() { n.lost = f })
}

// needsMessages panics if the program uses a method for messages and the network is Sockets.
func (n *Node) needsMessages(method string) {
	if n.world.socket {
		panic(fmt.Sprintf("bubble: node %d calls Node.%s, and the network of its cluster is bubble.Sockets: "+
			"either write to sockets, or use bubble.Messages", n.self, method))
	}
}

// SetState sets the function that describes the node's state in a short text. It is called when the bubble is
// quiescent. It must not wait, not even for a lock, because a goroutine that sleeps may hold it.
func (n *Node) SetState(f func() string) { n.set(func() { n.state = f }) }

// SetRole sets the function that returns the node's role, such as leader. It is called when the bubble is quiescent. It
// must not wait, not even for a lock, because a goroutine that sleeps may hold it.
func (n *Node) SetRole(f func() string) { n.set(func() { n.role = f }) }

// OnStop adds a function that ends goroutines of the node, when it crashes and at the end of the run. The last added
// function is called first. It may block until the goroutines have ended. If the program is still starting when its
// incarnation ends, the function is called at once.
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

// Dir returns a directory of the node that is empty at the beginning of a run and survives crashes. Without [Files] in
// the cluster, the operating system serves its files. Then writes by goroutines of an ended incarnation remain visible,
// and a crash loses nothing. A [Disk] is stricter.
//
// With the overlay, on Linux, the path is the same in every process. It leads through /proc/self, so that a child
// process cannot use it.
func (n *Node) Dir() (string, error) { return n.dir() }

// Go runs f in a goroutine of the node. A panic in it is a finding. Idle goroutines are reused, because their stacks
// have grown already.
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

// work runs f, and further functions until the incarnation ends.
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

// retire makes idle goroutines end.
func (n *Node) retire() {
	n.pool.Lock()
	idle := n.idle
	n.idle, n.retired = nil, true
	n.pool.Unlock()
	for _, next := range idle {
		close(next)
	}
}

// guard catches a panic. A panic after the end of the incarnation does not count.
func (n *Node) guard() {
	switch p := recover(); {
	case p == exiting{}:
		freeze(n.number()) // not before: the engine's goroutine belonged to the node
	case p != nil && !n.dead.Load():
		n.world.died(n, "panic", p, stack.Text(2))
	}
}

// run starts the program and dispatches arrivals to it.
func (n *Node) run(start func(*Node) error) {
	n.Go(func() {
		if err := start(n); err != nil && !n.dead.Load() {
			n.world.died(n, "start", fmt.Sprintf("node %d could not start: %v", n.self, err), "")
		}
	})
	n.Go(n.dispatch)
}

// give passes an arrival to its handler: directly if the handler never waits, otherwise by the queue.
func (n *Node) give(a arrival) {
	n.mutex.Lock()
	if atOnce := n.atOnce && a.id == 0 || n.asAsked && a.id != 0; atOnce && a.lost == 0 && len(n.queue) == 0 &&
		!n.paused {
		n.mutex.Unlock()
		n.giveAtOnce(a)
		return
	}
	n.queue = append(n.queue, a)
	n.mutex.Unlock()
	n.rouse()
}

// asEngine detaches the calling goroutine from its node, until the caller calls the returned function.
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

// lend assigns the engine's goroutine to the node, until the caller calls the returned function.
func (n *Node) lend() func() {
	undo := asNode(n.number())
	n.world.lent = true
	return func() {
		n.world.lent = false
		undo()
	}
}

// lookout is a function given to OnQuiescent, with its node.
type lookout struct {
	node *Node
	look func() bool
}

// call calls the function as if by a goroutine of the node.
func (l lookout) call() (moved bool) {
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

// dispatch calls the handlers until the incarnation ends.
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

// handle passes the first arrival that has a handler to it, and reports whether there was one.
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

// end ends the incarnation: it is cut off, and its goroutines are asked to end.
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

// number identifies the goroutines of this incarnation: the node's number, plus 64 for each incarnation.
func (n *Node) number() int32 { return int32(n.self) + 64*int32(n.incarnation) }

// dirOf makes the directory of a node in that of its deployment. Where runs repeat exactly, it has the same path in
// every process, so that a node may send or store its path.
func dirOf(env *lockstep.Env, n lockstep.Node) (string, error) {
	root, err := env.Dir()
	if err != nil {
		return "", err
	}
	if Overlay {
		root = samePath(root)
	}
	dir := filepath.Join(root, fmt.Sprintf("node%d", n))
	return dir, os.MkdirAll(dir, 0o700)
}
