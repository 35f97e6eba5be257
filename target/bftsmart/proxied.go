package bftsmart

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/trace"
)

// proxied is replicas whose messages are intercepted at proxies. It sees less than the agent: messages of a replica to
// itself are never on the wire. Our state machine reports what a replica executes, and the replica's votes show its
// epoch. Silence for a while counts as quiescence.
type proxied struct {
	programs
	*process.Deployment
	ports  [replicas]int           // for clients; the port after it is for replicas
	hosts  [replicas][replicas]int // likewise, as configured in each replica
	client client
	marks  [replicas]int // lines of the log before the last start

	mutex   sync.Mutex
	epochs  [replicas]int
	decided [replicas]int // the number of known decisions
}

// proxied returns the cluster as servers behind proxies.
func (c Cluster) proxied() process.System {
	return process.System{
		Name:         "bftsmart",
		Options:      c.options(),
		Nodes:        replicas,
		New:          c.deploy,
		Messages:     true,
		Datagrams:    true,
		Pace:         c.Pace,
		StartTimeout: timeout,
		Serial:       true, // four JVMs at a time are enough
		Types:        Types,
		Rounds:       Rounds,
		Events:       events,
		Requests:     c.requests(),
		Body:         func(data []byte) any { return decoded(content(data)) },
		Forge: func(text string, forgedID trace.ID, sent func(trace.ID) []byte) (process.Packet, []byte, error) {
			body, m, err := forge(original(text, forgedID, func(id trace.ID) []byte { return content(sent(id)) }), text)
			return process.Packet{Type: m.Type, Tag: m.tag()}, frame(body), err
		},
	}
}

// deploy creates the driver of a deployment.
func (c Cluster) deploy(ctx context.Context, servers *process.Deployment) (process.Driver, error) {
	d, err := c.newProxied(ctx, servers)
	if err != nil {
		return process.Driver{}, err
	}
	return d.driver(), nil
}

// newProxied assigns ports and links to the replicas. The higher of two replicas connects to the lower.
func (c Cluster) newProxied(ctx context.Context, servers *process.Deployment) (*proxied, error) {
	p, err := c.prepare(ctx)
	if err != nil {
		return nil, err
	}
	free, err := freePorts(replicas + replicas*(replicas-1)/2)
	if err != nil {
		return nil, err
	}
	d := &proxied{programs: p, Deployment: servers, ports: [replicas]int(free)}
	free = free[replicas:]
	for i := range replicas {
		d.hosts[i] = d.ports
		for j := range i {
			d.hosts[i][j], free = free[0], free[1:]
			high, low := lockstep.Node(i+1), lockstep.Node(j+1)
			link, err := d.Network.Link(high, low, local(d.hosts[i][j]+1), local(d.ports[j]+1), exchange)
			if err != nil {
				return nil, err
			}
			link.Decode(func() (said, answered process.Decoder) { return &decoder{d, high}, &decoder{d, low} })
			link.SetDetached()
		}
	}
	return d, nil
}

func (p *proxied) driver() process.Driver {
	return process.Driver{
		Stop:    p.client.stop,
		Reset:   p.reset,
		Command: p.command,
		Ready:   p.up,
		Begin:   p.begin,
		Before:  p.before,
		Request: p.request,
		Quiesce: p.quiesce,
		Line:    p.line,
	}
}

// reset discards the state of the previous run.
func (p *proxied) reset() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.epochs, p.decided = [replicas]int{}, [replicas]int{}
	return nil
}

// command starts a replica, when the proxies of those before it listen.
func (p *proxied) command(n lockstep.Node) (*exec.Cmd, error) {
	server := p.Server(n)
	_, p.marks[n-1] = server.Log.Since(0)
	arguments := []string{"server", strconv.Itoa(int(n) - 1)}
	for _, port := range p.hosts[n-1][:n-1] {
		arguments = append(arguments, strconv.Itoa(port+1))
	}
	return p.run(server.Dir, loopback, p.hosts[n-1], arguments...)
}

// up reports whether a replica has printed that it is ready.
func (p *proxied) up(_ context.Context, n lockstep.Node, _ lockstep.Nodes) bool {
	lines, _ := p.Server(n).Log.Since(p.marks[n-1])
	return slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "UP") })
}

// begin starts the client and offers its requests.
func (p *proxied) begin(ctx context.Context, out *lockstep.Outbox) error {
	err := p.enter(ctx)
	if err == nil {
		p.cluster.offer(out)
	}
	return err
}

// enter starts the client.
func (p *proxied) enter(ctx context.Context) error {
	dir := filepath.Join(filepath.Dir(p.Server(1).Dir), "client")
	cmd, err := p.run(dir, "", p.ports, "client", strconv.Itoa(clientID))
	if err != nil {
		return err
	}
	return p.client.start(ctx, cmd, p.Report)
}

// before records that a replica restarts.
func (p *proxied) before(s *lockstep.Step, _ *lockstep.Outbox) {
	if s.Kind == trace.Restart {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		p.epochs[s.Node-1] = 0
	}
}

// request makes the client send a request, and waits until it arrives.
func (p *proxied) request(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	if err := p.client.ask(s, out); err != nil {
		return err
	}
	return process.Sleep(ctx, p.cluster.Pace)
}

// quiesce waits until no message arrives for the time of silence.
func (p *proxied) quiesce(ctx context.Context, _ *lockstep.Step) error {
	return errors.Join(p.Network.AwaitIdle(ctx, p.cluster.Silence), p.client.alive())
}

// voted reports that a replica has changed to an epoch, as its first WRITE there shows.
func (p *proxied) voted(node lockstep.Node, m Message) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if m.Type == "WRITE" && m.Epoch > p.epochs[node-1] {
		p.epochs[node-1] = m.Epoch
		p.Report(event(node, EventNewEpoch, fmt.Sprintf("epoch=%d", m.Epoch)))
	}
}

// line reports what a replica has executed. At that point the batch is known to be decided, and its timestamp
// distinguishes batches.
func (p *proxied) line(n lockstep.Node, line string, out *lockstep.Outbox) {
	kind, text, _ := strings.Cut(line, " ")
	e := event(n, kind, text)
	x, ok := e.Value.(*Execution)
	if !ok {
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if x.Consensus >= p.decided[n-1] {
		p.decided[n-1] = x.Consensus + 1
		out.Event(
			event(n, EventDecided, fmt.Sprintf("consensus=%d epoch=%d value=%d", x.Consensus, p.epochs[n-1], x.Time)))
	}
	out.Event(e)
}

// event returns an event parsed from its text.
func event(node lockstep.Node, kind, text string) lockstep.Event {
	return lockstep.Event{Node: node, Type: kind, Text: text, Value: value(kind, text)}
}

// exchange carries the beginning of a connection: the number of the replica that connects, and an exchange of keys.
func exchange(high, low io.ReadWriter) error {
	back := make(chan error, 1)
	go func() { back <- keys(low, high) }()
	_, err := io.CopyN(low, high, 4)
	if err == nil {
		err = keys(high, low)
	}
	return errors.Join(err, <-back)
}

// keys carries one side of the key exchange: a key and its signature, each prefixed with its length.
func keys(from io.Reader, to io.Writer) error {
	for range 2 {
		var head [4]byte
		if _, err := io.ReadFull(from, head[:]); err != nil {
			return err
		}
		size, err := size(head[:])
		if err != nil {
			return err
		}
		if _, err := to.Write(head[:]); err != nil {
			return err
		}
		if _, err := io.CopyN(to, from, int64(size)); err != nil {
			return err
		}
	}
	return nil
}

// largest is the maximum size of a frame.
const largest = 16 << 20

// size reads a length.
func size(head []byte) (int, error) {
	n := int(int32(binary.BigEndian.Uint32(head)))
	if n < 0 || n > largest {
		return 0, fmt.Errorf("bftsmart: a frame of %d bytes", n)
	}
	return n, nil
}

// frame returns a message as on the wire: four bytes of length, the message, and a byte that marks it as not
// authenticated.
func frame(body []byte) []byte {
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...), 0)
}

// content returns the message in a frame.
func content(frame []byte) []byte {
	if len(frame) < 5 {
		return nil
	}
	return frame[4 : len(frame)-1]
}

// decoder decodes the stream of a replica, after the exchange of keys.
type decoder struct {
	replicas *proxied
	from     lockstep.Node
}

// Next reads a frame. Messages of state transfer pass without a decision.
func (d *decoder) Next(data []byte) (p process.Packet, length int, err error) {
	if len(data) < 4 {
		return p, 0, nil
	}
	n, err := size(data)
	if length = 4 + n + 1; err != nil || len(data) < length {
		return p, 0, err
	}
	body := content(data[:length])
	name, _, _, unread := object(body) // what cannot be read passes, too
	if unread != nil || strings.HasPrefix(name, "bftsmart.statemanagement.") {
		return p, length, nil //nolint:nilerr // see above
	}
	m, err := Decode(body)
	if err != nil {
		return p, 0, err
	}
	d.replicas.voted(d.from, m)
	return process.Packet{Type: m.Type, Tag: m.tag(), Text: m.String()}, length, nil
}
