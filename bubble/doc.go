// Package bubble puts ordinary Go programs under the engine: goroutines, channels, timers,
// mutexes, several nodes in one process, inside a bubble of package testing/synctest, where
// time is virtual and the engine's.
//
// A program needs a transport that can be replaced. Its adapter is a [Cluster] whose Start
// brings one node up and hands messages over: [Node.Send] puts one into the engine's hands,
// with type, tag and body, and the function given to [Node.Receive] gets those that the
// engine delivers.
//
//	bubble.Cluster{Name: "greeter", Nodes: 2, Start: func(n *bubble.Node) error {
//		n.Receive(func(from lockstep.Node, body any) { n.Emit("greeted", from) })
//		for {
//			select {
//			case <-time.After(time.Second):
//				n.Send(3-n.Self(), "hello", lockstep.Tag{}, "from me")
//			case <-n.Context().Done():
//				return nil
//			}
//		}
//	}}
//
// # Quiet and time
//
// After every step the deployment waits until all goroutines of the bubble are blocked, and
// reports what they sent in an order that does not depend on the scheduler of goroutines: by
// sender, receiver, type and tag. Events it reports in the order of emission. Time passes in Wait steps only: one ends when something is
// sent or happens, at the latest after the cluster's Pace. Idle time costs nothing.
//
// # Crash
//
// A node that crashes is cut off at once: nothing that it sends, emits or writes to a [Disk]
// from then on is seen. Then its context is cancelled and what it gave to [Node.OnStop] is
// called, so that its goroutines end; they may take (virtual) time for it. A restart calls
// Start again, with a new Node that has the same disks and folder. Requests that it was given and
// its program never took are offered again; what becomes of those that it took, the program's
// clients must know.
//
// With the overlay a node may suffer more: a crash that freezes it, power failures that take
// what was not synced ([Files]), pauses and wrong clocks ([Faults]).
//
// # What is found beside properties
//
// A panic in Start, in a handler or in a goroutine started with [Node.Go] is a finding with
// its stack. One in a goroutine that the program started by itself is, too, where the program was
// built with the overlay; without it, it ends the process: Go offers no way to catch it. With the overlay, a node
// that exits (os.Exit, log.Fatal, a fatal error of the Go runtime) is a finding ("exit"), unless [Cluster.AllowExit] allows
// it; without it, the exit ends the process. An error from Start is a finding ("start").
//
// Goroutines that are still there when all nodes have been stopped are a finding ("left-behind") that names them, as is a bubble in which all are
// blocked for good ("deadlock").
//
// A node that never falls quiet, because it spins, waits for a file or for a lock whose
// holder waits for time, is noticed in real time: the run is worthless, its reason names
// the goroutine and the remedy, and the campaign goes on.
//
// # Repetition
//
// The order in which goroutines of a node run, select among several ready cases and the
// global random sources are the Go runtime's, and so is the order of the events of two nodes that act at
// the same instant. So runs repeat often and not always; [Repetition] measures how often. Built with the overlay ("lockstep go") they always do, in every
// process; [Digests] are what to compare.
//
// What nodes draw from a [Chance], and what befalls them, is recorded with its step, so that
// a run without some step is the same in all others. What they draw from global sources is not, and
// with the overlay comes from one stream of the run, like all choices of the runtime: leaving
// out a step moves what is drawn after it.
//
// What a program makes once in a process, when it is first needed, must be there before the first run that counts. With
// the overlay each process makes a short run for that; where this does not reach everything, [Cluster.Warm] names more ([Warming]).
//
// That is not taken for granted. One of 50 passing runs is made again and compared, and a finding
// that is kept is made again in a fresh process. What nodes do that may come out differently is
// told with the place: a goroutine outside the bubble that wakes one of theirs, real time, the
// number of the process or its use of memory read, a socket or a channel used by goroutines of two nodes,
// a map to which they write, a lock that one of them waits for: nodes share a variable of their package.
package bubble
