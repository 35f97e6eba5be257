// Package process tests unmodified servers: it starts, kills, isolates and restarts real processes, with proxies
// between them. Only the settings of the servers change.
//
// [System] makes a system under test of such servers. A target declares values such as the number of nodes. It also
// provides a function that assigns ports and links to the servers of a deployment and returns a [Driver]. A driver
// starts a node, reports when it serves, issues client requests, and reads the final state. This package does
// everything else. The example examples/redis is a complete target in fewer than 250 lines.
//
// A driver works with a [Deployment]. Its [Supervisor] manages the processes. Each server leads its own process group,
// has its own directory, and keeps the last lines of its log. It ends when the tester ends, whatever the reason. A
// deployment has its own loopback address, so that its ports conflict with no others. Client calls run concurrently
// with the steps ([Deployment.StartCall]).
//
// A [Network] connects the servers: a [Link] is a proxy that listens where one server expects another. Links can be cut
// and healed in each direction, delayed and held. A link preserves order and never loses part of a stream: a cut closes
// connections, or stalls them, as a network does. The listener follows its server: it is closed while the server does
// not listen. For a known protocol, a [Decoder] splits the stream of a link into packets, which are the engine's
// messages. Packets wait, and the engine delivers or drops them one by one. By default a dropped packet takes its
// connection with it, as on TCP. A [Link] can declare that its packets depend less on each other.
//
// A server that its program can stop and start in-process (Server.ControlAddress) saves the startup of its process.
// Time is real, so that replay is best effort.
package process
