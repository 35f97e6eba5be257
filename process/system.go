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

// System is a [lockstep.System] of unmodified servers, one process for each node. It is a value; New creates the state
// of one deployment.
type System struct {
	// Name is the target's name, and Options are the settings of the system, for traces.
	Name    string
	Options map[string]string
	// Nodes is the number of servers.
	Nodes int
	// Check validates the settings; nil: all settings are valid.
	Check func() error
	// New prepares one deployment: it fetches the program, assigns ports and links of the cluster, and returns the
	// driver of the servers. They start with the first run.
	New func(context.Context, *Cluster) (Driver, error)
	// Reuse keeps servers and their data from one run to the next, which saves their startup. Each run must then use
	// separate data. Otherwise each run starts all servers with empty directories.
	Reuse bool
	// Messages declares that links have decoders, and that the engine delivers and drops their packets one by one.
	Messages bool
	// Datagrams declares that Messages are independent of their connections. All links are detached, see Link.Detach:
	// the engine delivers each message at any time, any number of times, also in the settling stage. A cut then only
	// loses messages. Other nodes do not see a crash: connections stay open until the node is back, as after a power
	// failure. A restarted node starts at once.
	Datagrams bool
	// Forge creates the packet of a Replace step from its text, if there are Datagrams: the message with the given
	// number, and its encoding. Sent returns the bytes sent under earlier numbers. Nil: messages cannot be forged.
	Forge func(text string, body trace.ID, sent func(trace.ID) []byte) (Packet, []byte, error)
	// Body returns the value of a message that scenarios see, if there are Datagrams.
	Body func(data []byte) any
	// Stall makes a cut stall connections. Otherwise it closes them.
	Stall bool
	// Swallow makes a cut swallow single packets and keep connections: see [Swallows]. It excludes Stall.
	Swallow bool
	// Pace is the duration of a Wait step, and StartTimeout the timeout for servers to start and to agree.
	Pace, StartTimeout time.Duration
	// Events, Roles, Requests, Draws, Waits and Serial are as in [lockstep.Info]; so are Types and Rounds, which are
	// those of Messages. EventLog and EventTime need not be named.
	Events, Roles, Requests, Types, Rounds []string
	Draws                                  string
	Waits                                  int
	Serial                                 bool
}

// Driver is the target-specific part of a deployment. The engine's goroutine calls its functions, in the order in which
// they are listed here. Command and Request are required.
type Driver struct {
	// Stop ends the clients of a run, before its servers end.
	Stop func()
	// Reset prepares a run, before any server of the run starts.
	Reset func() error
	// Command returns the command that starts a node. The cluster calls it each time the node starts.
	Command func(lockstep.Node) (*exec.Cmd, error)
	// Ready reports whether a node serves, given the nodes that can agree. The cluster calls it repeatedly, for several
	// nodes concurrently. Nil: a node that was started is ready.
	Ready func(ctx context.Context, n lockstep.Node, among lockstep.Nodes) bool
	// Begin creates what the run needs when all servers are ready, and offers requests.
	Begin func(context.Context, *lockstep.Outbox) error
	// Before receives each step before it is performed.
	Before func(*lockstep.Step, *lockstep.Outbox)
	// Request performs the client request of a step, usually by Cluster.Ask.
	Request func(context.Context, *lockstep.Step, *lockstep.Outbox) error
	// Agree returns the nodes that must be ready before time passes; none: there is no wait. Nil means
	// Cluster.Agreeing.
	Agree func(*lockstep.Outbox) lockstep.Nodes
	// Advance lets time pass, after the nodes that Agree returned have become ready. Nil: it sleeps.
	Advance func(ctx context.Context, pace time.Duration, agreed lockstep.Nodes, out *lockstep.Outbox) error
	// GiveUp makes clients give up after a whole Wait step.
	GiveUp bool
	// Quiesce waits until all effects of a step were observed, before the settling stage. Nil: there is no wait.
	Quiesce func(context.Context, *lockstep.Step) error
	// Inspect reads the state of servers, whenever time passes in the settling stage.
	Inspect func(context.Context, *lockstep.Outbox) error
	// Log selects lines of the servers' logs for the trace. Nil selects none.
	Log func(line string) bool
	// Line receives each line that a node prints, at the end of the step.
	Line func(n lockstep.Node, line string, out *lockstep.Outbox)
	// Role returns the role of a node.
	Role func(context.Context, lockstep.Node) string
	// Close releases the driver's resources, when all servers have ended.
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
	case s.Stall && s.Swallow:
		return fmt.Errorf("process: %s has Stall and Swallow: a cut does one of them", s.Name)
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

// Once starts the servers without an engine, calls the function when all are ready, and ends them.
func (s System) Once(ctx context.Context, do func(*Cluster) error) error {
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
		err = do(d.Cluster)
	}
	return errors.Join(err, d.Close())
}

// breakage is the effect of a cut.
func (s System) breakage() Breakage {
	switch {
	case s.Stall:
		return Stalls
	case s.Swallow:
		return Swallows
	default:
		return Closes
	}
}

func (s System) deploy(ctx context.Context, env *lockstep.Env) (*deployment, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	c, err := NewCluster(env, s.Nodes, s.breakage())
	if err != nil {
		return nil, err
	}
	c.StartTimeout = s.StartTimeout
	driver, err := s.New(ctx, c)
	if err == nil && (driver.Command == nil || driver.Request == nil) {
		err = fmt.Errorf("process: the driver of %s has no Command or no Request", s.Name)
	}
	d := &deployment{Cluster: c, system: s, driver: driver}
	if err != nil {
		_ = d.Close()
		return nil, err
	}
	c.command, c.log, c.line, c.hands.forge = driver.Command, driver.Log, driver.Line, s.Forge
	return d, nil
}
