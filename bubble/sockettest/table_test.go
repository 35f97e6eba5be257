//go:build linux

package sockettest_test

// row is one behavior.
type row struct {
	does string       // what the row does, as text
	do   func(*probe) // performs the row
	// linux is the answer of Linux. If no test can check it, reference names the source.
	linux, reference string
	// overlay is the answer of a bubble if it differs, and why is the reason.
	overlay, why string
	// fault is a fault of the server or the network. With one, the row needs two hosts.
	fault fault
}

// fault is a fault that a row needs.
type fault string

const (
	kill  fault = "kill"  // the process of the server
	power fault = "power" // the power of the server's machine
	cut   fault = "cut"   // the link
	drop  fault = "drop"  // the next segment
)

// table is the list of all compared behaviors.
var table = []struct {
	name string
	rows []row
}{
	{"TCP: connect and accept", tcpConnect},
	{"TCP: listen", tcpListen},
	{"TCP: read, write and close", tcpData},
	{"TCP: half-close", tcpHalf},
	{"TCP: reset", tcpReset},
	{"TCP: deadlines", tcpDeadline},
	{"TCP: silence and loss", tcpSilence},
	{"UDP", udp},
	{"Unix: streams", unixStream},
	{"Unix: datagrams and packets", unixOther},
	{"Descriptors and options", raw},
}
