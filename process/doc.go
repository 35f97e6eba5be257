// Package process runs unmodified servers: real processes, started, killed, cut off and started
// again, with proxies of ours between them. Nothing of theirs is changed but their settings.
//
// A [Supervisor] keeps the servers of one deployment: each leads a process group of its own, has
// a folder and a log of which the last lines are kept, and goes when we go, whatever ends us. A
// deployment has a loopback address of its own, so that its ports are nobody else's.
//
// A [Network] stands between them: a [Link] is a proxy that listens where one server believes
// another to be. Links are cut and healed in each direction, delayed and held. A link keeps the
// order of what it carries and never loses a part of it: a cut closes connections, or lets them
// stand still, as a network does. Its listener follows its server: it is closed while that
// does not listen. Where a protocol is known, a [Decoder] cuts what a link carries into packets, which wait for a
// word and are carried or lost one by one, the latter with their connection: messages of the engine.
//
// [Cluster] puts both together for a [lockstep.Deployment]: it lowers the steps crash, restart,
// cut and heal, starts servers when time first passes for them, several at once, and accounts for
// where the time of a run goes. A server whose program can end and start it inside (Server.Host) spares the start of its
// process. Time is real, so that runs repeat roughly.
package process
