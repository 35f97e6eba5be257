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
	// Supports lists the kinds of step that the system can perform. A strategy that needs another kind is refused
	// before the first run.
	Supports trace.Kinds
	// FIFO says that messages on one link must arrive in the order of sending.
	FIFO bool
	// Rounds names the rounds of a phase in order, if messages carry tags; a tag's Round counts from 0. It is empty if
	// messages carry no tags. A lock-step strategy then takes the messages in flight at the start of a round as those
	// of the round.
	Rounds []string
	// Phases says how drawings of a run name the phases of tags, e.g. "height 2, round 1".
	Phases trace.Phases
	// Aside lists the types of messages that have tags but belong to no round, e.g. those by which nodes report to each
	// other what they have received. Drawings of a run leave such messages out of its rounds.
	Aside []string
	// Roles names the roles of nodes, if the deployment can report them. Coverage reports list them in this order,
	// which begins with the role whose isolation is the hardest test, e.g. the leader.
	Roles []string
	// Types lists the types of all messages that the system may send, if known. A scenario about another type is then
	// refused before the first run.
	Types []string
	// Events lists the types of all events that the system may report, if known. A scenario about another type is then
	// refused before the first run.
	Events []string
	// Requests lists the texts of the requests that clients make, if all of them are known before a run; otherwise it
	// is nil. A scenario that waits for another request is then refused.
	Requests []string
	// Waits is the number of Wait steps after which a run has offered all requests and given the system time to answer
	// the last one. It is for systems that offer one request after the other as time passes; 0 means that requests do
	// not depend on time. A strategy whose rounds are periods of time is refused if its runs have fewer rounds.
	Waits int
	// OneClock says that all nodes share one clock, so that only the timer that is due first may fire. Otherwise each
	// node has its own clock and any timer may fire. The shared clock is virtual and counts nanoseconds. A campaign
	// reports how much time passed on it.
	OneClock bool
	// Pace is the time that one Wait step of a strategy or of the settling stage lasts, if the system supports Wait;
	// 0 means 1.
	Pace trace.Time
	// Determinism says whether the same steps have the same effects.
	Determinism Determinism
	// Recheck is n if a campaign should rerun one of n passing runs and compare. It is for deterministic systems whose
	// determinism should be checked; 0 means that no passing run is rerun.
	Recheck int
	// Draws names what the system draws from the seed of a run, like "election timeouts". Empty means that the same
	// steps have the same effects for any seed. A strategy that enumerates all executions does so for one seed.
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

// Env is the environment of a deployment. It has the number of the worker, which distinguishes the deployment's ports
// from those of others, and a directory of the deployment's own.
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

// PreferScratch sets the directory in which [Env.Dir] creates the deployment's own, if the plan sets none
// ([Plan].Scratch). It must be called before Dir. It is for a deployment whose files should be in memory.
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

// Capabilities are what a deployment offers beyond performing steps. A field that is zero means that the deployment
// lacks the capability.
type Capabilities struct {
	// Fingerprint hashes the state of a node. Equal states have equal fingerprints.
	Fingerprint func(Node) uint64
	// Body returns the system's own message, by the number of its body.
	Body func(body trace.ID) any
	// Text renders the system's own message as text, by the number of its body. It must be possible until the next run.
	// A deployment whose messages never change provides Text instead of calling Outbox.Text. Then only those texts are
	// rendered that are printed or compared.
	Text func(body trace.ID) string
	// Lasting says that the values of events stay unchanged until the next run. Then only those values are rendered as
	// text that are printed or compared.
	Lasting bool
	// Role names the current role of a node. It is empty if the node has none, and separates several roles by spaces.
	Role func(Node) string
	// View is any value through which specs inspect the live nodes. A spec gets it from Run.View and asserts its type.
	// The engine does not look at it.
	View any
	// Nondeterminism lists the sources of nondeterminism that the run just made has met: what the system did that may
	// differ when the run is repeated. Each entry names a source and its place in the system.
	Nondeterminism func() []string
	// Enclose makes a run inside an environment of the deployment, e.g. in a bubble of virtual time. The engine calls
	// it for each run. Enclose must call run once, which makes the whole run, from Reset to the last check of the spec.
	//
	// Enclose returns a finding about what the run left behind, such as goroutines that never end. The finding counts
	// only if the run itself found nothing. If a Do never returns, run does not return either: Enclose then returns a
	// finding or an error instead of waiting. The goroutine that called run must not continue after that.
	Enclose func(run func()) (*Finding, error)
}

// Inconclusive is the error of a Reset or Do after which the run says nothing about the system. The reason is the
// environment: a process was killed from outside, or the system did not become quiescent in time. The verdict of the
// run is unknown, with this reason. The engine replaces the deployment and the campaign continues, unless this
// happens more often than [Plan].MaxInconclusive allows.
type Inconclusive struct{ Reason string }

// Error is the reason.
func (i *Inconclusive) Error() string { return i.Reason }
