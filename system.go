package lockstep

import (
	"fmt"

	"github.com/lockstep-go/lockstep/trace"
)

// The vocabulary of a run. It belongs to package trace, so that tools which only read
// traces need nothing else.
type (
	// Node is a process under test, numbered from 1.
	Node = trace.Node
	// Nodes is a set of nodes.
	Nodes = trace.Nodes
	// ID numbers the messages of a run in the order of sending.
	ID = trace.ID
	// Tag is the phase and the round of a message.
	Tag = trace.Tag
	// Time is virtual time.
	Time = trace.Time
	// Kind says what a step does.
	Kind = trace.Kind
	// Kinds is a set of kinds of step.
	Kinds = trace.Kinds
	// Step is one choice of a run.
	Step = trace.Step
	// Message is the envelope of a message.
	Message = trace.Message
	// Event is something a node let the outside see.
	Event = trace.Event
	// Pending is a client's request that waits to be given to a node.
	Pending = trace.Pending
	// Finding is a violated property.
	Finding = trace.Finding
	// Verdict is the judgement on a run.
	Verdict = trace.Verdict
)

// System describes a system under test. It is an immutable value: the same System
// serves many workers, each with a [Deployment] of its own.
type System interface {
	// Describe states what the system is and can do, or what is wrong with its
	// configuration.
	Describe() (Info, error)
	// Deploy makes one deployment. Reset is called on it before anything else.
	Deploy() (Deployment, error)
}

// Info is what a system says of itself before the first run.
type Info struct {
	// Name is the target's name in traces and on the command line.
	Name string
	// Options are the settings that make up this system, for the header of a trace.
	Options map[string]string
	// Nodes is the number of nodes, 1 to 64.
	Nodes int
	// Supports lists the kinds of step the system can perform. A strategy that needs
	// another kind is refused before the first run.
	Supports Kinds
	// FIFO says that messages on one link must arrive in the order of sending.
	FIFO bool
	// Rounds names the rounds of a phase in order, where messages carry tags; a tag's
	// Round counts from 0. Empty: messages carry no tags and lock-step strategies go
	// by causal layers.
	Rounds []string
	// Roles names the parts that nodes play, where the deployment is a [Roles].
	Roles []string
	// Types lists the types of the messages that the system sends, and Events those of
	// its events, where it knows them. A scenario about another type is then refused
	// before the first run.
	Types, Events []string
	// Nondeterministic says that the same steps may not lead to the same effects. Every
	// run of such a system is recorded.
	Nondeterministic bool
	// Serial says that deployments share state of the process, so that only one worker
	// may run at a time.
	Serial bool
}

// Require reports which of the kinds a strategy needs the system does not support.
func (i Info) Require(who string, need Kinds) error {
	if missing := need &^ i.Supports; missing != 0 {
		return fmt.Errorf("%s needs steps that %s does not support: %s (it supports %s)", who, i.Name, missing, i.Supports)
	}
	return nil
}

// Deployment is one live system in the engine's hands. Nothing in it moves unless a
// step moves it: when Reset or Do returns, the system is quiet. A deployment whose
// parts run on their own (goroutines, processes, servers) waits for that quiet.
//
// A deployment may also be a [Describer], a [Fingerprinter], a [Bodies] or a [Roles].
type Deployment interface {
	// Reset begins a new run: every node is fresh and has started. The seed feeds
	// whatever randomness the system has of its own.
	Reset(seed uint64, out *Outbox) error
	// Do performs one step and reports what it caused. The engine has checked that the
	// step is possible. For steps on messages, out.Message gives the envelope. An error
	// means that the deployment is broken; a violated property is an event for the spec,
	// not an error, and a panic is a finding. The step must not be changed.
	Do(step *Step, out *Outbox) error
	// Close releases what the deployment holds.
	Close() error
}

// Describer is a Deployment that can put messages and states into words. It is asked
// only while a run is recorded.
type Describer interface {
	// MessageText is the message's content after "1->2 Type", e.g. "phase=1 log=a".
	MessageText(body ID) string
	// StateText is the state of a node in a few words.
	StateText(n Node) string
}

// Fingerprinter is a Deployment that can hash the state of a node. Equal states have
// equal fingerprints.
type Fingerprinter interface {
	Fingerprint(n Node) uint64
}

// Bodies is a Deployment that gives access to the system's own messages.
type Bodies interface {
	// Body is the content of a message, by the Body of its envelope.
	Body(body ID) any
}

// Outbox takes what a step caused. It is valid during Reset and Do only.
type Outbox struct{ run *Run }

// Now is the run's virtual time.
func (o *Outbox) Now() Time { return o.run.now }

// Settling reports whether the run is in its settling stage, in which faults stop. Those
// that a system has of its own, such as slow storage, are to stop then, too.
func (o *Outbox) Settling() bool { return o.run.settling }

// Message is the envelope of a message of this run. It must not be written to.
func (o *Outbox) Message(id ID) *Message { return &o.run.messages[id-1] }

// Send puts a message on its way and returns the number of its body, under which the
// system keeps it. The tag is zero where messages carry none. A message on a cut link is
// lost at once.
func (o *Outbox) Send(from, to Node, kind string, tag Tag) (body ID) {
	o.run.bodies++
	o.run.send(from, to, kind, tag, 0, o.run.bodies)
	return o.run.bodies
}

// SendAt is Send for a message that is due at a virtual time.
func (o *Outbox) SendAt(from, to Node, kind string, tag Tag, at Time) (body ID) {
	o.run.bodies++
	o.run.send(from, to, kind, tag, at, o.run.bodies)
	return o.run.bodies
}

// Forged is the body that a Replace step brings, in the words of the step's maker. The
// system keeps what it reads from them under the next number of a body, which the
// message's envelope has already.
func (o *Outbox) Forged(s *Step) string { return o.run.forged[s.Request] }

// Retype sets the type and tag of a message that got another body.
func (o *Outbox) Retype(id ID, kind string, tag Tag) {
	m := &o.run.messages[id-1]
	m.Type, m.Tag = kind, tag
}

// Event reports something that a node let the outside see.
func (o *Outbox) Event(e Event) {
	r := o.run
	r.events = append(r.events, e)
	r.mix(uint64(e.Node)<<8 | uint64(len(e.Type)))
}

// SetAlarm arms the one alarm of a node. A strategy may fire it at any time; one that
// follows virtual time fires it at the time given. A system with several timers in a
// node arms the earliest.
func (o *Outbox) SetAlarm(n Node, at Time) {
	o.run.alarms = o.run.alarms.With(n)
	o.run.alarmAt[n] = at
}

// StopAlarm disarms the alarm of a node.
func (o *Outbox) StopAlarm(n Node) { o.run.alarms = o.run.alarms.Without(n) }

// Offer announces a client's request that may be given to one of the nodes p.To.
func (o *Outbox) Offer(p Pending) { o.run.pending = append(o.run.pending, p) }

// Withdraw takes back an offered request that was not given yet.
func (o *Outbox) Withdraw(id int32) { o.run.takePending(id) }
