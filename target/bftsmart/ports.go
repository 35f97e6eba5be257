package bftsmart

import (
	"errors"
	"net"
	"os"
	"strconv"
)

// Ports are looked for in a range below those that the system gives to those who connect.
const firstPort, lastPort = 20000, 32000

// freePorts are pairs of ports of the loopback that nobody uses. Where to begin depends on the
// process, so that several do not get in each other's way.
func freePorts() (ports [replicas]int, err error) {
	const pairs = (lastPort - firstPort) / 2
	found := 0
	for i := range pairs {
		port := firstPort + (os.Getpid()*8+i)%pairs*2
		if !free(port) || !free(port+1) {
			continue
		}
		ports[found] = port
		if found++; found == replicas {
			return ports, nil
		}
	}
	return ports, errors.New("bftsmart: there are no free ports from " + strconv.Itoa(firstPort) + " on")
}

func free(port int) bool {
	l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}
