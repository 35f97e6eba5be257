package sim

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/gen"
	"github.com/lockstep-go/lockstep/internal/offers"
	"github.com/lockstep-go/lockstep/trace"
)

// Node is the event-driven program of a node. It is not the node's number, which is a [lockstep.Node]. Messages are
// values of type M, which the program must not change after sending them.
//
// [With] declares optional capabilities, such as hashing the state or reusing the program.
type Node[M any] interface {
	// Start is called at the beginning of a run and after a restart.
	Start(c *Context[M])
	// Receive is called when a message arrives.
	Receive(c *Context[M], from lockstep.Node, m M)
	// Timeout is called when the node's timer fires.
	Timeout(c *Context[M])
	// Request is called when a client's request reaches the node.
	Request(c *Context[M], id int32, text string)
}

// Cluster is a [lockstep.System] of nodes that all run the same program. It is a value: [Cluster.Deploy] makes the
// running system.
type Cluster[M any] struct {
	// Name is the name of the target.
	Name string
	// Options are the settings of the cluster, recorded in traces.
	Options map[string]string
	// Nodes is the number of nodes.
	Nodes int
	// New creates the program of one node.
	New func(self lockstep.Node, nodes int) Node[M]
	// Type returns the type of a message; nil means "message".
	Type func(M) string
	// Types and Events list the types of messages and events that programs send and emit; nil means that they are not
	// known in advance.
	Types, Events []string
	// Tag returns the phase and round of a message; nil means that there are no tags.
	Tag func(M) trace.Tag
	// Rounds names the rounds of a phase, if there are tags.
	Rounds []string
	// Text formats the content of a message as text; nil means fmt's %v.
	Text func(M) string
	// Parse parses the body of a Replace step: a whole message as text, possibly of another type than the replaced
	// message. If it is nil, messages cannot be forged.
	Parse func(string) (M, error)
	// Requests are the client requests, offered to every node from the start.
	Requests []string
	// Repeat is how often each request is offered; 0 means once. After a request was given to a node, it waits again
	// under a new number. The n-th request has the numbers n, n+len(Requests), and so on.
	Repeat int
	// Generate draws the content of a client request, in place of the list Requests. It is called when the request is
	// given to a node, so that shrinking a run reduces and simplifies its requests.
	Generate gen.Gen[string]
	// GeneratedRequests is the number of requests whose content Generate draws. They are offered to every node from the
	// start.
	GeneratedRequests int
	// Begin, if set, creates the shared state of a run that is no part of the system, such as the clients of kit/kv. It
	// is called before the nodes start and may offer its own requests. Programs get its result from Context.Shared.
	Begin func(out *lockstep.Outbox, draws *lockstep.Source) any
	// Roles names the roles of nodes, if programs have the capability Role.
	Roles []string
	// FIFO says that messages on a link are delivered in sending order.
	FIFO bool
	// Draws names what programs draw from Context.Rand, like "election timeouts"; empty means nothing.
	Draws string
	// Serial says that programs share state of the process, so only one run may execute at a time.
	Serial bool
}

// Describe returns the description and the capabilities of the cluster.
func (c Cluster[M]) Describe() (lockstep.Info, error) {
	if c.New == nil {
		return lockstep.Info{}, fmt.Errorf("sim: cluster %s has no New, so no programs", c.Name)
	}
	supports := trace.KindsOf(trace.Deliver, trace.Drop, trace.Duplicate, trace.Timer,
		trace.Crash, trace.Restart, trace.Request, trace.Cut, trace.Heal)
	if c.Parse != nil {
		supports |= trace.KindsOf(trace.Replace)
	}
	info := lockstep.Info{
		Name:     c.Name,
		Options:  c.Options,
		Nodes:    c.Nodes,
		Supports: supports,
		FIFO:     c.FIFO,
		Draws:    c.Draws,
		Rounds:   c.Rounds,
		Roles:    c.Roles,
		Types:    c.Types,
		Events:   c.Events,
		Serial:   c.Serial,
	}
	switch {
	case c.GeneratedRequests < 0:
		return info, fmt.Errorf("sim: cluster %s has %d generated requests", c.Name, c.GeneratedRequests)
	case (c.Generate != nil) != (c.GeneratedRequests > 0):
		return info, fmt.Errorf(
			"sim: cluster %s has %d generated requests: Generate says how to make them, Generated how many, and one is missing",
			c.Name,
			c.GeneratedRequests,
		)
	case c.Generate != nil && len(c.Requests) > 0:
		return info, fmt.Errorf("sim: cluster %s has both a list of requests and generated ones", c.Name)
	case c.Begin != nil && (c.Generate != nil || len(c.Requests) > 0):
		return info, fmt.Errorf("sim: cluster %s has requests besides those that Begin may offer", c.Name)
	case c.Begin != nil: // the requests that Begin offers are unknown
	case c.Generate == nil:
		info.Requests = append([]string{}, c.Requests...)
	case info.Draws == "":
		info.Draws = "requests"
	default:
		info.Draws += " and requests"
	}
	return info, nil
}

// Deploy creates the nodes.
func (c Cluster[M]) Deploy(context.Context, *lockstep.Env) (lockstep.Deployment, error) {
	return c.deploy(), nil
}

func (c Cluster[M]) deploy() *Deployment[M] {
	d := &Deployment[M]{
		cluster: c,
		places:  make([]Context[M], c.Nodes),
		offers:  offers.List{Nodes: c.Nodes, Texts: c.Requests, Repeat: c.Repeat},
	}
	for i := range c.GeneratedRequests {
		d.offers.Texts = append(d.offers.Texts, fmt.Sprintf("request %d", i+1))
	}
	for i := range d.places {
		p := &d.places[i]
		p.self, p.deployment = lockstep.Node(i+1), d
		p.build()
		p.rand = rand.New(&p.chance)
	}
	return d
}

// Deployment is a running cluster.
type Deployment[M any] struct {
	cluster Cluster[M]
	offers  offers.List
	places  []Context[M]
	bodies  []M // by body number - 1
	out     *lockstep.Outbox
	runs    int
	shared  any
	draws   lockstep.Source // source of random numbers for Begin

	// Without an engine, see Bare:
	senders []link
	timers  lockstep.Nodes
	events  []lockstep.Event
}

// Reset starts all nodes of a new run.
func (d *Deployment[M]) Reset(_ context.Context, seed uint64, out *lockstep.Outbox) error {
	d.out = out
	if d.cluster.Begin != nil {
		d.draws.Seed(out, seed, uint64(d.cluster.Nodes))
		d.shared = d.cluster.Begin(out, &d.draws)
	}
	d.start(seed)
	d.offers.Begin(out)
	if out.Texts() {
		out.States(d.state)
	}
	return nil
}

// start returns every node to its initial state and starts it.
func (d *Deployment[M]) start(seed uint64) {
	d.bodies = d.bodies[:0]
	for i := range d.places {
		p := &d.places[i]
		p.chance.Seed(d.out, seed, uint64(i))
		if d.runs > 0 {
			p.renew()
		}
		if p.wipe != nil {
			p.wipe()
		}
	}
	d.runs++
	for i := range d.places {
		d.places[i].start()
	}
}

// Do executes one step.
func (d *Deployment[M]) Do(_ context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	if s.Kind == trace.Deliver { // the most frequent kind
		m := out.Message(s.Msg)
		p := &d.places[m.To-1]
		p.node.Receive(p, m.From, d.bodies[m.Body-1])
	} else if err := d.other(s, out); err != nil {
		return err
	}
	if out.Texts() {
		out.States(d.state)
	}
	return nil
}

// other executes a step other than Deliver.
func (d *Deployment[M]) other(s *lockstep.Step, out *lockstep.Outbox) error {
	switch s.Kind {
	case trace.Timer:
		d.places[s.Node-1].fire()
	case trace.Request:
		p := &d.places[s.Node-1]
		p.node.Request(p, s.Request, d.request(s.Request))
	case trace.Crash:
		d.places[s.Node-1].crash()
	case trace.Restart:
		d.places[s.Node-1].start()
	case trace.Replace:
		text, body := out.Forged(s)
		m, err := d.cluster.Parse(text)
		if err != nil {
			return fmt.Errorf("forged message %q: %w", text, err)
		}
		kind, tag := d.envelope(m)
		out.Retype(s.Msg, kind, tag)
		d.bodies = append(d.bodies, m)
		if out.Texts() {
			d.describe(body)
		}
	}
	return nil
}

// request returns the content of a request. A request with repetitions left is offered again.
func (d *Deployment[M]) request(id int32) string {
	if d.cluster.Generate != nil {
		text := d.cluster.Generate(d.out.Source())
		d.out.Describe(text)
		return text
	}
	if d.cluster.Begin != nil { // Begin offered the request
		return ""
	}
	return d.offers.Given(d.out, id)
}

// describe records the text of a message.
func (d *Deployment[M]) describe(body trace.ID) { d.out.Text(body, d.text(d.bodies[body-1])) }

// text returns a message as text.
func (d *Deployment[M]) text(m M) string {
	if d.cluster.Text == nil {
		return fmt.Sprintf("%v", m)
	}
	return d.cluster.Text(m)
}

// state returns the state of a node as text.
func (d *Deployment[M]) state(n lockstep.Node) string {
	if state := d.places[n-1].can.State; state != nil {
		return state()
	}
	return ""
}

// Capabilities returns the capabilities of the deployment. It has roles if at least one program has them, and
// fingerprints if all programs do.
func (d *Deployment[M]) Capabilities() lockstep.Capabilities {
	a := lockstep.Capabilities{Body: func(body trace.ID) any { return d.bodies[body-1] }}
	prints := true
	for i := range d.places {
		can := &d.places[i].can
		if can.Role != nil {
			a.Role = d.role
		}
		prints = prints && can.Fingerprint != nil
	}
	if prints {
		a.Fingerprint = func(n lockstep.Node) uint64 { return d.places[n-1].can.Fingerprint() }
	}
	return a
}

// role returns the role of a node.
func (d *Deployment[M]) role(n lockstep.Node) string {
	if role := d.places[n-1].can.Role; role != nil {
		return role()
	}
	return ""
}

// envelope returns the part of a message that the engine knows.
func (d *Deployment[M]) envelope(m M) (kind string, tag trace.Tag) {
	kind = "message"
	if d.cluster.Type != nil {
		kind = d.cluster.Type(m)
	}
	if d.cluster.Tag != nil {
		tag = d.cluster.Tag(m)
	}
	return kind, tag
}

// Close stops the nodes and ends the programs of blocking ones.
func (d *Deployment[M]) Close() error {
	for i := range d.places {
		d.places[i].stop()
	}
	return nil
}
