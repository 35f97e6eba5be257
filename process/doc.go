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
// does not listen.
//
// [Cluster] puts both together for a [lockstep.Deployment]: it lowers the steps crash, restart,
// cut and heal, starts servers when time first passes for them, several at once, and accounts for
// where the time of a run goes. Time is real, so that runs repeat roughly.
package process
