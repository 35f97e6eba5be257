package ratis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/process/jvm"
	"github.com/lockstep-go/lockstep/trace"
)

// deployment is the servers of one worker and their client.
type deployment struct {
	*process.Cluster
	options Cluster
	java    *jvm.JVM

	at, orders []string // where servers listen, and where they take orders, by node-1
	peers      string
	client     *process.Server

	waits          int // rounds so far
	sent, answered int // requests of this run
	judged         bool
	calls          process.Calls[string] // by the number of the request
}

// Reset starts all servers with empty folders and a client, and waits until they agree on a log.
func (d *deployment) Reset(ctx context.Context, _ uint64, out *lockstep.Outbox) error {
	d.calls.Forget()
	if err := d.Begin(); err != nil {
		return err
	}
	d.waits, d.sent, d.answered, d.judged = 0, 0, 0, false
	err := process.Timed(&d.Spent.Starting, func() error {
		if err := d.Launch(); err != nil {
			return err
		}
		if err := d.greet(ctx); err != nil {
			return err
		}
		return d.agree(ctx)
	})
	if err != nil {
		return err
	}
	d.Network.Control(d.options.Control == byMessage)
	for phase := range d.options.Phases {
		if phase == 0 || d.options.Control == byMessage {
			d.offer(phase, out)
		}
	}
	return nil
}

// greet starts the client, which stays, and has a new one in it for each run.
func (d *deployment) greet(ctx context.Context) error {
	cmd, err := d.command(d.client.Folder, "client", d.client.Host, "")
	if err != nil {
		return err
	}
	d.client.Kill()
	if err := d.client.Start(cmd); err != nil {
		return err
	}
	limit, cancel := context.WithTimeout(ctx, d.options.Patience)
	defer cancel()
	return process.Worthless(d.client.Await(limit, func(ctx context.Context) bool {
		answer, err := process.Order(ctx, d.client.Host, "send") // so that the first request of the run takes no longer than others
		_, wrong := strconv.Atoi(answer)
		return err == nil && wrong == nil
	}))
}

// agree waits until all servers have the same log and one leads. That they never do makes the run worthless.
func (d *deployment) agree(ctx context.Context) error {
	var last End
	var wrong error
	agreed, err := d.until(ctx, d.options.Patience, func(states []State, err error) bool {
		last.States, wrong = states, err
		return err == nil && len(states[0].Log) > 0 && leader(states) != 0 && differ(states) == ""
	})
	if err == nil && !agreed {
		err = process.Worthless(errors.Join(fmt.Errorf("ratis: after %s servers do not agree: %s", d.options.Patience, &last), wrong))
	}
	return errors.Join(err, d.Await(ctx, trace.AllNodes(d.options.Nodes), d.options.Patience, func(context.Context, lockstep.Node) bool { return true }))
}

// asking is how often servers are asked what they have.
const asking = 20 * time.Millisecond

// states asks all servers what they have.
func (d *deployment) states(ctx context.Context) ([]State, error) {
	all, errs := make([]State, d.options.Nodes), make([]error, d.options.Nodes)
	var asked sync.WaitGroup
	for i := range all {
		asked.Go(func() { all[i], errs[i] = d.state(ctx, lockstep.Node(i+1)) })
	}
	asked.Wait()
	return all, errors.Join(errs...)
}

// state asks a server what it has.
func (d *deployment) state(ctx context.Context, n lockstep.Node) (State, error) {
	limit, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	answer, err := process.Order(limit, d.orders[n-1], "state")
	if err != nil {
		return State{}, err
	}
	return parseState(answer)
}

// Do performs a step.
func (d *deployment) Do(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	if out.Settling() {
		d.Network.Control(false)
		d.Network.Unbound()
	}
	d.collect(out)
	var err error
	switch s.Kind {
	case trace.Request:
		err = d.request(ctx, int(s.Request), out)
	case trace.Wait:
		err = d.pass(ctx, time.Duration(s.For), out)
	default:
		err = process.Timed(&d.Spent.Working, func() error { d.Cluster.Do(s, out); return nil })
	}
	if d.options.Control == byMessage && err == nil && s.Kind != trace.Wait && !out.Settling() {
		err = process.Timed(&d.Spent.Waiting, func() error { return d.Network.Quiet(ctx, silence) })
	}
	d.collect(out)
	return errors.Join(err, d.Look(out))
}

// silence is how long nothing must travel between servers before they are taken to be quiet, and lag how long a round goes on when its end is seen, for
// what else is under way in it.
const (
	silence = 4 * time.Millisecond
	lag     = 4 * time.Millisecond
)

// pass lets a round pass, or waits for what is promised where everything is to settle.
func (d *deployment) pass(ctx context.Context, pace time.Duration, out *lockstep.Outbox) error {
	if err := d.Launch(); err != nil {
		return err
	}
	if out.Settling() {
		if d.judged {
			return nil
		}
		d.judged = true
		return process.Timed(&d.Spent.Working, func() error { return d.end(ctx, out) })
	}
	err := process.Timed(&d.Spent.Waiting, func() error { return d.round(ctx, pace, out) })
	d.waits++
	if phase := d.waits / 2; err == nil && d.waits%2 == 0 && phase < d.options.Phases && d.options.Control != byMessage {
		d.offer(phase, out)
	}
	return err
}

// round lets one round pass. The first of a phase that is a stretch of time ends when those that can agree have a leader.
func (d *deployment) round(ctx context.Context, pace time.Duration, out *lockstep.Outbox) error {
	switch {
	case d.options.Control == byLog:
		d.Network.Rise()
		if risen, err := d.Network.Risen(ctx, pace); err != nil || !risen {
			return err
		}
		return process.Pass(ctx, lag)
	case d.options.Control == byTime && d.waits%2 == 0:
		_, err := d.until(ctx, pace, func(states []State, _ error) bool {
			return leader(within(states, d.Majority(out))) != 0
		})
		return err
	default:
		return process.Pass(ctx, pace)
	}
}

// until asks all servers again and again what they have, until it is enough, at most for so long. It reports whether it was.
func (d *deployment) until(ctx context.Context, patience time.Duration, enough func([]State, error) bool) (bool, error) {
	limit, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for limit.Err() == nil {
		if enough(d.states(limit)) {
			return true, nil
		}
		_ = process.Pass(limit, asking)
	}
	return false, ctx.Err()
}

// offer offers the requests of a phase.
func (d *deployment) offer(phase int, out *lockstep.Outbox) {
	text := "increment"
	if d.options.Requests > 1 {
		text = fmt.Sprintf("%d increments", d.options.Requests)
	}
	out.Offer(lockstep.Pending{ID: int32(phase + 1), To: trace.AllNodes(d.options.Nodes), Text: text})
}

// request lets the client send the requests of a phase, and does not wait for answers. Whom it asks is the library's affair.
func (d *deployment) request(ctx context.Context, phase int, out *lockstep.Outbox) error {
	for range d.options.Requests {
		d.sent++
		out.Event(lockstep.Event{Type: EventSend, Value: Send(d.sent), Text: fmt.Sprintf("request %d in phase %d", d.sent, phase)})
		if err := d.calls.Ask(ctx, d.sent, 0, func(ctx context.Context) string {
			answer, err := process.Order(ctx, d.client.Host, "send")
			if err != nil {
				answer = fmt.Sprint("no: ", err)
			}
			return answer
		}); err != nil {
			return err
		}
	}
	return nil
}

// collect tells the engine what the client has heard.
func (d *deployment) collect(out *lockstep.Outbox) {
	d.calls.Answers(func(number int, text string) {
		d.answered++
		out.Event(lockstep.Event{Type: EventAnswer, Value: &Answer{number, text}})
	})
}

// end waits for what is promised, each for some time at most, and tells what there is. Logs come last, as every answer makes them longer.
func (d *deployment) end(ctx context.Context, out *lockstep.Outbox) error {
	var last []State
	for _, promise := range []func() bool{
		func() bool { return leader(last) != 0 },
		func() bool { d.collect(out); return d.answered == d.sent },
		func() bool { return leader(last) != 0 && differ(last) == "" },
	} {
		if _, err := d.until(ctx, d.options.Within, func(states []State, _ error) bool {
			last = states
			return promise()
		}); err != nil {
			return err
		}
	}
	out.Event(lockstep.Event{Type: EventEnd, Value: &End{last}})
	out.Event(d.Spent.Event())
	return nil
}

// Abilities are the parts that servers play.
func (d *deployment) Abilities() lockstep.Abilities {
	return lockstep.Abilities{Role: func(n lockstep.Node) string {
		s, err := d.state(context.Background(), n)
		switch {
		case err != nil:
			return ""
		case s.Leads:
			return roleLeader
		default:
			return roleFollower
		}
	}}
}

// Close ends the client and the servers.
func (d *deployment) Close() error {
	d.calls.Forget()
	return d.Cluster.Close()
}
