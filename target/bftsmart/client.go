package bftsmart

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/child"
	"github.com/lockstep-go/lockstep/trace"
)

// clientID is BFT-SMaRt's number for the client.
const clientID = 1001

// timeout is the timeout for a program to start, and for a replica to become quiescent. On a loaded machine, four JVMs
// need a while.
const timeout = 5 * time.Minute

// client is the client of a run, a JVM controlled by lines. Its zero value has not started.
type client struct {
	spoken *child.Spoken        // nil: it has not started, or was ended
	ready  chan struct{}        // closed when it is up
	report func(lockstep.Event) // called on a separate goroutine
	heard  sync.WaitGroup       // ends with that goroutine
}

// start starts the client and waits until it is up.
func (c *client) start(ctx context.Context, cmd *exec.Cmd, report func(lockstep.Event)) (err error) {
	c.ready, c.report = make(chan struct{}), report
	if c.spoken, err = child.Speak(cmd); err != nil {
		return err
	}
	c.heard.Go(func() { c.read(c.spoken.Out) })
	select {
	case <-c.ready:
		return nil
	case <-c.spoken.Done():
		return c.alive()
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(timeout):
		return &lockstep.Inconclusive{
			Reason: fmt.Sprintf("the client was not ready within %s; its last words:\n%s", timeout, c.spoken.Tail()),
		}
	}
}

// read reads the client's reports; output of BFT-SMaRt is in between.
func (c *client) read(said io.Reader) {
	up := c.ready
	for lines := bufio.NewScanner(said); lines.Scan(); {
		line := lines.Text()
		if strings.HasPrefix(line, "UP") && up != nil {
			close(up)
			up = nil
		}
		var number int
		if _, err := fmt.Sscanf(line, "reply %d", &number); err == nil {
			c.report(clients(EventReply, number))
		}
	}
}

// alive returns an error if the client has ended without a request to do so.
func (c *client) alive() error {
	select {
	case <-c.spoken.Done():
		return &lockstep.Inconclusive{
			Reason: fmt.Sprintf("the client ended: %s; its last words:\n%s", c.spoken.Why(), c.spoken.Tail()),
		}
	default:
		return nil
	}
}

// ask makes the client append the number of a request.
func (c *client) ask(s *lockstep.Step, out *lockstep.Outbox) error {
	out.Event(clients(EventAsked, int(s.Request)))
	return c.append(int(s.Request))
}

// append makes the client append a number.
func (c *client) append(number int) error {
	if _, err := fmt.Fprintln(c.spoken.In, number); err != nil {
		return &lockstep.Inconclusive{Reason: "the client: " + err.Error()}
	}
	return nil
}

// stop ends the client, which then reports nothing more.
func (c *client) stop() {
	if c.spoken != nil {
		c.spoken.Kill()
		c.heard.Wait()
	}
	c.spoken = nil
}

// clients returns an event of the client. It is drawn at the first node: clients are no nodes.
func clients(event string, number int) lockstep.Event {
	return lockstep.Event{Node: 1, Type: event, Text: strconv.Itoa(number), Value: number}
}

// request returns the text of a request.
func request(number int) string { return fmt.Sprintf("append %d", number) }

// requests returns the texts of all requests.
func (c Cluster) requests() (texts []string) {
	for k := range c.Requests {
		texts = append(texts, request(k+1))
	}
	return texts
}

// offer offers the client's requests.
func (c Cluster) offer(out *lockstep.Outbox) {
	for k, text := range c.requests() {
		out.Offer(trace.Pending{ID: int32(k + 1), To: trace.AllNodes(replicas), Text: text})
	}
}
