package bubble

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/stack"
	"github.com/lockstep-go/lockstep/trace"
)

// World is the handle of a cluster's program to the current run: its shared value, clock, requests and random sources.
type World struct {
	// Value is the state that Begin made for the run; nodes read it through Node.World.
	Value any

	lot         *lot                      // the source of all random draws
	start       int64                     // start of the run, in nanoseconds
	incarnation func(lockstep.Node) *Node // the running incarnation of a node, or nil
	clocks      [65]ClockError
	settings    [65]int    // the configurations of nodes
	links       *links     // nil: they have no faults
	roles       [65]string // of nodes, as last logged
	logs        bool       // the run is recorded, with log lines
	socket      bool       // the network is Sockets
	lent        bool       // the engine's goroutine acts as one of a node
	// allowDiskExit is the cluster's AllowDiskExit
	allowDiskExit func(DiskExit) bool
	waits         atomic.Bool   // a goroutine waits until something happens
	kick          chan struct{} // wakes that goroutine

	mutex     sync.Mutex
	crashed   map[int32]bool // incarnations, by the number that their goroutines carry
	sent      []sending
	events    []lockstep.Event // in the order of emission
	offers    []trace.Pending
	withdrawn []int32
	lines     []trace.Log
	looks     []lookout // functions to call when the bubble is quiescent
	looked    []lookout // memory for them, to be reused
	failures  []failure
	exits     []exit        // of nodes that the deployment has not yet recorded as down
	disks     [65]diskState // of nodes
	halted    bool          // a node exited, perhaps when it was down already: its goroutines are stopped
	stopping  int           // nodes that are being stopped
	prompt    bool
}

type sending struct {
	from, to lockstep.Node
	kind     string
	tag      trace.Tag
	body     any
}

// failure is a finding about a node that ends the run.
type failure struct {
	node     lockstep.Node
	property string
	value    any
	stack    string
}

func newWorld(l *lot) *World {
	return &World{lot: l, start: now().UnixNano(), kick: make(chan struct{}, 1), crashed: map[int32]bool{}}
}

// Seed is the run's seed, for programs that have their own random generators. A [Source] is better: the trace records
// its draws.
func (w *World) Seed() uint64 { return w.lot.seed }

// Source is a new source that depends on the run's seed and the given number. If goroutines draw from two sources in
// the same step, in any order, the sources should belong to different nodes: see [Node.Source].
func (w *World) Source(number uint64) *Source { return w.lot.chance(0, number) }

// Rand returns World.Source(number) as a generator of math/rand/v2, for code that needs one. The draws of a [Source]
// itself are easier to read in a trace and shrink better.
func (w *World) Rand(number uint64) *rand.Rand { return w.Source(number).rand() }

// Now is the time of the run.
func (w *World) Now() time.Duration { return time.Duration(now().UnixNano() - w.start) }

// Settling reports whether the run is in its settling stage. There a system must stop injecting faults.
func (w *World) Settling() bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.prompt
}

// CallerNode returns the node that the calling goroutine belongs to. It returns 0 if the goroutine belongs to no node.
// Without the overlay the node of a goroutine is unknown, and CallerNode always returns 0. It is for hooks that code of
// all nodes calls without saying which node calls, such as those of package kit/failpoint.
func (w *World) CallerNode() lockstep.Node { return node(incarnation()) }

// node is a node by the number of one of its incarnations, or of itself.
func node(number int32) lockstep.Node { return lockstep.Node(number % 64) }

// Event reports an observable event of a node, or of no node, which is node 0. The caller must not change the value
// afterwards.
//
// The spec sees the events of a step in the order of emission: an event never comes before its cause. With the overlay
// that order is deterministic. Without it, the Go scheduler decides which of two nodes that act at the same instant
// emits first. So a rerun may see their events in the other order, and have another digest. Sorting events by node
// would not help, because it separates cause and effect.
//
// With the overlay, the engine ignores an event that a goroutine of a crashed node emits. Without the overlay, the
// goroutine's node is unknown; use [Node.Emit] there.
func (w *World) Event(e lockstep.Event) {
	w.mutex.Lock()
	seen := !w.crashed[incarnation()]
	if seen {
		w.events = append(w.events, e)
	}
	w.mutex.Unlock()
	if seen {
		w.happened()
	}
}

// crash marks an incarnation as crashed: from now on the engine ignores its events.
func (w *World) crash(n *Node) {
	w.mutex.Lock()
	w.crashed[n.number()] = true
	w.mutex.Unlock()
}

// Offer adds a client's request. The request waits until the engine gives it to one of the nodes p.To, in a Request
// step. The function passed to Node.OnRequest gets it.
func (w *World) Offer(p trace.Pending) {
	w.mutex.Lock()
	w.offers = append(w.offers, p)
	w.mutex.Unlock()
	w.happened()
}

// Withdraw removes a request that Offer added and that no node got yet.
func (w *World) Withdraw(id int32) {
	w.mutex.Lock()
	w.withdrawn = append(w.withdrawn, id)
	w.mutex.Unlock()
	w.happened()
}

// observe calls the functions that nodes passed to OnQuiescent, except those of paused nodes. It reports whether they
// caused activity.
func (w *World) observe() (moved bool) {
	w.mutex.Lock()
	if len(w.looks) == 0 {
		w.mutex.Unlock()
		return false
	}
	now := w.looks
	w.looks, w.looked = w.looked[:0], now
	w.mutex.Unlock()
	for _, l := range now {
		switch {
		case l.node.paused:
			w.mutex.Lock()
			w.looks = append(w.looks, l)
			w.mutex.Unlock()
		case !l.node.dead.Load():
			moved = l.call() || moved
		}
	}
	return moved
}

// happened ends a wait.
func (w *World) happened() {
	if !w.waits.Load() {
		return
	}
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

// fail ends the run with a finding about a node.
func (w *World) fail(f failure) {
	w.mutex.Lock()
	w.failures = append(w.failures, f)
	w.mutex.Unlock()
	w.happened()
}

// stopped counts nodes that are being stopped.
func (w *World) stopped(n int) {
	w.mutex.Lock()
	w.stopping += n
	w.mutex.Unlock()
	w.happened()
}

func (w *World) isStopping() bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.stopping > 0
}

// inOrder sorts messages by properties that do not depend on the Go scheduler. Messages that are equal in them usually
// come from one goroutine, whose order is kept.
func inOrder(sent []sending, rank func(any) int) {
	slices.SortStableFunc(sent, func(a, b sending) int {
		first := cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.tag.Phase, b.tag.Phase),
			cmp.Compare(a.tag.Round, b.tag.Round))
		if first == 0 && rank != nil {
			first = cmp.Compare(rank(a.body), rank(b.body))
		}
		return cmp.Or(first, cmp.Compare(a.kind, b.kind))
	})
}

// raise panics if a node failed, so that the engine reports a finding.
func (w *World) raise() {
	if len(w.failures) > 0 {
		first := slices.MinFunc(w.failures, func(a, b failure) int { return cmp.Compare(a.node, b.node) })
		panic(stack.Panic{Property: first.property, Value: first.value, Stack: first.stack})
	}
}
