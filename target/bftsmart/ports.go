package bftsmart

import (
	"errors"
	"net"
	"os"
	"strconv"
)

// Ports come from a range below those that the system assigns to clients.
const firstPort, lastPort = 20000, 32000

// freePorts returns pairs of unused loopback ports. The search begins at a port that depends on the process, so that
// several processes do not conflict.
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
	return nil, errors.New("bftsmart: no free ports from " + strconv.Itoa(firstPort) + " on")
}

// local returns an address of the loopback.
func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func free(port int) bool {
	l, err := net.Listen("tcp", local(port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}
