//go:build lockstep_overlay

package bubble

import (
	"fmt"
	"hash/fnv"
	mathrand "math/rand"
	"net"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/stack"
)

// Overlay reports whether the program was built with the overlay ("lockstep go"). Then runs are deterministic in every
// process.
const Overlay = true

// Garbage is collected after so many runs, or when there is so much. A collection that the runtime triggers would
// change the order of goroutines.
const (
	collectEvery = 32
	collectAt    = 128 << 20
)

// The limits of memory above which the runtime collects garbage nevertheless. Without them a program that spins and
// allocates would use up all memory. A run that needs this much memory may be nondeterministic. A run that needs less
// is deterministic, however small the limit of the environment is.
const (
	leastLimit = 2 << 30
	mostLimit  = 4 << 30
)

// rules turns the rules of the overlay on for a run. A panic that no goroutine of a node catches becomes a finding of
// the run, unless the incarnation is dead. What a dead incarnation does in its grace time has no effect.
func rules(w *World) {
	runtime.LockstepSeed(w.Seed())
	mathrand.LockstepReseed(w.Seed())
	runtime.LockstepForget()
	runtime.LockstepClear()
	runtime.LockstepDrain()
	runtime.LockstepOnPanic = func(incarnation int32, value any) {
		if n := w.incarnation(node(incarnation)); n != nil && n.number() == incarnation {
			w.died(n, "panic", value, stack.Text(3))
		}
	}
	runtime.LockstepOnExit = w.exited
}

// beginRun begins a run of the process, before anything happens in it.
func beginRun(warming bool, cpus int) { runtime.LockstepBeginRun(warming, cpus) }

// sources are the sources of nondeterminism in the nodes: what may come out differently in another process.
func sources() []string {
	var list []string
	for _, s := range runtime.LockstepSources() {
		if at := places(s.PCs); !byLockstep(at) {
			list = append(list, fmt.Sprintf("%s (node %d) in %s", s.What, node(s.Node), strings.Join(at, " < ")))
		}
	}
	for _, s := range runtime.LockstepShares() {
		if at := places(s.PCs); !harmless(at) {
			list = append(list, fmt.Sprintf("%s (node %d) in %s", s.What, node(s.Node), strings.Join(at, " < ")))
		}
	}
	return list
}

// places are the functions of a stack, innermost first, without those of the runtime.
func places(pcs []uintptr) (list []string) {
	for frames, more := runtime.CallersFrames(pcs), true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); f.Function != "" && !strings.HasPrefix(f.Function, "runtime.") &&
			!strings.HasPrefix(f.Function, "internal/runtime/") {
			list = append(list, fmt.Sprintf("%s %s:%d", f.Function, filepath.Base(f.File), f.Line))
		}
	}
	return list
}

// byLockstep reports whether Lockstep itself makes the system call here, on behalf of a node.
func byLockstep(places []string) bool {
	for _, p := range places {
		if !strings.HasPrefix(p, "syscall.") && !strings.HasPrefix(p, "os.") && !strings.HasPrefix(p, "internal/") {
			return strings.HasPrefix(p, ours[0]) || strings.HasPrefix(p, "net.lockstepPair ")
		}
	}
	return false
}

// ours are the packages that know of all nodes, and packages of the standard library with caches. The content of these
// caches does not depend on the node that fills them.
var ours = []string{
	"github.com/lockstep-go/lockstep/bubble.",
	"github.com/lockstep-go/lockstep/kit/",
	"github.com/lockstep-go/lockstep/target/",
	"encoding/gob.",
	"reflect.",
}

// harmless reports whether nodes may share the object, by the place where they use it: one of these packages, or the
// code that the overlay added.
func harmless(places []string) bool {
	return len(places) > 0 && (strings.Contains(places[0], " lockstep") ||
		slices.ContainsFunc(ours, func(of string) bool { return strings.HasPrefix(places[0], of) }))
}

// freeze stops the goroutines of an incarnation for good.
func freeze(incarnation int32) { runtime.LockstepFreeze(incarnation) }

// thaw lets them continue.
func thaw(incarnation int32) { runtime.LockstepThaw(incarnation) }

// setClock sets the clock that the goroutines of an incarnation see.
func setClock(incarnation int32, c ClockError) {
	runtime.LockstepClock(incarnation, int64(c.Ahead), int64(c.Drift))
}

// asNode assigns the calling goroutine to a node, until the caller calls the returned function.
func asNode(n int32) func() {
	was := runtime.LockstepNode()
	runtime.LockstepSetNode(n)
	return func() { runtime.LockstepSetNode(was) }
}

// now is the time of the bubble, independent of the clock of the calling goroutine's node.
func now() time.Time { return time.Unix(0, runtime.LockstepNow()) }

// incarnation is the number of the incarnation that the calling goroutine belongs to; 0 means none.
func incarnation() int32 { return runtime.LockstepNode() }

// onNode assigns the calling goroutine, and so all goroutines that it starts, to a node.
func onNode(n int32) { runtime.LockstepSetNode(n) }

// takeOver prepares the process for deterministic runs, and returns a function that undoes that. The rules stay on:
// turning them on or off while a bubble exists would corrupt its state. A goroutine that runs for half of the timeout
// yields, so that the watchdog can give the run up.
func takeOver(timeout time.Duration) func() {
	runtime.LockstepTimeSlice(int64(timeout / 2))
	runtime.LockstepSeed(0)
	runtime.LockstepDeploy()
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(max(limit, leastLimit), mostLimit))
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// loosen makes the process tolerate a bubble that was given up, until the bubble ends.
func loosen(by int) { runtime.LockstepLoosen(by) }

// collect collects garbage now and then, between runs.
func collect(run int) {
	inUse := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	if metrics.Read(inUse); run%collectEvery == 0 || inUse[0].Value.Uint64() > collectAt {
		runtime.GC()
	}
}

// giveUp stops the goroutines of a bubble, and its time.
func giveUp(bubble string) {
	if number, err := strconv.ParseUint(bubble, 10, 64); err == nil {
		runtime.LockstepGiveUp(number)
	}
}

// discard ends the leftover goroutines of a bubble where they are.
func discard(bubble string) {
	if number, err := strconv.ParseUint(bubble, 10, 64); err == nil {
		runtime.LockstepDiscard(number)
	}
}

// carry makes the sockets of the run's nodes in-memory sockets, and passes the data on them to the world. A share of
// the writes travels in two parts.
func carry(w *World, nodes int, share float64) {
	c := w.Source(splitStream)
	net.LockstepBegin(nodes, func(c *net.LockstepChunk) {
		if w.links == nil || !w.breaks(c) {
			s := sending{from: node(c.From), to: node(c.To), kind: c.Kind, body: (*chunk)(c)}
			w.transmit(s, len(c.Data)+headers)
		}
	}, func(size int) int {
		if w.Settling() || !c.strikes(share) {
			return 0
		}
		return 1 + c.IntN(size-1)
	}, w.dir)
	if w.links != nil {
		net.LockstepFaults(func(n int32) time.Duration { return w.slowness(node(n)) },
			func(n int32) (bool, time.Duration) { return w.lookup(node(n)) })
	}
}

// headers are the bytes that a packet has besides its data.
const headers = 66

// breaks draws whether the network breaks a connection instead of transporting data on it.
func (w *World) breaks(c *net.LockstepChunk) bool {
	source := w.links.source[node(c.From)]
	switch {
	case c.Kind != "data" || w.Settling():
		return false
	case source.strikes(w.links.Resets):
		c.Reset()
		w.Event(lockstep.Event{Type: ConnectionReset, Value: c.Conn})
		return true
	case source.strikes(w.links.HalfOpen):
		c.Discard()
		w.Event(lockstep.Event{Type: HalfOpened, Value: c.Conn})
		return true
	}
	return false
}

// directory is the directory of a node, by its number. It is empty if the node has none.
func (w *World) dir(number int32) string {
	n := w.incarnation(node(number))
	if n == nil {
		return ""
	}
	dir, err := n.Dir()
	if err != nil {
		return ""
	}
	return dir
}

// carryNoMore hands sockets back to the kernel.
func carryNoMore() { net.LockstepEnd() }

// silence lets the goroutines of an incarnation continue without a network.
func silence(incarnation int32) { net.LockstepSilence(incarnation) }

// unplug removes the sockets of an incarnation. Its peers notice that, unless the power failed.
func unplug(incarnation int32, powerFailed bool) { net.LockstepDown(incarnation, powerFailed) }

// chunk is data, or a change of a connection, that travels on sockets.
type chunk net.LockstepChunk

func (c *chunk) deliver() { (*net.LockstepChunk)(c).Deliver() }
func (c *chunk) lose()    { (*net.LockstepChunk)(c).Lose() }

// bytes are the data of one write. part says which part of it the chunk is, or is 0 if the chunk is all of it.
func (c *chunk) bytes() (conn string, data []byte, part int) {
	if c.Part > 0 {
		return c.Conn, c.Whole, c.Part
	}
	return c.Conn, c.Data, 0
}

// byDialer reports whether the node that opened the connection wrote the chunk. It is true for datagrams.
func (c *chunk) byDialer() bool {
	dialer, _, _ := strings.Cut(c.Conn, ">")
	return c.Kind == "datagram" || dialer == strconv.Itoa(int(node(c.From)))
}

// String names the chunk and a hash of its content.
func (c *chunk) String() string {
	h := fnv.New32a()
	_, _ = h.Write(c.Data)
	return fmt.Sprintf("%s/%d bytes=%d hash=%08x", c.Conn, c.Seq, len(c.Data), h.Sum32())
}

// slowness draws how long a read of a node takes.
func (w *World) slowness(n lockstep.Node) time.Duration {
	if c := w.links.source[n]; !w.Settling() && c.strikes(w.links.SlowReads) {
		return 1 + time.Duration(c.IntN(int(w.links.SlowReadTime)))
	}
	return 0
}

// lookup draws whether a lookup of a node fails, and after what time.
func (w *World) lookup(n lockstep.Node) (fails bool, after time.Duration) {
	c := w.links.source[n]
	if w.Settling() || !c.strikes(w.links.LookupErrors) {
		return false, 0
	}
	return true, time.Duration(c.IntN(2)) * lookupTimeout
}

// lookupTimeout is how long a lookup without an answer takes: two attempts of 5 s, the default of resolv.conf.
const lookupTimeout = 10 * time.Second
