package bftsmart

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/child"
)

// program is a JVM that is spoken to by lines.
type program struct {
	*child.Spoken
	ready chan struct{} // closed when it is up
	lines chan string
}

// patience is how long a program may take to begin, and a replica to fall quiet. On a machine
// that has much else to do, four JVMs need a while.
const patience = 5 * time.Minute

// start starts a program.
func start(cmd *exec.Cmd) (*program, error) {
	spoken, err := child.Speak(cmd)
	if err != nil {
		return nil, err
	}
	c := &program{Spoken: spoken, ready: make(chan struct{}), lines: make(chan string, 1000)}
	go c.read()
	return c, nil
}

// up waits until the program is up.
func (c *program) up(ctx context.Context, name string) error {
	select {
	case <-c.ready:
		return nil
	case <-c.Done():
		return c.alive(name)
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(patience):
		return &lockstep.Inconclusive{Reason: fmt.Sprintf("%s was not ready within %s; its last words:\n%s", name, patience, c.Tail())}
	}
}

// alive is an error if the program has ended, which nobody asked it to.
func (c *program) alive(name string) error {
	select {
	case <-c.Done():
		return &lockstep.Inconclusive{Reason: fmt.Sprintf("%s ended: %s; its last words:\n%s", name, c.Why(), c.Tail())}
	default:
		return nil
	}
}

// read hands on what the program says of itself; BFT-SMaRt talks in between. A replica that gets what
// it missed from others executes before it is up.
func (c *program) read() {
	up := false
	for lines := bufio.NewScanner(c.Out); lines.Scan(); {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "UP"):
			if !up {
				close(c.ready)
			}
			up = true
		case strings.HasPrefix(line, "reply "), strings.HasPrefix(line, EventExecuted+" "):
			c.lines <- line
		}
	}
}

// ask gives it a number to append.
func (c *program) ask(number int) error {
	_, err := fmt.Fprintln(c.In, number)
	return err
}

// take tells what the program has said.
func (c *program) take(said func(line string)) {
	for {
		select {
		case line := <-c.lines:
			said(line)
		default:
			return
		}
	}
}
