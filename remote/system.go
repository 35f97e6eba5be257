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
	// Build names the build of the replicas, if there are several.
	Build string
	// Options are the settings of the system, for traces.
	Options map[string]string
	// Nodes is the number of replicas.
	Nodes int
	// Command returns the command that starts a replica. Its environment receives the engine's address, and no other
	// replica uses its directory. Nil means that the replicas are started externally, and connect to Listen.
	Command func(node lockstep.Node, dir string) *exec.Cmd
	// Listen is the address to listen at; empty means a free port of the loopback.
	Listen string
	// Token authenticates replicas: a connection without it is refused. Empty means that every deployment draws a token
	// and passes it to the replicas that Command starts. Externally started replicas need a token that is set here. It
	// has at least MinToken characters if other machines can connect.
	Token string
	// Kill makes a crash kill the replica's process, and a restart start a new one. Otherwise the replica discards on
	// command the state that would not survive a crash.
	Kill bool
	// Own declares that replicas act on their own, by their own clocks and threads. Replay is then best effort, and
	// time passes in Wait steps.
	Own bool
	// Pace is the duration of a Wait step if replicas act on their own.
	Pace time.Duration
	// Spread lets the replicas of a worker run on all CPUs. By default a worker and its replicas share one CPU, a
	// different one for each worker, unless replicas act on their own. They take turns, so that nothing is lost, and a
	// handoff need not wake another CPU. Spread is for replicas in which many threads work on one order.
	Spread bool
	// Types, Events, Rounds and Roles are as in [lockstep.Info].
	Types, Events, Rounds, Roles []string
	// FIFO declares that messages on a link arrive in the order of sending.
	FIFO bool
	// Draws names what replicas draw from the seed of a run.
	Draws string
	// Requests are the clients' requests, offered to every node from the start. Repeat is how often each is offered:
	// after it is performed it is offered again, under a new number.
	Requests []string
	Repeat   int
	// Forge creates the message of a Replace step from its text: the one with the given number. Sent returns the body
	// sent under earlier numbers. Nil means that messages cannot be forged.
	Forge func(
		text string, forged trace.ID, sent func(trace.ID) []byte) (kind string, tag trace.Tag, body []byte, err error)
	// Body returns the value of a message that scenarios see; nil means its bytes.
	Body func([]byte) any
	// Clients, if set, make the requests, by separate programs. Requests then only lists their requests.
	Clients *Clients
	// Fresh declares that replicas cannot discard the state of a run. Each run then starts new processes, which needs
	// Kill.
	Fresh bool
	// Timeless declares that replicas set no timers of the engine.
	Timeless bool
	// Serial declares that only one deployment may exist at a time.
	Serial bool
	// Value converts the text of an event to its value; nil means that the text is the value.
	Value func(event, text string) any
	// Limits bound the resources of a replica.
	Limits Limits
	// Stats counts the traffic, if set.
	Stats *Stats
}

// Clients are programs outside of the replicas that make requests.
type Clients struct {
	// Begin starts the clients when the replicas of a run have started, and offers their requests.
	Begin func(context.Context, *lockstep.Outbox) error
	// Request makes a client perform the request of a step. Then time passes, so that it arrives.
	Request func(*lockstep.Step, *lockstep.Outbox) error
	// Report reports the results that clients received, after each step, and the end of a client.
	Report func(*lockstep.Outbox) error
	// Stop ends the clients of a run.
	Stop func()
}

// Limits bound the resources of a replica. A replica that exceeds them makes its run inconclusive.
type Limits struct {
	// Timeout is the timeout of an order, and of a replica's start; 0 means 10 s.
	Timeout time.Duration
	// Effects is how many messages, timers and events one order may cause; 0 means 10,000.
	Effects int
	// Bytes is the maximum size of one report; 0 means 4 MB.
	Bytes int
}

func (l Limits) timeout() time.Duration { return cmp.Or(l.Timeout, 10*time.Second) }
func (l Limits) effects() int           { return cmp.Or(l.Effects, 10_000) }
func (l Limits) bytes() int             { return cmp.Or(l.Bytes, 4<<20) }

// Describe returns the properties and capabilities of the system.
func (s System) Describe() (lockstep.Info, error) {
	if err := s.check(); err != nil {
		return lockstep.Info{}, err
	}
	info := lockstep.Info{Name: s.Name, Build: s.Build, Options: s.Options, Nodes: s.Nodes, FIFO: s.FIFO,
		Types: s.Types, Events: s.Events, Rounds: s.Rounds, Roles: s.Roles, Draws: s.Draws,
		Requests: append([]string{}, s.Requests...), Serial: s.Serial || s.Command == nil || s.Listen != "",
		Supports: trace.KindsOf(trace.Deliver, trace.Drop, trace.Duplicate, trace.Timer,
			trace.Crash, trace.Restart, trace.Request, trace.Cut, trace.Heal)}
	if s.Forge != nil {
		info.Supports |= trace.KindsOf(trace.Replace)
	}
	if s.Timeless {
		info.Supports &^= trace.KindsOf(trace.Timer)
	}
	if s.Own {
		info.Determinism, info.Pace = lockstep.BestEffort, trace.Time(s.pace())
		info.Supports |= trace.KindsOf(trace.Wait)
	}
	return info, nil
}

// together reports whether a worker and its replicas share a CPU.
func (s System) together() bool { return !s.Spread && !s.Own && s.Command != nil }

func (s System) pace() time.Duration { return cmp.Or(s.Pace, 10*time.Millisecond) }

// check validates the settings.
func (s System) check() error {
	switch {
	case s.Nodes < 1 || s.Nodes > 64:
		return fmt.Errorf("remote: %d nodes; 1 to 64 are possible", s.Nodes)
	case s.Command == nil && s.Listen == "":
		return fmt.Errorf(
			"remote: %s has no Command that starts its replicas, and no address to Listen at for replicas started elsewhere",
			s.Name,
		)
	case s.Fresh && !s.Kill:
		return fmt.Errorf("remote: %s starts replicas for each run (Fresh), which needs Kill", s.Name)
	case s.Command == nil && s.Kill:
		return fmt.Errorf("remote: %s has no Command, so a killed replica could not be started again", s.Name)
	}
	return s.checkListen()
}

// MinToken is the minimum length of a token that protects an address beyond the loopback.
const MinToken = 16

// checkListen refuses an address at which an unauthorized process could take the place of a replica.
func (s System) checkListen() error {
	if s.Listen == "" {
		return nil
	}
	local, err := loopback.Is(s.Listen)
	switch {
	case err != nil:
		return fmt.Errorf("remote: the address to listen at: %w", err)
	case s.Command == nil && s.Token == "":
		return fmt.Errorf(
			"remote: listening at %s for replicas that another program starts needs a Token, which they send", s.Listen)
	case !local && s.Token != "" && len(s.Token) < MinToken:
		return fmt.Errorf("remote: listening at %s needs a Token of at least %d characters, this one has %d", s.Listen,
			MinToken, len(s.Token))
	}
	return nil
}

// Deploy starts a server and the replicas.
func (s System) Deploy(_ context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return deploy(s, p)
}
