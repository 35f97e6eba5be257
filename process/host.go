package process

import (
	"bufio"
	"io"
	"net"
	"time"
)

// Bounds of a process that hosts a server: how often the server is started in it, before a fresh one
// takes its place, and how long it may take for an order.
const (
	maxLives      = 200
	orderPatience = 10 * time.Second
)

// revive starts the server again inside its process, where there is one that can. One that cannot
// is ended.
func (v *Server) revive() bool {
	if !v.idle {
		return false
	}
	if order(v.Host, "start") {
		v.idle = false
		v.lives++
		return true
	}
	v.end()
	return false
}

// order gives a host an order, and reports whether it was done.
func order(host, what string) bool {
	conn, err := net.DialTimeout("tcp", host, orderPatience)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(orderPatience))
	if _, err := io.WriteString(conn, what+"\n"); err != nil {
		return false
	}
	answer, _ := bufio.NewReader(conn).ReadString('\n')
	return answer == "done\n"
}
