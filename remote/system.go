package remote

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/loopback"
	"github.com/lockstep-go/lockstep/trace"
)

// System is a [lockstep.System] of replicas in other processes.
type System struct {
	// Name is the target's name.
	Name string
	// Build names the build of the replicas, where there are several.
	Build string
	// Options are the settings that the system was made from, for traces.
	Options map[string]string
	// Nodes is the number of replicas.
	Nodes int
	// Command makes the command that starts a replica; where to report to is added to its
	// environment, and its folder is its own. Nil means that somebody else starts the
	// replicas, which then connect to Listen.
	Command func(node lockstep.Node, folder string) *exec.Cmd
	// Listen is the address to listen at; empty means a free port of the loopback.
	Listen string
	// Token is what replicas must know: a connection without it is refused. Empty means that every deployment
	// draws one and hands it to the replicas that Command starts. Replicas that somebody else starts need one
	// that is set here, of at least MinToken characters where others than this machine can connect.
	Token string
	// Kill lets a crash be the end of the replica's process, and a restart a new one.
	// Otherwise the replica is told to forget what would not survive a crash.
	Kill bool
	// Own says that replicas do things of their own accord, by clocks and threads of their
	// own: runs repeat roughly then, and time passes in Wait steps.
	Own bool
	// Pace is how long a Wait step lasts where replicas act of their own accord.
	Pace time.Duration
	// Spread lets the replicas of a worker run on all processors. Otherwise it and those that it
	// starts stay on one, a different one for each worker, unless they act of their own accord: they
	// take turns, so that nothing is lost, and what is handed over need not wake another
	// processor. It is for replicas in which many threads work on one order.
	Spread bool
	// Types, Events, Rounds and Roles are as in [lockstep.Info].
	Types, Events, Rounds, Roles []string
	// FIFO says that messages on a link arrive in the order of sending.
	FIFO bool
	// Draws names what replicas draw from the seed of a run.
	Draws string
	// Requests are the clients' requests, offered to every node from the start, and Repeat is
	// how often each is: when it has been given it waits again, under a new number.
	Requests []string
	Repeat   int
	// Forge makes the message of a Replace step from its text: the one under a number. Sent is what was sent under earlier numbers.
	// Nil means that messages cannot be forged.
	Forge func(text string, forged trace.ID, sent func(trace.ID) []byte) (kind string, tag trace.Tag, body []byte, err error)
	// Body is what scenarios see of a message; nil means its bytes.
	Body func([]byte) any
	// Clients, where it is set, make the requests, by programs of their own. Requests then only lists what they ask for.
	Clients *Clients
	// Fresh says that replicas cannot forget a run: each run starts new processes, which needs Kill.
	Fresh bool
	// Timeless says that replicas set no timers of the engine's.
	Timeless bool
	// Serial says that there may be only one deployment at a time.
	Serial bool
	// Value makes the value of an event of its words; nil means that the words are the value.
	Value func(event, text string) any
	// Limits bound what a replica may do.
	Limits Limits
	// Stats counts, where it is set.
	Stats *Stats
}

// Clients are programs outside of the replicas that make requests.
type Clients struct {
	// Begin starts the clients when the replicas of a run have started, and offers their requests.
	Begin func(context.Context, *lockstep.Outbox) error
	// Request lets a client make the request of a step. Then time passes, so that it arrives.
	Request func(*lockstep.Step, *lockstep.Outbox) error
	// Report reports what clients have heard, after each step, and that one of them ended.
	Report func(*lockstep.Outbox) error
	// Stop ends the clients of a run.
	Stop func()
}

// Limits bound what a replica may do. One that goes beyond makes its run worthless.
type Limits struct {
	// Patience is how long a replica may take for an order, and to begin; 0 means 10 s.
	Patience time.Duration
	// Effects is how many messages, timers and events one order may cause; 0 means 10,000.
	Effects int
	// Bytes is the size of one report; 0 means 4 MB.
	Bytes int
}

func (l Limits) patience() time.Duration { return cmp.Or(l.Patience, 10*time.Second) }
func (l Limits) effects() int            { return cmp.Or(l.Effects, 10_000) }
func (l Limits) bytes() int              { return cmp.Or(l.Bytes, 4<<20) }

// Describe says what the system is and can do.
func (s System) Describe() (lockstep.Info, error) {
	if err := s.check(); err != nil {
		return lockstep.Info{}, err
	}
	info := lockstep.Info{Name: s.Name, Build: s.Build, Options: s.Options, Nodes: s.Nodes, FIFO: s.FIFO,
		Types: s.Types, Events: s.Events, Rounds: s.Rounds, Roles: s.Roles, Draws: s.Draws,
		Requests: append([]string{}, s.Requests...), Serial: s.Serial || s.Command == nil || s.Listen != "",
		Supports: trace.KindsOf(trace.Deliver, trace.Drop, trace.Duplicate, trace.Alarm,
			trace.Crash, trace.Restart, trace.Request, trace.Cut, trace.Heal)}
	if s.Forge != nil {
		info.Supports |= trace.KindsOf(trace.Replace)
	}
	if s.Timeless {
		info.Supports &^= trace.KindsOf(trace.Alarm)
	}
	if s.Own {
		info.Repeats, info.Pace = lockstep.Roughly, trace.Time(s.pace())
		info.Supports |= trace.KindsOf(trace.Wait)
	}
	return info, nil
}

// together tells whether a worker and its replicas share a processor.
func (s System) together() bool { return !s.Spread && !s.Own && s.Command != nil }

func (s System) pace() time.Duration { return cmp.Or(s.Pace, 10*time.Millisecond) }

// check finds what is wrong with the settings.
func (s System) check() error {
	switch {
	case s.Nodes < 1 || s.Nodes > 64:
		return fmt.Errorf("remote: %d nodes; 1 to 64 are possible", s.Nodes)
	case s.Command == nil && s.Listen == "":
		return fmt.Errorf("remote: %s has no Command that starts its replicas, and no address to Listen at for those that somebody else starts", s.Name)
	case s.Fresh && !s.Kill:
		return fmt.Errorf("remote: %s starts replicas for each run (Fresh), which needs Kill", s.Name)
	case s.Command == nil && s.Kill:
		return fmt.Errorf("remote: %s has no Command, so a killed replica could not be started again", s.Name)
	}
	return s.checkListen()
}

// MinToken is the least length of a token that protects an address beyond the loopback.
const MinToken = 16

// checkListen refuses an address at which a stranger could take the place of a replica.
func (s System) checkListen() error {
	if s.Listen == "" {
		return nil
	}
	local, err := loopback.Is(s.Listen)
	switch {
	case err != nil:
		return fmt.Errorf("remote: the address to listen at: %w", err)
	case s.Command == nil && s.Token == "":
		return fmt.Errorf("remote: listening at %s for replicas that somebody else starts needs a Token, which they send", s.Listen)
	case !local && s.Token != "" && len(s.Token) < MinToken:
		return fmt.Errorf("remote: listening at %s needs a Token of at least %d characters, this one has %d", s.Listen, MinToken, len(s.Token))
	}
	return nil
}

// Deploy starts a server and the replicas.
func (s System) Deploy(_ context.Context, p *lockstep.Place) (lockstep.Deployment, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return deploy(s, p)
}
