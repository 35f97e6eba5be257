package bftsmart

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// Ports are looked for in a range below those that the system gives to those who connect.
const firstPort, lastPort = 20000, 32000

// freePorts are pairs of ports of the loopback that nobody uses. Where to begin depends on the
// process, so that several do not get in each other's way.
func freePorts(many int) (ports []int, err error) {
	const pairs = (lastPort - firstPort) / 2
	for i := range pairs {
		port := firstPort + (os.Getpid()*8+i)%pairs*2
		if !free(port) || !free(port+1) {
			continue
		}
		if ports = append(ports, port); len(ports) == many {
			return ports, nil
		}
	}
	return nil, errors.New("bftsmart: there are no free ports from " + strconv.Itoa(firstPort) + " on")
}

// listening tells whether somebody listens at a port. One who connects to see would leave an
// error in the replica's log.
func listening(port int) bool {
	wanted := fmt.Sprintf(":%04X", port)
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 3 && strings.HasSuffix(f[1], wanted) && f[3] == "0A" {
				return true
			}
		}
	}
	return false
}

func free(port int) bool {
	l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}
