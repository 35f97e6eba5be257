// Package process runs unmodified servers: real processes that are started, killed, cut off and restarted, with proxies between them.
// Nothing of theirs is changed but their settings.
//
// [System] makes a system under test of them. A target states what is particular to its servers: values such as the number of nodes, and one
// function that gives the servers of a deployment their ports and links and returns a [Driver]. A driver starts a node, tells when it serves, lets
// clients make requests, and reads what there is in the end. Everything else is done here, once. The example examples/redis is
// a whole server in fewer than 250 lines.
//
// What a driver works with is the [Cluster] of its deployment. Its [Supervisor] keeps the processes: each server leads a process group of its own, has
// a directory and a log of which the last lines are kept, and ends when we end, whatever ends us. A
// deployment has a loopback address of its own, so that its ports are nobody else's. Calls of clients run beside the steps ([Cluster.Ask]).
//
// A [Network] stands between the servers: a [Link] is a proxy that listens where one server believes
// another to be. Links are cut and healed in each direction, delayed and held. A link keeps the
// order of what it carries and never loses a part of it: a cut closes connections, or stalls them, as a network does. Its listener
// follows its server: it is closed while that
// does not listen. Where a protocol is known, a [Decoder] cuts what a link carries into packets, which are the engine's messages: they wait,
// and are carried or lost one by one, the latter with their connection, unless they are independent of it ([Link.Loose], [Link.Detach]).
//
// A server whose program can stop and start it inside (Server.Host) saves the start of its
// process. Time is real, so that runs repeat by best effort.
package process
