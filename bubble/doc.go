// Package bubble tests ordinary Go programs, several nodes in one process, under the engine with virtual time. It runs
// their goroutines, channels, timers and mutexes inside a bubble of package testing/synctest.
//
// A program communicates through the engine in one of two ways, the Network of its [Cluster]. It uses [Messages] if its
// transport can be replaced. It uses [Sockets] if it calls package net and is built with the overlay. The overlay is a
// set of changed files of the standard library that "lockstep go" builds in: goroutines, time, sockets and files then
// behave deterministically.
//
// With Messages, the program's adapter is a Cluster whose Start brings one node up and passes messages on. [Node.Send]
// gives the engine a message with type, tag and body. The function passed to [Node.Receive] gets the messages that the
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
// # Quiescence and time
//
// After every step the deployment waits until all goroutines of the bubble are blocked: the bubble is quiescent. Then
// it reports to the engine what they sent, in an order that does not depend on the Go scheduler: by sender, receiver,
// tag, Messages.Rank and type. It reports events in the order of emission.
//
// Time passes in Wait steps only. A Wait step ends when a node sends a message or something else happens, at the latest
// after the cluster's Pace. Idle time costs nothing.
//
// # Crash
//
// A node that crashes is cut off at once: the engine sees nothing that it sends, emits or writes to a [Disk] from then
// on. Then the deployment cancels the node's context and calls the functions given to [Node.OnStop], so that its
// goroutines end. They may take (virtual) time for it. A restart calls Start again, with a new Node that has the same
// disks and directory.
//
// The deployment offers requests again that it gave to the node and that the node's program never took. The program's
// clients decide what to do about requests that the program did take.
//
// With the overlay the fault model is larger: crashes that freeze a node, power failures that lose unsynced data
// ([Files]), pauses and wrong clocks ([Faults]).
//
// # Findings besides violated properties
//
// A panic in Start, in a handler or in a goroutine started with [Node.Go] is a finding with its stack. With the
// overlay, so is a panic in a goroutine that the program started with a go statement. Without the overlay such a panic
// ends the process, because Go offers no way to catch it.
//
// With the overlay, a node that exits (os.Exit, log.Fatal, a fatal error of the Go runtime) is a finding ("exit"),
// unless [Cluster.AllowExit] allows it. Without the overlay, the exit ends the process. An error from Start is a
// finding ("start").
//
// Goroutines that remain after all nodes were stopped are a finding ("left-behind") that names them. A bubble in which
// all goroutines are blocked for good is a finding ("deadlock"), too.
//
// A watchdog in real time notices a node that never becomes idle. Such a node spins, waits for a file, or waits for a
// lock whose holder waits for time. The run is inconclusive, its reason names the goroutine and the remedy, and the
// campaign continues.
//
// # Logs
//
// While a run is recorded, [Node.Log], [Node.LogPairs] and [Node.LogWriter] add lines to it at their virtual time: what
// servers log, and what clients and operators of the test ask for and are answered. Readers see them in the timeline of
// the run. They are not part of what is checked, compared or digested, and a run is the same with and without them.
//
// # Repetition
//
// Without the overlay, the Go runtime decides the order in which goroutines of a node run. It chooses among several
// ready cases of a select, and seeds the global random sources. It also decides the order of the events of two nodes
// that act at the same instant. So a run often repeats, but not always; [Repetition] measures how often. Built with the
// overlay ("lockstep go"), runs are deterministic in every process; compare their [Digests].
//
// The trace records what nodes draw from a [Source], and the faults that strike them, with the step. So a run without
// some step is the same in all other steps. The trace does not record draws from global sources. With the overlay these
// draws, like all choices of the runtime, come from one stream of the run: leaving out a step changes the draws after
// it.
//
// State that a program makes once in a process, on first use, must exist before the first run that counts. With the
// overlay each process makes a short run for that. Where the short run does not reach everything, [Process].Warm names
// more runs ([Warming]).
//
// Lockstep checks determinism. It reruns one of 50 passing runs and compares it, and it reruns each finding that is
// kept in a fresh process. It also reports sources of nondeterminism in nodes, with their location:
//
//   - a goroutine outside the bubble wakes one of a node
//   - a node reads real time, the process ID or the memory use of the process
//   - goroutines of two nodes use one socket or channel
//   - goroutines of two nodes write to one map
//   - a goroutine of a node waits for a lock of another node: the nodes share a package-level variable
package bubble
