//go:build lockstep_overlay

package bubble

import (
	"fmt"
	"hash/fnv"
	"net"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/lockstep-go/lockstep"
)

// Exact says whether the program was built with the overlay ("lockstep go"), so that runs
// repeat always, in every process.
const Exact = true

// collectEvery is the number of runs between two collections of garbage. One that the runtime
// begins by itself would show in the order of goroutines.
const collectEvery = 32

// rules turns the rules of the overlay on for a run.
func rules(seed uint64) {
	runtime.LockstepSeed(seed)
	runtime.LockstepForget()
}

// freeze stops the goroutines of a life for good.
func freeze(life int32) { runtime.LockstepFreeze(life) }

// thaw lets them go on.
func thaw(life int32) { runtime.LockstepThaw(life) }

// setClock sets the clock that the goroutines of a life see.
func setClock(life int32, c ClockError) {
	runtime.LockstepClock(life, int64(c.Ahead), int64(c.Drift))
}

// asEngine makes the calling goroutine one of no node, until the function returned is called.
func asEngine() func() {
	life := runtime.LockstepNode()
	runtime.LockstepSetNode(0)
	return func() { runtime.LockstepSetNode(life) }
}

// now is the time of the bubble, whatever the clock of the calling goroutine's node shows.
func now() time.Time { return time.Unix(0, runtime.LockstepNow()) }

// onNode makes the calling goroutine one of a node, and so all that it starts.
func onNode(n int32) { runtime.LockstepSetNode(n) }

// takeOver makes the process fit for exact runs, and returns what undoes that. The rules stay
// on for good: to turn them on or off while there is a bubble would confuse its books.
func takeOver() func() {
	runtime.LockstepSeed(0)
	percent := debug.SetGCPercent(-1)
	return func() { debug.SetGCPercent(percent) }
}

// loosen lets the process live with a bubble that was given up, until that ends.
func loosen(by int) { runtime.LockstepLoosen(by) }

// collect collects garbage now and then, between runs.
func collect(run int) {
	if run%collectEvery == 0 {
		runtime.GC()
	}
}

// carry lets the sockets of the run's nodes be in memory, and hands what travels on them to the
// world.
func carry(w *World, nodes int) {
	net.LockstepBegin(nodes, func(c *net.LockstepChunk) {
		w.mutex.Lock()
		w.sent = append(w.sent, sending{from: node(c.From), to: node(c.To), kind: c.Kind, body: (*chunk)(c)})
		w.mutex.Unlock()
		w.happened()
	})
}

// node is a node by the number of one of its lives, or of itself.
func node(number int32) lockstep.Node { return lockstep.Node(number % 64) }

// carryNoMore gives sockets back to the kernel.
func carryNoMore() { net.LockstepEnd() }

// bury lets the goroutines of a life go on without a network.
func bury(life int32) { net.LockstepBury(life) }

// unplug takes the sockets of a life away.
func unplug(life int32) { net.LockstepDown(life) }

// chunk is what travels on sockets.
type chunk net.LockstepChunk

func (c *chunk) deliver() { (*net.LockstepChunk)(c).Deliver() }
func (c *chunk) lose()    { (*net.LockstepChunk)(c).Lose() }

// bytes are the chunk's.
func (c *chunk) bytes() (conn string, data []byte) { return c.Conn, c.Data }

// String names the chunk and its content, by a hash.
func (c *chunk) String() string {
	h := fnv.New32a()
	_, _ = h.Write(c.Data)
	return fmt.Sprintf("%s/%d bytes=%d hash=%08x", c.Conn, c.Seq, len(c.Data), h.Sum32())
}
