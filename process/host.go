package process

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
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

// order gives a host an order, and reports whether it was done. It has a timeout and no context: the server must also be
// killed where the campaign was interrupted.
func order(host, what string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), orderPatience)
	defer cancel()
	answer, err := Send(ctx, host, what)
	return err == nil && answer == "done"
}

// Send sends a line to a control port, and returns the line that answers it. It waits as long as the context lasts.
func Send(ctx context.Context, host, what string) (string, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	if _, err := io.WriteString(conn, what+"\n"); err != nil {
		return "", err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return "", errors.Join(err, ctx.Err())
	}
	return strings.TrimSuffix(answer, "\n"), nil
}
