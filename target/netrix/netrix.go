// Package netrix runs systems that were instrumented for Netrix (Nagendra, Dragoi, Enea, Ozkan
// and others; see docs/remote.md): replicas that send their messages as JSON over HTTP/1.1 to a
// server and get them back when it says so. Nothing in them is changed. [Target] runs such a program from the command
// line; [System] is for Go tests, which may add requests of clients, tags and names of replicas.
//
// The protocol has no answer to "are you quiet?", so that quiet is a stated time of silence, and
// no number of the run, so that what comes within such a time before a run begins is taken to
// be of the run before and thrown away. Runs repeat roughly.
//
// What is taken: POST /replica, /message, /event, /state and /log. What is sent: POST /message,
// /timeout and /directive with START, STOP and RESTART.
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

// System is a [lockstep.System] of replicas that speak Netrix's protocol.
type System struct {
	// Name is the target's name.
	Name string
	// Options are the settings that the system was made from, for traces.
	Options map[string]string
	// IDs are the names of the replicas, in the order of nodes; nil means "1" to "n" for
	// Nodes of them.
	IDs   []string
	Nodes int
	// Command makes the command that starts a replica: it is to register at the address
	// server and to listen at the address self. Nil means that somebody else starts them.
	Command func(node lockstep.Node, server, self, folder string) *exec.Cmd
	// Listen is the address to listen at, on the loopback; empty means a free port.
	Listen string
	// Requests are the clients' requests, each offered once to every replica, and Request
	// carries one out: Netrix leaves that to the system. The information is what the replica
	// told of itself.
	Requests []string
	Request  func(ctx context.Context, node lockstep.Node, info map[string]any, text string) error
	// Types and Events are as in [lockstep.Info].
	Types, Events []string
	// Tag gives the phase and round of a message, where the protocol has rounds, and Rounds
	// names them.
	Tag    func(kind string, data []byte) trace.Tag
	Rounds []string
	// Silence is how long nothing must come for the system to be quiet; 0 means 20 ms.
	Silence time.Duration
	// Patience is how long replicas may take to get ready; 0 means 10 s.
	Patience time.Duration
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

func (s System) silence() time.Duration  { return cmp.Or(s.Silence, 20*time.Millisecond) }
func (s System) patience() time.Duration { return cmp.Or(s.Patience, 10*time.Second) }

// check finds what is wrong with the settings.
func (s System) check() error {
	switch n := len(s.ids()); {
	case n < 1 || n > trace.MaxNodes:
		return fmt.Errorf("netrix: %d replicas; 1 to %d are possible", n, trace.MaxNodes)
	case s.Command == nil && s.Listen == "":
		return errors.New("netrix: there is no Command that starts the replicas, and no address to Listen at for those that somebody else starts")
	case s.Silence < 0 || s.Patience < 0:
		return fmt.Errorf("netrix: silence %v and patience %v must not be negative", s.Silence, s.Patience)
	case len(s.Requests) > 0 && s.Request == nil:
		return errors.New("netrix: there are Requests, but no Request that carries them out")
	}
	if s.Listen == "" {
		return nil
	}
	ours, err := loopback.Is(s.Listen)
	if err != nil {
		return fmt.Errorf("netrix: the address to listen at: %w", err)
	}
	if !ours {
		return fmt.Errorf("netrix: %s is not on the loopback: the protocol knows no token", s.Listen)
	}
	return nil
}

// Describe says what the system is and can do.
func (s System) Describe() (lockstep.Info, error) {
	if err := s.check(); err != nil {
		return lockstep.Info{}, err
	}
	info := lockstep.Info{Name: s.Name, Options: s.Options, Nodes: len(s.ids()), Types: s.Types, Events: s.Events,
		Rounds: s.Rounds, Repeats: lockstep.Roughly, Pace: trace.Time(s.silence()), Serial: s.Command == nil || s.Listen != "",
		Requests: append([]string{}, s.Requests...),
		Supports: trace.KindsOf(trace.Deliver, trace.Drop, trace.Duplicate, trace.Alarm, trace.Crash, trace.Restart,
			trace.Cut, trace.Heal, trace.Wait, trace.Replace)}
	if s.Request != nil {
		info.Supports |= trace.KindsOf(trace.Request)
	}
	return info, nil
}

// Deploy starts the server, and the replicas where that is ours to do.
func (s System) Deploy(_ context.Context, p *lockstep.Place) (lockstep.Deployment, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return deploy(s, p)
}
