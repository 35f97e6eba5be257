//go:build linux

package sockettest_test

// row is one behavior.
type row struct {
	does string       // what the row does, for a reader
	do   func(*probe) // does it
	// linux is what Linux answers. Where no test can ask Linux, reference says who says so.
	linux, reference string
	// overlay is what a bubble answers where it differs, and why.
	overlay, why string
	// fault is what happens to the server or the network, which then are two hosts.
	fault fault
}

// fault is a fault that a row needs.
type fault string

const (
	kill  fault = "kill"  // the process of the server
	power fault = "power" // of the machine of the server
	cut   fault = "cut"   // the link
	drop  fault = "drop"  // the next segment
)

// table is all that is compared.
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
