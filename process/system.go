package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// System is a [lockstep.System] of unmodified servers, one process for each node. It is a value: New creates the state
// of one deployment.
type System struct {
	// Name is the target's name, and Options are its options. Both appear in traces.
	Name    string
	Options map[string]string
	// Nodes is the number of servers.
	Nodes int
	// Check validates the target's options. Nil accepts all.
	Check func() error
	// New prepares one deployment: it fetches the program, assigns ports, creates links in the deployment's Network,
	// and returns the driver of the servers. The servers start with the first run.
	New func(context.Context, *Deployment) (Driver, error)
	// Reuse keeps servers and their data from one run to the next, which saves their startup. Each run must then use
	// separate data. Otherwise each run starts all servers with empty directories.
	Reuse bool
	// Messages declares that New gives links decoders by Link.Decode, and that the engine delivers and drops their
	// packets one by one.
	Messages bool
	// Datagrams is for protocols whose packets make sense on any connection and more than once. It needs the field
	// Messages, and New must call SetDetached on every link. The engine then delivers each message at any time and any
	// number of times, also in the settling stage. Its Cut and Drop steps only lose messages: connections stay open. A
	// crash is like a power failure: the other nodes notice nothing until the node restarts. A Restart step starts the
	// server at once and waits until it is ready.
	Datagrams bool
	// Forge creates the packet that a Replace step puts in the place of a message: it returns the packet and its bytes.
	// Text describes the packet, and body is its new number. The function sent returns the bytes of an earlier message
	// by its number. Forge needs Datagrams. Nil means that the engine forges no messages.
	Forge func(text string, body trace.ID, sent func(trace.ID) []byte) (Packet, []byte, error)
	// Body returns the value that scenarios see as the body of a message. It needs Datagrams.
	Body func(data []byte) any
	// Breakage is the effect of a cut on connections. The zero value is [Closes].
	Breakage Breakage
	// Pace is the duration of a Wait step.
	Pace time.Duration
	// StartTimeout is the timeout for servers to start and to become ready.
	StartTimeout time.Duration
	// Events, Roles and Requests are as in [lockstep.Info], and so are Types and Rounds, which the engine only uses
	// with Messages. Events need not contain EventLog and EventTime.
	Events, Roles, Requests, Types, Rounds []string
	// Draws, Waits and Serial are as in [lockstep.Info].
	Draws  string
	Waits  int
	Serial bool
}

// Driver is the target-specific part of a deployment: functions that the deployment calls on the engine's goroutine,
// unless a field says otherwise. Command and Request are required. Nil in another field does nothing, unless the field
// says otherwise.
//
// At the beginning of each run the deployment calls Stop, ends or keeps the servers (System.Reuse), and calls Reset. It
// starts the servers with Command, waits for all of them with Ready, and calls Begin.
//
// In each step it calls Before. A Request step calls Request. A Wait step calls MustBeReady, starts due nodes with
// Command, awaits the required nodes with Ready, and calls Advance. After that GiveUp takes effect, and Inspect is
// called in the settling stage. At the end of a step the deployment calls Quiesce, and Line and Log for each new line
// of the servers' logs.
//
// When the deployment is closed, it calls Stop, ends the servers, and calls Close.
type Driver struct {
	// Stop ends the clients of the run before. Calls of StartCall have ended already. The deployment calls Stop before
	// the first run, too.
	Stop func()
	// Reset prepares a run before its servers start. With System.Reuse, servers of the run before are still running.
	Reset func() error
	// Command returns the command that starts the server of a node. The deployment calls it at each start.
	Command func(lockstep.Node) (*exec.Cmd, error)
	// Ready reports whether a node is ready to serve. The nodes in among are those that must become ready together, for
	// example to elect a leader. The deployment calls Ready repeatedly, in one goroutine for each node. Nil means that
	// a node is ready once it was started.
	Ready func(ctx context.Context, n lockstep.Node, among lockstep.Nodes) bool
	// Begin creates what the run needs, such as clients, and offers requests. All servers are ready.
	Begin func(context.Context, *lockstep.Outbox) error
	// Before receives each step before it is performed.
	Before func(*lockstep.Step, *lockstep.Outbox)
	// Request performs the client request of a step, usually by Deployment.StartCall.
	Request func(context.Context, *lockstep.Step, *lockstep.Outbox) error
	// MustBeReady returns the nodes that must become ready before a Wait step lets time pass. If it returns none, the
	// step does not wait for servers. Nil means Deployment.MustBeReady.
	MustBeReady func(*lockstep.Outbox) lockstep.Nodes
	// Advance lets time pass in a Wait step, usually for the duration pace. The nodes in ready are those that
	// MustBeReady returned; they are ready now. Nil means that the deployment sleeps for pace.
	Advance func(ctx context.Context, pace time.Duration, ready lockstep.Nodes, out *lockstep.Outbox) error
	// GiveUp ends the contexts of all pending calls at the end of every Wait step, and waits until the calls return. So
	// a call lasts at most until the end of the first Wait step after its Request step.
	GiveUp bool
	// Quiesce waits until the servers have reacted to a step. The deployment calls it after each step of the exploring
	// stage, and with System.Datagrams also in the settling stage.
	Quiesce func(context.Context, *lockstep.Step) error
	// Inspect reads the state of servers for the spec, at the end of each Wait step of the settling stage.
	Inspect func(context.Context, *lockstep.Outbox) error
	// Log selects the log lines that become events of the type EventLog. Nil selects none.
	Log func(line string) bool
	// Line receives each line that a server has logged during the step.
	Line func(n lockstep.Node, line string, out *lockstep.Outbox)
	// Role returns the role of a node, such as leader. The engine may call it after any step.
	Role func(context.Context, lockstep.Node) string
	// Close releases the driver's resources when all servers have ended.
	Close func()
}

// Describe returns the properties and capabilities of the system.
func (s System) Describe() (lockstep.Info, error) {
	if err := s.check(); err != nil {
		return lockstep.Info{}, err
	}
	info := lockstep.Info{
		Name:        s.Name,
		Options:     s.Options,
		Nodes:       s.Nodes,
		Pace:        trace.Time(s.Pace),
		Determinism: lockstep.BestEffort,
		Events:      append(s.Events[:len(s.Events):len(s.Events)], EventLog, EventTime),
		Roles:       s.Roles,
		Requests:    s.Requests,
		Draws:       s.Draws,
		Waits:       s.Waits,
		Serial:      s.Serial,
		Supports:    Kinds | trace.KindsOf(trace.Request, trace.Wait),
	}
	if s.Messages {
		info.Supports |= PacketKinds
		info.Types, info.Rounds = s.Types, s.Rounds
	}
	if s.Datagrams {
		info.Supports |= trace.KindsOf(trace.Duplicate)
		if s.Forge != nil {
			info.Supports |= trace.KindsOf(trace.Replace)
		}
	}
	return info, nil
}

// check validates the settings.
func (s System) check() error {
	if s.Check != nil {
		if err := s.Check(); err != nil {
			return err
		}
	}
	switch {
	case s.New == nil:
		return fmt.Errorf("process: %s has no New, so no servers", s.Name)
	case s.Nodes < 1 || s.Nodes > 64:
		return fmt.Errorf("process: %s has %d nodes, allowed are 1..64", s.Name, s.Nodes)
	case s.Datagrams && !s.Messages, (s.Forge != nil || s.Body != nil) && !s.Datagrams:
		return fmt.Errorf("process: %s has Datagrams without Messages, or Forge or Body without Datagrams", s.Name)
	case s.Breakage > Swallows:
		return fmt.Errorf("process: %s has Breakage %d, allowed are Closes, Stalls and Swallows", s.Name, s.Breakage)
	case s.Pace < 0 || s.StartTimeout <= 0:
		return fmt.Errorf("process: %s has pace %s and timeout %s, which must be positive", s.Name, s.Pace, s.StartTimeout)
	}
	return nil
}

// Deploy creates a deployment; its servers start with the first run.
func (s System) Deploy(ctx context.Context, env *lockstep.Env) (lockstep.Deployment, error) {
	d, err := s.deploy(ctx, env)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Once starts the servers without an engine, calls the function when all are ready, and ends them. It is for
// preparations and for tests of a driver.
func (s System) Once(ctx context.Context, do func(*Deployment) error) error {
	var env lockstep.Env
	dir, err := env.Dir()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	d, err := s.deploy(ctx, &env)
	if err != nil {
		return err
	}
	err = d.start(ctx, 0)
	if err == nil {
		err = do(d.Deployment)
	}
	return errors.Join(err, d.Close())
}

func (s System) deploy(ctx context.Context, env *lockstep.Env) (*driven, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	c, err := NewDeployment(env, s.Nodes, s.Breakage)
	if err != nil {
		return nil, err
	}
	c.StartTimeout = s.StartTimeout
	driver, err := s.New(ctx, c)
	if err == nil && (driver.Command == nil || driver.Request == nil) {
		err = fmt.Errorf("process: the driver of %s has no Command or no Request", s.Name)
	}
	d := &driven{Deployment: c, system: s, driver: driver}
	if err != nil {
		_ = d.Close()
		return nil, err
	}
	c.command, c.log, c.line, c.hands.forge = driver.Command, driver.Log, driver.Line, s.Forge
	return d, nil
}
