package bftsmart

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/child"
)

// customer is the process of the client. It makes one request after the other.
type customer struct {
	*child.Child
	in    io.WriteCloser
	out   *os.File
	lines chan string
}

// patience is how long the client may take to begin.
const patience = time.Minute

func startCustomer(ctx context.Context, cmd *exec.Cmd) (*customer, error) {
	out, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = write
	c := &customer{in: in, out: out, lines: make(chan string, 1000)}
	c.Child, err = child.Start(cmd)
	_ = write.Close()
	if err != nil {
		return nil, err
	}
	go c.read()
	select {
	case <-c.lines: // it is up
		return c, nil
	case <-c.Done():
		err = &lockstep.Worthless{Reason: fmt.Sprintf("the client ended: %s; its last words:\n%s", c.Why(), c.Tail())}
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(patience):
		err = &lockstep.Worthless{Reason: fmt.Sprintf("the client was not ready within %s; its last words:\n%s", patience, c.Tail())}
	}
	c.end()
	return nil, err
}

// read hands on what the client says of itself; BFT-SMaRt talks in between.
func (c *customer) read() {
	for lines := bufio.NewScanner(c.out); lines.Scan(); {
		if line := lines.Text(); line == "UP" || strings.HasPrefix(line, "reply ") {
			c.lines <- line
		}
	}
}

// ask gives it a number to append.
func (c *customer) ask(number int) error {
	_, err := fmt.Fprintln(c.in, number)
	return err
}

// take tells the numbers that were appended, as far as answers have come.
func (c *customer) take(reply func(number int)) {
	for {
		select {
		case line := <-c.lines:
			var number int
			if _, err := fmt.Sscanf(line, "reply %d", &number); err == nil {
				reply(number)
			}
		default:
			return
		}
	}
}

func (c *customer) end() {
	c.Kill()
	_ = c.in.Close()
	_ = c.out.Close()
}
