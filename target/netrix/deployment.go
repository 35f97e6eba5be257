package netrix

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/child"
	"github.com/lockstep-go/lockstep/internal/offers"
	"github.com/lockstep-go/lockstep/internal/timers"
	"github.com/lockstep-go/lockstep/trace"
)

// deployment is the replicas of one worker.
type deployment struct {
	system   System
	server   *server
	children []*child.Child
	client   *http.Client
	timers   []timers.Timers
	lengths  []map[string]string // of timers, as replicas reported them
	bodies   []*message          // by number of the body - 1
	begun    time.Time
}

func deploy(s System, p *lockstep.Env) (*deployment, error) {
	ids := s.ids()
	server, err := newServer(s.Listen, ids)
	if err != nil {
		return nil, err
	}
	d := &deployment{
		system:  s,
		server:  server,
		timers:  make([]timers.Timers, len(ids)),
		lengths: make([]map[string]string, len(ids)),
		client:  &http.Client{Timeout: s.timeout(), Transport: &http.Transport{MaxIdleConnsPerHost: 2}},
	}
	if s.Command == nil {
		return d, nil
	}
	for i := range ids {
		if err := d.launch(i, p); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	return d, nil
}

// launch starts the process of a replica.
func (d *deployment) launch(i int, p *lockstep.Env) error {
	root, err := p.Dir()
	if err != nil {
		return err
	}
	dir := filepath.Join(root, d.server.ids[i])
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	self, err := freeAddress()
	if err != nil {
		return err
	}
	c, err := child.Start(d.system.Command(lockstep.Node(i+1), d.server.address(), self, dir))
	if err != nil {
		return err
	}
	d.children = append(d.children, c)
	return nil
}

// freeAddress returns an unused loopback address for a replica that listens later. Where all of 127.0.0.0/8 is the
// loopback, it has an IP address of this process: a port of 127.0.0.1 could be taken by any connection meanwhile.
func freeAddress() (string, error) {
	host := "127.0.0.1"
	if pid := os.Getpid() % 65536; runtime.GOOS == "linux" {
		host = fmt.Sprintf("127.%d.%d.1", 1+pid/256%254, pid%256)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// Reset restarts all replicas and waits until they are ready and quiescent.
func (d *deployment) Reset(ctx context.Context, _ uint64, out *lockstep.Outbox) error {
	d.bodies, d.begun = d.bodies[:0], time.Now()
	for i := range d.server.ids {
		d.timers[i].Clear()
		d.lengths[i] = map[string]string{}
		if err := d.registered(ctx, i, func(r registration) bool { return r.Addr != "" }); err != nil {
			return err
		}
		d.server.hear(i, false)
	}
	pause := time.NewTimer(d.system.silence()) // for messages of the previous run that are still in transit
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	for len(d.server.inbox) > 0 {
		<-d.server.inbox
	}
	for i := range d.server.ids {
		if err := d.direct(ctx, i, "RESTART"); err != nil {
			return err
		}
	}
	d.offers().Begin(out)
	return d.await(ctx, out)
}

// direct sends a directive to a replica and waits until it is ready again.
func (d *deployment) direct(ctx context.Context, i int, action string) error {
	d.server.hear(i, action != "STOP")
	if err := d.reach(ctx, i); err != nil {
		return err
	}
	if err := d.post(ctx, i, "/directive", directive{action}); err != nil {
		return err
	}
	if action == "STOP" {
		return nil
	}
	return d.registered(ctx, i, func(r registration) bool { return r.Ready })
}

// reach waits until a replica listens: Netrix's own client registers before it does.
func (d *deployment) reach(ctx context.Context, i int) error {
	for begin := time.Now(); ; {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", d.server.replica(i).Addr)
		if err == nil {
			return conn.Close()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !errors.Is(err, syscall.ECONNREFUSED) || time.Since(begin) > d.system.timeout() {
			return d.inconclusive(i, err)
		}
		time.Sleep(time.Millisecond)
	}
}

// registered waits until the registration of a replica satisfies a condition.
func (d *deployment) registered(ctx context.Context, i int, as func(registration) bool) error {
	timeout := time.NewTimer(d.system.timeout())
	defer timeout.Stop()
	for !as(d.server.replica(i)) {
		var ended <-chan struct{}
		if len(d.children) > i {
			ended = d.children[i].Done()
		}
		select {
		case <-d.server.came:
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			return d.inconclusive(i, fmt.Errorf("it ended: %s", d.children[i].Why()))
		case <-timeout.C:
			return d.inconclusive(i, fmt.Errorf("it was not ready within %s", d.system.timeout()))
		}
	}
	return nil
}

// inconclusive returns the error of a run that a replica made inconclusive.
func (d *deployment) inconclusive(i int, err error) error {
	words := ""
	if len(d.children) > i {
		if tail := strings.TrimSpace(d.children[i].Tail()); tail != "" {
			words = "; its last words:\n" + tail
		}
	}
	return &lockstep.Inconclusive{Reason: fmt.Sprintf("replica %s: %v%s", d.server.ids[i], err, words)}
}

// post sends a request to a replica.
func (d *deployment) post(ctx context.Context, i int, path string, what any) error {
	body, err := json.Marshal(what)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(
		ctx,
		http.MethodPost,
		"http://"+d.server.replica(i).Addr+path,
		bytes.NewReader(body),
	)
	if err != nil {
		return d.inconclusive(i, err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := d.client.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return d.inconclusive(i, err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<16))
	if answer.StatusCode/100 != 2 {
		return d.inconclusive(i, fmt.Errorf("%s was answered with %s", path, answer.Status))
	}
	return nil
}

// Do sends the message of a step to its replica, and waits for silence.
func (d *deployment) Do(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	err := d.do(ctx, s, out)
	if err == nil {
		err = d.await(ctx, out)
	}
	out.Advance(trace.Time(time.Since(d.begun)))
	return err
}

// offers are the clients' requests.
func (d *deployment) offers() offers.List {
	return offers.List{Nodes: len(d.server.ids), Texts: d.system.Requests}
}

func (d *deployment) do(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	node := int(s.Node) - 1
	switch s.Kind {
	case trace.Deliver:
		m := out.Message(s.Msg)
		return d.post(ctx, int(m.To)-1, "/message", d.bodies[m.Body-1])
	case trace.Timer:
		name := d.timers[node].Fire()
		out.Describe(name)
		d.timers[node].Arm(s.Node, out)
		return d.post(ctx, node, "/timeout", timeout{name, d.lengths[node][name], d.server.ids[node]})
	case trace.Request:
		if err := d.system.Request(ctx, s.Node, d.server.replica(node).Info,
			d.offers().Given(out, s.Request)); err != nil {
			return d.inconclusive(node, err)
		}
	case trace.Replace:
		return d.forge(s, out)
	case trace.Crash:
		d.timers[node].Clear()
		return d.direct(ctx, node, "STOP")
	case trace.Restart:
		return d.direct(ctx, node, "START")
	}
	return nil
}

// Forged is the body of a message that a Byzantine replica sends, for a scenario (scenario.Replace, scenario.Forge)
// about replicas that use this protocol. The empty type is that of the replaced message.
func Forged(kind string, data []byte) string {
	text, _ := json.Marshal(forged{kind, data}) // cannot fail
	return string(text)
}

// forged is the content of a Replace step, with the field names of the protocol.
type forged struct {
	Type string `json:"type,omitempty"`
	Data []byte `json:"data"`
}

// forge gives a message another body.
func (d *deployment) forge(s *lockstep.Step, out *lockstep.Outbox) error {
	text, body := out.Forged(s)
	var by forged
	if err := json.Unmarshal([]byte(text), &by); err != nil {
		return fmt.Errorf("netrix: the forged message %q is no JSON object with type and data: %w", text, err)
	}
	if len(by.Type) > mostType {
		return fmt.Errorf("netrix: the type of the forged message %q has more than %d bytes", text, mostType)
	}
	was := out.Message(s.Msg)
	m := &message{
		From:      d.server.ids[was.From-1],
		To:        d.server.ids[was.To-1],
		Type:      cmp.Or(by.Type, was.Type),
		Data:      by.Data,
		ID:        fmt.Sprintf("forged_%d", body),
		Intercept: true,
		Repr:      text,
	}
	d.bodies = append(d.bodies, m)
	out.Retype(s.Msg, m.Type, d.tag(m))
	out.Text(body, m.Repr)
	return nil
}

// tag returns the phase and the round of a message.
func (d *deployment) tag(m *message) (tag trace.Tag) {
	if d.system.Tag != nil {
		tag = d.system.Tag(m.Type, m.Data)
	}
	return tag
}

// await processes the reports of replicas until none has arrived for the time of silence.
func (d *deployment) await(ctx context.Context, out *lockstep.Outbox) error {
	silence := time.NewTimer(d.system.silence())
	defer silence.Stop()
	for taken := 0; taken <= mostWait; taken++ {
		select {
		case r := <-d.server.inbox:
			if err := d.apply(ctx, r, out); err != nil {
				return err
			}
			silence.Reset(d.system.silence())
		case <-silence.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return &lockstep.Inconclusive{Reason: fmt.Sprintf("the replicas were not quiescent after %d reports", mostWait)}
}

// apply passes a report to the engine.
func (d *deployment) apply(ctx context.Context, r report, out *lockstep.Outbox) error {
	node := lockstep.Node(r.node + 1)
	if m := r.message; m != nil {
		to := d.server.index(m.To)
		if !m.Intercept { // the test does not control it
			return d.post(ctx, to, "/message", m)
		}
		body := out.Send(node, lockstep.Node(to+1), m.Type, d.tag(m))
		d.bodies = append(d.bodies, m)
		if m.Repr != "" {
			out.Text(body, m.Repr)
		}
		return nil
	}
	switch e := r.event; e.Type {
	case messageSend, messageReceive, timeoutEnd:
	case timeoutStart:
		length, err := time.ParseDuration(e.Params["duration"])
		if err != nil {
			return d.inconclusive(
				r.node,
				fmt.Errorf("timer %q has the duration %q, which is no duration", e.Params["type"], e.Params["duration"]),
			)
		}
		d.timers[r.node].Set(e.Params["type"], out.Now()+trace.Time(max(length, 0)))
		d.lengths[r.node][e.Params["type"]] = e.Params["duration"]
		d.timers[r.node].Arm(node, out)
	default:
		out.Event(lockstep.Event{Node: node, Type: e.Type, Text: words(e.Params), Value: e.Params})
	}
	return nil
}

// words formats the parameters of an event.
func words(params map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(params)) {
		parts = append(parts, k+"="+params[k])
	}
	return strings.Join(parts, " ")
}

// Capabilities has the bodies of messages.
func (d *deployment) Capabilities() lockstep.Capabilities {
	return lockstep.Capabilities{Body: func(body trace.ID) any { return d.bodies[body-1].Data }}
}

// Close ends the replicas that the deployment started.
func (d *deployment) Close() error {
	err := d.server.close()
	for _, c := range d.children {
		c.Kill()
	}
	d.client.CloseIdleConnections()
	return err
}
