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

// program is a JVM that is spoken to by lines.
type program struct {
	*child.Child
	in    io.WriteCloser
	out   *os.File
	lines chan string
}

// patience is how long a program may take to begin, and a replica to fall quiet. On a machine
// that has much else to do, four JVMs need a while.
const patience = 2 * time.Minute

// start starts a program and waits until it is up.
func start(ctx context.Context, name string, cmd *exec.Cmd) (*program, error) {
	out, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = write
	c := &program{in: in, out: out, lines: make(chan string, 1000)}
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
		err = &lockstep.Worthless{Reason: fmt.Sprintf("%s ended: %s; its last words:\n%s", name, c.Why(), c.Tail())}
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(patience):
		err = &lockstep.Worthless{Reason: fmt.Sprintf("%s was not ready within %s; its last words:\n%s", name, patience, c.Tail())}
	}
	c.end()
	return nil, err
}

// read hands on what the program says of itself; BFT-SMaRt talks in between.
func (c *program) read() {
	for lines := bufio.NewScanner(c.out); lines.Scan(); {
		if line := lines.Text(); strings.HasPrefix(line, "UP") || strings.HasPrefix(line, "reply ") || strings.HasPrefix(line, EventExecuted+" ") {
			c.lines <- line
		}
	}
}

// ask gives it a number to append.
func (c *program) ask(number int) error {
	_, err := fmt.Fprintln(c.in, number)
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

func (c *program) end() {
	c.Kill()
	_ = c.in.Close()
	_ = c.out.Close()
}
