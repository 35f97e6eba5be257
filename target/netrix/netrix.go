// Package netrix tests systems that were instrumented for Netrix (Nagendra, Dragoi, Enea, Ozkan and others; see
// docs/reference/remote.md). Their replicas send their messages as JSON over HTTP/1.1 to a server, which returns them
// when it delivers them. They run unmodified. [Target] runs such a program from the command line; [System] is for Go
// tests, which may add client requests, tags and names of replicas.
//
// The protocol has no query for quiescence: silence for a configured time counts as quiescent. It has no run number
// either. Messages that arrive within such a time before a run begins count as part of the previous run, and are
// discarded. Replay is best effort.
//
// The server accepts POST /replica, /message, /event, /state and /log. It sends POST /message, /timeout and /directive
// with START, STOP and RESTART.
package netrix

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/loopback"
	"github.com/lockstep-go/lockstep/trace"
)

// System is a [lockstep.System] of replicas that use Netrix's protocol.
type System struct {
	// Name is the target's name.
	Name string
	// Options are the settings of the system, for traces.
	Options map[string]string
	// IDs are the names of the replicas, in the order of nodes; nil means "1" to "n" for n = Nodes.
	IDs   []string
	Nodes int
	// Command returns the command that starts a replica: it registers at the address server and listens at the address
	// self. Nil means that the replicas are started externally.
	Command func(node lockstep.Node, server, self, dir string) *exec.Cmd
	// Listen is the address to listen at, on the loopback; empty means a free port.
	Listen string
	// Requests are the clients' requests, each offered once to every replica, and Request performs one: Netrix leaves
	// that to the system. The information is what the replica registered about itself.
	Requests []string
	Request  func(ctx context.Context, node lockstep.Node, info map[string]any, text string) error
	// Types and Events are as in [lockstep.Info].
	Types, Events []string
	// Tag returns the phase and round of a message, if the protocol has rounds, and Rounds names them.
	Tag    func(kind string, data []byte) trace.Tag
	Rounds []string
	// Silence is how long no message must arrive for the system to be quiescent; 0 means 20 ms.
	Silence time.Duration
	// Timeout is the timeout for replicas to become ready; 0 means 10 s.
	Timeout time.Duration
}

func (s System) ids() []string {
	if s.IDs != nil {
		return s.IDs
	}
	ids := make([]string, max(s.Nodes, 0))
	for i := range ids {
		ids[i] = strconv.Itoa(i + 1)
	}
	return ids
}

func (s System) silence() time.Duration { return cmp.Or(s.Silence, 20*time.Millisecond) }
func (s System) timeout() time.Duration { return cmp.Or(s.Timeout, 10*time.Second) }

// check validates the settings.
func (s System) check() error {
	switch n := len(s.ids()); {
	case n < 1 || n > trace.MaxNodes:
		return fmt.Errorf("netrix: %d replicas; 1 to %d are possible", n, trace.MaxNodes)
	case s.Command == nil && s.Listen == "":
		return errors.New(
			"netrix: set Command to start the replicas, or Listen to an address for replicas that are started elsewhere",
		)
	case s.Silence < 0 || s.Timeout < 0:
		return fmt.Errorf("netrix: silence %v and timeout %v must not be negative", s.Silence, s.Timeout)
	case len(s.Requests) > 0 && s.Request == nil:
		return errors.New("netrix: Requests is set and Request is not: set Request to the function that sends them")
	}
	if s.Listen == "" {
		return nil
	}
	ours, err := loopback.Is(s.Listen)
	if err != nil {
		return fmt.Errorf("netrix: the address to listen at: %w", err)
	}
	if !ours {
		return fmt.Errorf("netrix: %s is not a loopback address; the protocol has no authentication, so only the "+
			"loopback is allowed", s.Listen)
	}
	return nil
}

// Describe returns the properties and capabilities of the system.
func (s System) Describe() (lockstep.Info, error) {
	if err := s.check(); err != nil {
		return lockstep.Info{}, err
	}
	info := lockstep.Info{Name: s.Name, Options: s.Options, Nodes: len(s.ids()), Types: s.Types, Events: s.Events,
		Rounds: s.Rounds, Determinism: lockstep.BestEffort, Pace: trace.Time(s.silence()), Serial: s.Command == nil ||
			s.Listen != "",
		Requests: append([]string{}, s.Requests...),
		Supports: trace.KindsOf(trace.Deliver, trace.Drop, trace.Duplicate, trace.Timer, trace.Crash, trace.Restart,
			trace.Cut, trace.Heal, trace.Wait, trace.Replace)}
	if s.Request != nil {
		info.Supports |= trace.KindsOf(trace.Request)
	}
	return info, nil
}

// Deploy starts the server, and the replicas if the system has a Command.
func (s System) Deploy(_ context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return deploy(s, p)
}
