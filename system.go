package lockstep

import (
	"context"
	"fmt"
	"strconv"

	"github.com/lockstep-go/lockstep/internal/scratch"
	"github.com/lockstep-go/lockstep/trace"
)

// System describes a system under test. It is an immutable value: the same System serves many workers, each with a
// [Deployment] of its own.
type System interface {
	// Describe states the name and capabilities of the system, or the error in its configuration.
	Describe() (Info, error)
	// Deploy makes one deployment. Reset is called on it before any other method. The context bounds what Deploy
	// itself fetches and starts; the deployment outlives it.
	Deploy(context.Context, *Env) (Deployment, error)
}

// Info is a system's description of itself before the first run.
type Info struct {
	// Name is the target's name in traces and on the command line.
	Name string
	// Build names the program that the system is part of, if several programs exist that behave differently. Traces
	// of one build are refused by another.
	Build string
	// Options are the settings that make up this system, for the header of a trace.
	Options map[string]string
	// Nodes is the number of nodes, 1 to 64.
	Nodes int
	// Supports lists the kinds of step the system can perform. A strategy that needs
	// another kind is refused before the first run.
	Supports trace.Kinds
	// FIFO says that messages on one link must arrive in the order of sending.
	FIFO bool
	// Rounds names the rounds of a phase in order, if messages carry tags; a tag's Round counts from 0. Empty:
	// messages carry no tags and lock-step strategies use causal layers.
	Rounds []string
	// Phases says what phases are called, and Aside lists the types of messages that belong to no round, though they
	// have tags. Nodes use them to report to each other what they have received. Both are for readers of a run.
	Phases trace.Phases
	Aside  []string
	// Roles names the roles of nodes, the most rewarding one to isolate first, if the deployment can report them.
	Roles []string
	// Types lists the types of the messages that the system sends, and Events those of its events, if known. A
	// scenario about another type is then refused before the first run.
	Types, Events []string
	// Requests lists the texts of the requests that clients make, if all of them are known before a run; otherwise it
	// is nil. A scenario that waits for another request is then refused.
	Requests []string
	// Waits is for systems that offer requests in turn as time passes. It is the number of Wait steps until a run has
	// offered all of its requests and given them time. 0: requests do not depend on it. A strategy with time-based
	// rounds is refused if it makes fewer.
	Waits int
	// OneClock says that all nodes share one clock, so that only the timer that is due first may fire. Otherwise each
	// node has its own clock and any timer may fire. The shared clock is virtual and counts nanoseconds, and a
	// campaign reports how much time passed on it.
	OneClock bool
	// Pace is the time that one Wait step of a strategy or of the settling stage lasts, if the system supports Wait;
	// 0 means 1.
	Pace trace.Time
	// Determinism says whether the same steps have the same effects.
	Determinism Determinism
	// Recheck is n if a campaign should rerun one of n passing runs and compare. It is for deterministic systems
	// whose determinism should be checked; 0: none.
	Recheck int
	// Draws names what the system draws from the seed of a run, like "election timeouts". Empty means that the same
	// steps have the same effects for any seed. A strategy that makes all executions makes them for one seed.
	Draws string
	// Serial says that deployments share state of the process, so that only one may exist at a time.
	Serial bool
}

// Determinism says how well a system repeats its runs.
type Determinism uint8

// The grades of determinism.
const (
	// Deterministic: the same seed and steps always have the same effects.
	Deterministic Determinism = iota
	// BestEffort: they often have the same effects. Every run is recorded as it happens, and a finding is confirmed
	// by repeating it several times.
	BestEffort
)

// String is the grade as text.
func (d Determinism) String() string {
	if d == Deterministic {
		return "deterministic"
	}
	return "best effort"
}

// Require reports which of a strategy's needed kinds of step the system does not support.
func (i Info) Require(strategy string, need trace.Kinds) error {
	if missing := need &^ i.Supports; missing != 0 {
		return fmt.Errorf("%s needs steps that %s does not support: %s (it supports %s)", strategy, i.Name, missing,
			i.Supports)
	}
	return nil
}

// pace is the time that a Wait lasts.
func (i *Info) pace() trace.Time { return max(i.Pace, 1) }

// Env is the environment of a deployment: its worker's number, which distinguishes its ports from those of other
// deployments, and a directory of its own.
type Env struct {
	// Worker is the number of the worker, from 0. Two concurrent deployments never have the same.
	Worker int

	root    string // parent of the directory
	dir     *scratch.Dir
	warming func() (done func()) // nil: no caller wants to know
}

// WarmUp calls a function that does the work that a process must do once, before the first run that counts. Its time
// counts neither for the watchdog nor, by [Plan.Warming], for the time of a campaign.
func (e *Env) WarmUp(do func() error) error {
	if e.warming != nil {
		defer e.warming()()
	}
	return do()
}

// Dir is the deployment's own directory. It is created at the first call, and removed when the deployment has been
// closed. The directory of a killed process is removed when the next one is created beside it.
func (e *Env) Dir() (string, error) {
	if e.dir == nil {
		dir, err := scratch.New(e.root, strconv.Itoa(e.Worker))
		if err != nil {
			return "", fmt.Errorf("lockstep: no directory for worker %d: %w", e.Worker, err)
		}
		e.dir = dir
	}
	return e.dir.Path, nil
}

// Prefer sets the parent of the deployment's directory, if the plan sets none and the directory does not exist yet.
// It is for a deployment whose files should be in memory.
func (e *Env) PreferScratch(root string) {
	if e.root == "" && e.dir == nil {
		e.root = root
	}
}

// clear removes the directory.
func (e *Env) clear() error {
	if e.dir == nil {
		return nil
	}
	dir := e.dir
	e.dir = nil
	return dir.Remove()
}

// Deployment is one running system under the engine's control. Normally it moves only in a step: when Reset or Do
// returns, the system is quiescent. A deployment whose parts run on their own (goroutines, processes, servers) waits
// until they are quiescent, or supports Wait, the step in which it moves on its own.
//
// Reset and Do return when their context ends. An error means that the deployment is broken, which ends the campaign.
// If the error is [Inconclusive], only this run ends. A violated property is an event for the spec and not an error;
// a panic is a finding.
type Deployment interface {
	// Reset begins a new run: every node is fresh and has started. The seed feeds the system's own randomness.
	Reset(ctx context.Context, seed uint64, out *Outbox) error
	// Do performs one step and reports its effects. The engine has checked that the step is possible. For steps on
	// messages, out.Message gives the envelope. Do must not change the step.
	Do(ctx context.Context, step *Step, out *Outbox) error
	// Capabilities returns the optional capabilities of the deployment. The engine asks once.
	Capabilities() Capabilities
	// Close releases the deployment's resources.
	Close() error
}

// Capabilities are the optional capabilities of a deployment, beyond taking steps; each may be missing.
type Capabilities struct {
	// Fingerprint hashes the state of a node. Equal states have equal fingerprints.
	Fingerprint func(Node) uint64
	// Body is the system's own message, by the Body of its envelope.
	Body func(body trace.ID) any
	// Text renders the system's own message as text, by the Body of its envelope, at any time until the next run. A
	// deployment with immutable messages provides Text instead of calling Outbox.Text, so that only texts with a
	// reader are rendered.
	Text func(body trace.ID) string
	// Lasting says that the values of events stay unchanged until the next run, so that only values with a reader are
	// rendered as text.
	Lasting bool
	// Role names the current role of a node. It is empty if the node has none, and separates several roles by spaces.
	Role func(Node) string
	// View is the deployment's view for specs that know its type, as [Run.View].
	View any
	// Nondeterminism lists what the system did in the run just made that may differ when the run is repeated. Each
	// entry is a source of nondeterminism with its place in the system.
	Nondeterminism func() []string
	// Enclose is called for each run and must call run once. That call makes the whole run, from Reset to the last
	// check of the spec. A deployment whose goroutines run in a bubble of virtual time makes the bubble here.
	// Enclose's result counts if the run itself found nothing. It is a finding about leftovers of the run, or the
	// error of a Do that will never return. In the latter case run must not continue either.
	Enclose func(run func()) (*Finding, error)
}

// Inconclusive is the error of a Reset or Do after which the run says nothing about the system. The reason is the
// environment: a process was killed from outside, or the system did not become quiescent in time. The verdict of the
// run is unknown, with this reason. The engine replaces the deployment and the campaign continues, unless this
// happens more often than Plan.MaxInconclusive allows.
type Inconclusive struct{ Reason string }

// Error is the reason.
func (i *Inconclusive) Error() string { return i.Reason }
