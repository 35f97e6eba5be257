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

// Node is an event-driven program of one node. Messages are values of type M, which the
// program must not change once they are sent.
//
// A Node may also have a method Reset(), which makes it as new: it is then used again
// after a crash and in the next run instead of being built anew. It may have a method Stop(),
// called when its life is over, by a crash or because the run is, to release what it holds. It
// may have a method Timer(c *Context[M], name string), called when a timer fires that was set by
// name; without it Alarm is. It may have a method
// Fingerprint() uint64 that hashes its state, String() string that puts it into words, and
// Role() string that names the part it plays, or several with spaces in between.
type Node[M any] interface {
	// Start is called at the beginning of a run and after a restart.
	Start(c *Context[M])
	// Receive is called when a message arrives.
	Receive(c *Context[M], from lockstep.Node, m M)
	// Alarm is called when the alarm that the node has set fires.
	Alarm(c *Context[M])
	// Request is called when a client's request reaches the node.
	Request(c *Context[M], id int32, text string)
}

// Cluster is a [lockstep.System] of nodes that all run the same kind of program.
type Cluster[M any] struct {
	// Name is the target's name.
	Name string
	// Options are the settings that the cluster was made from, for traces.
	Options map[string]string
	// Nodes is the number of nodes.
	Nodes int
	// New makes the program of one node.
	New func(self lockstep.Node, nodes int) Node[M]
	// Type names the type of a message; nil means "message".
	Type func(M) string
	// Types and Events list the types of messages and events that programs send and
	// emit; nil means that they are not known beforehand.
	Types, Events []string
	// Tag gives the phase and round of a message; nil means that there are no tags.
	Tag func(M) trace.Tag
	// Rounds names the rounds of a phase, where there are tags.
	Rounds []string
	// Text puts the content of a message into words; nil means fmt's %v.
	Text func(M) string
	// Parse reads the body of a Replace step, a whole message in words, which may be of
	// another type than the one replaced; nil means that messages cannot be forged.
	Parse func(string) (M, error)
	// Requests are the clients' requests, offered to every node from the start.
	Requests []string
	// Repeat is how often each request is offered: when it has been given it waits again,
	// under a new number. The n-th request has the numbers n, n+len(Requests), and so on. 0
	// means once.
	Repeat int
	// Generate makes the requests of clients instead of a list: there are Generated of them,
	// offered to every node from the start, and what one asks for is drawn when it is given, so
	// that shrinking a run makes its requests fewer and simpler.
	Generate  gen.Gen[string]
	Generated int
	// Begin, where it is set, makes what the nodes of a run share and what is no part of the
	// system, like the clients of kit/kv: it is called before the nodes start, may offer requests
	// of its own, and programs get what it returns from Context.Shared.
	Begin func(out *lockstep.Outbox, draws *lockstep.Chance) any
	// Roles names the parts that nodes play, where they have a method Role.
	Roles []string
	// FIFO says that messages on a link arrive in the order of sending.
	FIFO bool
	// Draws names what programs draw from Context.Rand, like "election time-outs"; empty
	// means nothing.
	Draws string
	// Serial says that programs share state of the process, so that there may be only one run
	// at a time.
	Serial bool
}

// Describe says what the cluster is and can do.
func (c Cluster[M]) Describe() (lockstep.Info, error) {
	if c.New == nil {
		return lockstep.Info{}, fmt.Errorf("sim: cluster %s has no New, so no programs", c.Name)
	}
	supports := trace.KindsOf(trace.Deliver, trace.Drop, trace.Duplicate, trace.Alarm,
		trace.Crash, trace.Restart, trace.Request, trace.Cut, trace.Heal)
	if c.Parse != nil {
		supports |= trace.KindsOf(trace.Replace)
	}
	info := lockstep.Info{Name: c.Name, Options: c.Options, Nodes: c.Nodes, Supports: supports,
		FIFO: c.FIFO, Draws: c.Draws, Rounds: c.Rounds, Roles: c.Roles, Types: c.Types, Events: c.Events, Serial: c.Serial}
	switch {
	case c.Generated < 0:
		return info, fmt.Errorf("sim: cluster %s has %d generated requests", c.Name, c.Generated)
	case (c.Generate != nil) != (c.Generated > 0):
		return info, fmt.Errorf("sim: cluster %s has %d generated requests: Generate says how to make them, Generated how many, and one is missing", c.Name, c.Generated)
	case c.Generate != nil && len(c.Requests) > 0:
		return info, fmt.Errorf("sim: cluster %s has both a list of requests and generated ones", c.Name)
	case c.Begin != nil && (c.Generate != nil || len(c.Requests) > 0):
		return info, fmt.Errorf("sim: cluster %s has requests besides those that Begin may offer", c.Name)
	case c.Begin != nil: // nobody knows what it offers
	case c.Generate == nil:
		info.Requests = append([]string{}, c.Requests...)
	case info.Draws == "":
		info.Draws = "requests"
	default:
		info.Draws += " and requests"
	}
	return info, nil
}

// Deploy makes the nodes.
func (c Cluster[M]) Deploy(context.Context, *lockstep.Place) (lockstep.Deployment, error) {
	return c.deploy(), nil
}

func (c Cluster[M]) deploy() *Deployment[M] {
	d := &Deployment[M]{cluster: c, places: make([]Context[M], c.Nodes), offers: offers.List{Nodes: c.Nodes, Texts: c.Requests, Repeat: c.Repeat}}
	for i := range c.Generated {
		d.offers.Texts = append(d.offers.Texts, fmt.Sprintf("request %d", i+1))
	}
	for i := range d.places {
		p := &d.places[i]
		p.self, p.deployment = lockstep.Node(i+1), d
		p.node = c.New(p.self, c.Nodes)
		p.rand = rand.New(&p.chance)
	}
	return d
}

// Deployment is a running cluster.
type Deployment[M any] struct {
	cluster Cluster[M]
	offers  offers.List
	places  []Context[M]
	bodies  []M // by number of the body - 1
	out     *lockstep.Outbox
	runs    int
	shared  any
	draws   lockstep.Chance // of Begin

	// Without an engine, see Bare:
	senders []link
	alarms  lockstep.Nodes
	events  []lockstep.Event
}

// Node is the program of one node, for specs that look into it.
func (d *Deployment[M]) Node(n lockstep.Node) Node[M] { return d.places[n-1].node }

// Reset starts every node anew.
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

// start makes every node as new and starts it.
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

// Do takes one step.
func (d *Deployment[M]) Do(_ context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	if s.Kind == trace.Deliver { // as a rule
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

// other takes a step other than Deliver.
func (d *Deployment[M]) other(s *lockstep.Step, out *lockstep.Outbox) error {
	switch s.Kind {
	case trace.Alarm:
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

// request is what a request asks for. One that is to be repeated is offered again.
func (d *Deployment[M]) request(id int32) string {
	if d.cluster.Generate != nil {
		text := d.cluster.Generate(d.out.Chance())
		d.out.Tell(text)
		return text
	}
	if d.cluster.Begin != nil { // it offered the request
		return ""
	}
	return d.offers.Given(d.out, id)
}

// describe puts a message into words.
func (d *Deployment[M]) describe(body trace.ID) { d.out.Text(body, d.text(d.bodies[body-1])) }

// text is a message in words.
func (d *Deployment[M]) text(m M) string {
	if d.cluster.Text == nil {
		return fmt.Sprintf("%v", m)
	}
	return d.cluster.Text(m)
}

// state is the state of a node in words.
func (d *Deployment[M]) state(n lockstep.Node) string {
	if s, ok := d.places[n-1].node.(fmt.Stringer); ok {
		return s.String()
	}
	return ""
}

// Nodes may be able to do this:
type (
	fingerprinter interface{ Fingerprint() uint64 }
	player        interface{ Role() string }
)

// Abilities are what the nodes can do beyond their steps: tell roles if one of them can, and
// fingerprints if all of them can.
func (d *Deployment[M]) Abilities() lockstep.Abilities {
	a := lockstep.Abilities{Body: func(body trace.ID) any { return d.bodies[body-1] }}
	prints := true
	for i := range d.places {
		if _, ok := d.places[i].node.(player); ok {
			a.Role = d.role
		}
		_, ok := d.places[i].node.(fingerprinter)
		prints = prints && ok
	}
	if prints {
		a.Fingerprint = func(n lockstep.Node) uint64 { return d.places[n-1].node.(fingerprinter).Fingerprint() }
	}
	return a
}

// role is the part that a node plays.
func (d *Deployment[M]) role(n lockstep.Node) string {
	if p, ok := d.places[n-1].node.(player); ok {
		return p.Role()
	}
	return ""
}

// envelope is what the engine knows of a message.
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
		if c, ok := d.places[i].node.(interface{ close() }); ok {
			c.close()
		}
	}
	return nil
}
