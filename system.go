package lockstep

import (
	"context"
	"fmt"
	"strconv"

	"github.com/lockstep-go/lockstep/internal/scratch"
	"github.com/lockstep-go/lockstep/trace"
)

// System describes a system under test. It is an immutable value: the same System
// serves many workers, each with a [Deployment] of its own.
type System interface {
	// Describe states what the system is and can do, or what is wrong with its
	// configuration.
	Describe() (Info, error)
	// Deploy makes one deployment. Reset is called on it before anything else. The context bounds what Deploy itself fetches and
	// starts; the deployment outlives it.
	Deploy(context.Context, *Place) (Deployment, error)
}

// Info is what a system says of itself before the first run.
type Info struct {
	// Name is the target's name in traces and on the command line.
	Name string
	// Build names the program that the system is part of, where there are several that
	// behave differently. Traces of one build are refused by another.
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
	// Rounds names the rounds of a phase in order, where messages carry tags; a tag's
	// Round counts from 0. Empty: messages carry no tags and lock-step strategies go
	// by causal layers.
	Rounds []string
	// Phases says what phases are called, and Aside lists the types of messages that are of no round, though they have tags: those
	// by which nodes tell each other what they have got. Both are for those who look at a run.
	Phases trace.Phases
	Aside  []string
	// Roles names the parts that nodes play, the one first that is most worth cutting
	// off, where the deployment can tell them.
	Roles []string
	// Types lists the types of the messages that the system sends, and Events those of
	// its events, where it knows them. A scenario about another type is then refused
	// before the first run.
	Types, Events []string
	// Requests lists the texts of the requests that clients make, where all of them are known
	// before a run; nil where they are not. A scenario that waits for another is then refused.
	Requests []string
	// Waits is the number of Wait steps that a run takes until all of its requests have been offered and given time, where they are offered
	// in turn as time passes; 0: requests do not depend on it. A strategy whose rounds are stretches of time is refused where it makes fewer.
	Waits int
	// OneClock says that all nodes live by the same clock, so that only the alarm that is
	// due first may fire. Otherwise each node's clock is its own and any alarm may. It is virtual
	// and counts nanoseconds, and a campaign tells how much time passed on it.
	OneClock bool
	// Pace is the time that one Wait step of a strategy or of the settling stage lasts,
	// where the system supports Wait; 0 means 1.
	Pace trace.Time
	// Repeats says whether the same steps have the same effects.
	Repeats Repeats
	// Recheck lets a campaign make one of so many passing runs again and compare, where the
	// system repeats itself exactly and that had better be checked; 0: none.
	Recheck int
	// Draws names what the system draws from the seed of a run, like "election time-outs";
	// empty means that the same steps have the same effects whatever the seed. A strategy
	// that makes all executions makes them for one seed.
	Draws string
	// Serial says that deployments share state of the process, so that there may be only
	// one at a time.
	Serial bool
}

// Repeats grades how well a system repeats itself.
type Repeats uint8

// The grades.
const (
	// Exactly: the same seed and steps have the same effects, always.
	Exactly Repeats = iota
	// Roughly: they often have. Every run is recorded as it happens, and a finding is
	// confirmed by repeating it several times.
	Roughly
)

// String is the grade as text.
func (r Repeats) String() string {
	if r == Exactly {
		return "deterministic"
	}
	return "best effort"
}

// Require reports which of the kinds a strategy needs the system does not support.
func (i Info) Require(who string, need trace.Kinds) error {
	if missing := need &^ i.Supports; missing != 0 {
		return fmt.Errorf(
			"%s needs steps that %s does not support: %s (it supports %s)",
			who,
			i.Name,
			missing,
			i.Supports,
		)
	}
	return nil
}

// pace is the time that a Wait lasts.
func (i *Info) pace() trace.Time { return max(i.Pace, 1) }

// Place is where a deployment lives: which worker it belongs to, so that it can tell its
// ports from those of others, and a folder of its own.
type Place struct {
	// Worker is the number of the worker, from 0. Two deployments that are alive at the
	// same time never have the same.
	Worker int

	root    string // where the folder is made
	folder  *scratch.Folder
	warming func() (done func()) // nil: nobody wants to know
}

// WarmUp calls a function that does what a process must do once, before the first run that counts. The time that it takes
// counts neither for the watchdog nor, by [Plan.Warming], for the time of a campaign.
func (p *Place) WarmUp(do func() error) error {
	if p.warming != nil {
		defer p.warming()()
	}
	return do()
}

// Folder is a folder that is the deployment's own. It is made when it is first asked for,
// and removed when the deployment has been closed; that of a process that was killed goes when the next is made beside it.
func (p *Place) Folder() (string, error) {
	if p.folder == nil {
		folder, err := scratch.New(p.root, strconv.Itoa(p.Worker))
		if err != nil {
			return "", fmt.Errorf("lockstep: no folder for worker %d: %w", p.Worker, err)
		}
		p.folder = folder
	}
	return p.folder.Path, nil
}

// Prefer names the folder in which that of the deployment is to be made, where the plan names none and there is none yet: for a
// deployment whose files had better be in memory.
func (p *Place) Prefer(root string) {
	if p.root == "" && p.folder == nil {
		p.root = root
	}
}

// clear removes the folder.
func (p *Place) clear() error {
	if p.folder == nil {
		return nil
	}
	folder := p.folder
	p.folder = nil
	return folder.Remove()
}

// Deployment is one live system in the engine's hands. As a rule nothing in it moves unless
// a step moves it: when Reset or Do returns, the system is quiet. A deployment whose parts
// run on their own (goroutines, processes, servers) waits for that quiet, or supports Wait,
// the step in which it moves by itself.
//
// Reset and Do return when their context ends. An error means that the deployment is broken,
// which ends the campaign, unless it is [Inconclusive]: then only this run is. A violated
// property is an event for the spec and not an error; a panic is a finding.
type Deployment interface {
	// Reset begins a new run: every node is fresh and has started. The seed feeds
	// whatever randomness the system has of its own.
	Reset(ctx context.Context, seed uint64, out *Outbox) error
	// Do performs one step and reports what it caused. The engine has checked that the
	// step is possible. For steps on messages, out.Message gives the envelope. The step
	// must not be changed.
	Do(ctx context.Context, step *Step, out *Outbox) error
	// Abilities tells what the deployment can do beyond taking steps. It is asked once.
	Abilities() Abilities
	// Close releases what the deployment holds.
	Close() error
}

// Abilities are what a deployment can do beyond taking steps; each may be missing.
type Abilities struct {
	// Fingerprint hashes the state of a node. Equal states have equal fingerprints.
	Fingerprint func(Node) uint64
	// Body is the system's own message, by the Body of its envelope.
	Body func(body trace.ID) any
	// Text puts the system's own message into words, by the Body of its envelope, at any time until the
	// next run. A deployment whose messages stay as they were sent has it instead of telling
	// texts with Outbox.Text, so that words are made only of those that somebody reads.
	Text func(body trace.ID) string
	// Lasting says that the values of events stay as they were until the next run, so that words are
	// made only of those that somebody reads.
	Lasting bool
	// Role names the part that a node plays for the time being; empty where it plays none,
	// with spaces in between where it plays several.
	Role func(Node) string
	// View is what the deployment shows of itself to specs that know its type, as [Run.View].
	View any
	// Nondeterminism lists what the system did in the run just made that may differ when the run is repeated:
	// each source of nondeterminism with its place in the system.
	Nondeterminism func() []string
	// Enclose is called for each run and must call run once, which makes the whole of it,
	// from Reset to the last look of the spec. A deployment whose goroutines live in a
	// bubble of virtual time makes the bubble here. What it returns counts where the run
	// itself found nothing: a finding about what the run left behind, or the error of a Do
	// that will never return, after which run must not go on either.
	Enclose func(run func()) (*Finding, error)
}

// Inconclusive is the error of a Reset or Do after which the run says nothing about the system, because of its
// environment: a process was killed from outside, or the system did not become quiescent in time. The verdict
// of the run is unknown, with this reason. The engine replaces the deployment and the campaign continues,
// unless that happens more often than Limits.Inconclusive allows.
type Inconclusive struct{ Reason string }

// Error is the reason.
func (w *Inconclusive) Error() string { return w.Reason }
