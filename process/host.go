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

// Bounds of a process that hosts a server: how often it may start the server before a new process replaces it, and the
// timeout of a command.
const (
	maxIncarnations = 200
	orderTimeout    = 10 * time.Second
)

// revive starts the server again inside its process, if that process can do so. Otherwise it ends the process.
func (s *Server) revive() bool {
	if !s.idle {
		return false
	}
	if order(s.ControlAddress, "start") {
		s.idle = false
		s.incarnations++
		return true
	}
	s.end()
	return false
}

// order sends a command to a server's process, and reports whether it was executed. It has a timeout and no context,
// because the server must also be killed when the campaign is interrupted.
func order(address, command string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), orderTimeout)
	defer cancel()
	answer, err := Send(ctx, address, command)
	return err == nil && answer == "done"
}

// Send writes one line to an address, such as a [Server].ControlAddress, and returns the line of the response. It waits
// for the response until the context ends.
func Send(ctx context.Context, address, line string) (string, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	if _, err := io.WriteString(conn, line+"\n"); err != nil {
		return "", err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return "", errors.Join(err, ctx.Err())
	}
	return strings.TrimSuffix(answer, "\n"), nil
}
