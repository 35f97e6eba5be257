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
	*process.Deployment
	options Cluster
	java    *jvm.JVM

	at, orders []string // addresses of servers, and of their command ports, by node-1
	peers      string
	client     *process.Server

	waits          int // rounds so far
	sent, answered int // requests of this run
	checked        bool
}

// deploy fetches a version and creates the links.
func (c Cluster) deploy(ctx context.Context, servers *process.Deployment) (process.Driver, error) {
	java, err := prepare(ctx, c.Version)
	if err != nil {
		return process.Driver{}, err
	}
	d := &deployment{Deployment: servers, options: c, java: java}
	driver := process.Driver{
		Reset:   d.reset,
		Command: d.write,
		Begin:   d.begin,
		Request: d.request,
		Advance: d.pass,
		Inspect: d.inspect,
		Log:     relevant,
		Role:    d.role,
	}
	if c.Control == byMessage {
		driver.Quiesce = d.quiesce
	}
	return driver, d.wire()
}

// reset discards the state of the previous run.
func (d *deployment) reset() error {
	d.waits, d.sent, d.answered, d.checked = 0, 0, 0, false
	return nil
}

// begin starts the client, waits until servers agree on a log, and offers requests.
func (d *deployment) begin(ctx context.Context, out *lockstep.Outbox) error {
	err := process.Timed(&d.Spent.Starting, func() error {
		if err := d.greet(ctx); err != nil {
			return err
		}
		return d.agree(ctx)
	})
	if err != nil {
		return err
	}
	for phase := range d.options.Phases {
		if phase == 0 || d.options.Control == byMessage {
			d.offer(phase, out)
		}
	}
	return nil
}

// greet starts the client process, which stays, and creates a new client in it for each run.
func (d *deployment) greet(ctx context.Context) error {
	cmd, err := d.command(d.client.Dir, "client", d.client.ControlAddress, "")
	if err != nil {
		return err
	}
	d.client.Kill()
	if err := d.client.Start(cmd); err != nil {
		return err
	}
	limit, cancel := context.WithTimeout(ctx, d.options.StartTimeout)
	defer cancel()
	return process.Inconclusive(d.client.Await(limit, func(ctx context.Context) bool {
		// so that the first request of the run takes no longer than others
		answer, err := process.Send(ctx, d.client.ControlAddress, "send")
		_, wrong := strconv.Atoi(answer)
		return err == nil && wrong == nil
	}))
}

// agree waits until all servers have the same log and one leads. If they never do, the run is inconclusive.
func (d *deployment) agree(ctx context.Context) error {
	var last End
	var wrong error
	agreed, err := d.until(ctx, d.options.StartTimeout, func(states []State, err error) bool {
		last.States, wrong = states, err
		return err == nil && len(states[0].Log) > 0 && leader(states) != 0 && differ(states) == ""
	})
	if err == nil && !agreed {
		err = process.Inconclusive(
			errors.Join(fmt.Errorf("ratis: after %s servers do not agree: %s", d.options.StartTimeout, &last), wrong))
	}
	return errors.Join(
		err,
		d.Await(ctx, trace.AllNodes(d.options.Nodes), d.options.StartTimeout,
			func(context.Context, lockstep.Node) bool { return true }),
	)
}

// asking is the polling interval of servers' states.
const asking = 20 * time.Millisecond

// states requests the states of all servers.
func (d *deployment) states(ctx context.Context) ([]State, error) {
	all, errs := make([]State, d.options.Nodes), make([]error, d.options.Nodes)
	var asked sync.WaitGroup
	for i := range all {
		asked.Go(func() { all[i], errs[i] = d.state(ctx, lockstep.Node(i+1)) })
	}
	asked.Wait()
	return all, errors.Join(errs...)
}

// state requests the state of a server.
func (d *deployment) state(ctx context.Context, n lockstep.Node) (State, error) {
	limit, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	answer, err := process.Send(limit, d.orders[n-1], "state")
	if err != nil {
		return State{}, err
	}
	return parseState(answer)
}

// quiesce waits until no message travels between servers.
func (d *deployment) quiesce(ctx context.Context, s *lockstep.Step) error {
	if s.Kind == trace.Wait {
		return nil
	}
	return d.Network.AwaitIdle(ctx, silence)
}

// silence is how long no message must travel between servers before they count as quiescent. lag is how long a round
// continues after its end was detected, for other messages in transit.
const (
	silence = 4 * time.Millisecond
	lag     = 4 * time.Millisecond
)

// pass lets a round pass.
func (d *deployment) pass(ctx context.Context, pace time.Duration, _ lockstep.Nodes, out *lockstep.Outbox) error {
	if out.Settling() {
		return nil
	}
	err := d.round(ctx, pace, out)
	d.waits++
	if phase := d.waits / 2; err == nil && d.waits%2 == 0 && phase < d.options.Phases &&
		d.options.Control != byMessage {
		d.offer(phase, out)
	}
	return err
}

// round lets one round pass. If a phase is a period of time, its first round ends when the nodes that can agree have a
// leader.
func (d *deployment) round(ctx context.Context, pace time.Duration, out *lockstep.Outbox) error {
	switch {
	case d.options.Control == byLog:
		d.Network.RaiseLimit()
		if risen, err := d.Network.AwaitAboveLimit(ctx, pace); err != nil || !risen {
			return err
		}
		return process.Sleep(ctx, lag)
	case d.options.Control == byTime && d.waits%2 == 0:
		_, err := d.until(ctx, pace, func(states []State, _ error) bool {
			return leader(within(states, d.Majority(out))) != 0
		})
		return err
	default:
		return process.Sleep(ctx, pace)
	}
}

// until polls the states of all servers until enough accepts them, or for at most the timeout. It reports whether
// enough accepted them.
func (d *deployment) until(ctx context.Context, timeout time.Duration, enough func([]State, error) bool) (bool, error) {
	limit, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for limit.Err() == nil {
		if enough(d.states(limit)) {
			return true, nil
		}
		_ = process.Sleep(limit, asking)
	}
	return false, ctx.Err()
}

// offer offers the requests of a phase.
func (d *deployment) offer(phase int, out *lockstep.Outbox) {
	text := "increment"
	if d.options.Requests > 1 {
		text = fmt.Sprintf("%d increments", d.options.Requests)
	}
	out.Offer(trace.Pending{ID: int32(phase + 1), To: trace.AllNodes(d.options.Nodes), Text: text})
}

// request makes the client send the requests of a phase, and does not wait for answers. The client library selects the
// server.
func (d *deployment) request(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	for range d.options.Requests {
		d.sent++
		number := d.sent
		out.Event(
			lockstep.Event{
				Type:  EventSend,
				Value: Send(number),
				Text:  fmt.Sprintf("request %d in phase %d", number, s.Request),
			},
		)
		if err := d.StartCall(ctx, number, 0, func(ctx context.Context) func(*lockstep.Outbox) {
			answer, err := process.Send(ctx, d.client.ControlAddress, "send")
			if err != nil {
				answer = fmt.Sprint("no: ", err)
			}
			return func(out *lockstep.Outbox) {
				d.answered++
				out.Event(lockstep.Event{Type: EventAnswer, Value: &Answer{number, answer}})
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

// inspect waits for the guarantees, each for a bounded time, and reports the final state. Logs come last, as every
// answer extends them.
func (d *deployment) inspect(ctx context.Context, out *lockstep.Outbox) error {
	if d.checked {
		return nil
	}
	d.checked = true
	answers := func([]State) bool { d.Collect(out); return d.answered == d.sent }
	for _, promise := range []func([]State) bool{
		func(states []State) bool { return leader(states) != 0 },
		answers,
		func(states []State) bool { return answers(states) || d.whereabouts(ctx, out) },
		func(states []State) bool { return leader(states) != 0 && differ(states) == "" },
	} {
		if _, err := d.until(ctx, d.options.Within,
			func(states []State, err error) bool { return err == nil && promise(states) }); err != nil {
			return err
		}
	}
	last, err := d.last(ctx)
	if err != nil {
		return err
	}
	out.Event(lockstep.Event{Type: EventEnd, Value: &End{last}})
	out.Event(d.Spent.Event())
	return nil
}

// last returns the final states of all servers. A server may take long to report its state on a loaded machine. If a
// state is missing, the run is inconclusive, because it permits no conclusion about the other servers.
func (d *deployment) last(ctx context.Context) (all []State, err error) {
	var wrong error
	complete, err := d.until(ctx, d.options.Within, func(states []State, err error) bool {
		all, wrong = states, err
		return err == nil
	})
	if err == nil && !complete {
		err = process.Inconclusive(fmt.Errorf("ratis: at the end of the run, not all servers reported their state: %w",
			wrong))
	}
	return all, err
}

// whereabouts reports where in the client's library unanswered requests are. It returns true, so that it is called
// once.
func (d *deployment) whereabouts(ctx context.Context, out *lockstep.Outbox) bool {
	limit, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	where, err := process.Send(limit, d.client.ControlAddress, "waits")
	if err != nil {
		where = err.Error()
	}
	out.Event(lockstep.Event{Type: EventWaits, Value: Waits(where), Text: where})
	return true
}

// role returns the role of a server.
func (d *deployment) role(ctx context.Context, n lockstep.Node) string {
	s, err := d.state(ctx, n)
	switch {
	case err != nil:
		return ""
	case s.Leads:
		return roleLeader
	default:
		return roleFollower
	}
}
