package bubble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Defaults of a cluster.
const (
	DefaultPace    = 100 * time.Millisecond
	DefaultTimeout = 10 * time.Second
	DefaultCPUs    = 2
)

// recheckEvery is the number of runs for each run that the engine reruns and compares.
const recheckEvery = 50

// Cluster is a [lockstep.System] of nodes that are ordinary Go programs. It is a value; Begin and Start make the state
// of one run.
type Cluster struct {
	// Name is the target's name. Build is the version of the program where there are several.
	Name, Build string
	// Options are the target's options from which the cluster was made. They appear in traces.
	Options map[string]string
	// Nodes is the number of nodes.
	Nodes int

	// Begin prepares what the nodes of a run share, such as its clients; nil does nothing.
	Begin func(*World)
	// Start brings a node up, at the beginning of a run and after a crash. It runs in a goroutine of the node and may
	// return or continue until the node's context ends. If it returns an error before that, the error is a finding
	// ("start").
	Start func(*Node) error

	// Network is how nodes communicate: [Messages] or [Sockets]; nil means Messages.
	Network Network

	// Freeze makes a crash stop the goroutines of a node for good, wherever they are. With nil, a crash asks them to
	// end.
	Freeze *Freeze

	// AllowExit reports whether a node may exit with a status, by os.Exit, log.Fatal or syscall.Exit. A target may
	// state that an exit with a clear error is correct. Then the exit is the node's crash: the node is down until a
	// Restart step, and the event [Exited] reports it. Otherwise, and if AllowExit is nil, the exit is a finding
	// ("exit"). Without the overlay an exit ends the process of the test.
	AllowExit func(node lockstep.Node, status int) bool

	// AllowDiskExit reports whether a node may stop because of its disk: the exit, panic or error follows a fault of
	// the disk. Then it is the node's crash, as with AllowExit, and otherwise a finding. What a system promises after
	// which fault is the target's to state. Nil allows every stop.
	AllowDiskExit func(DiskExit) bool

	// AllowLeft reports whether a goroutine may remain after all nodes were stopped. Its argument is the goroutine's
	// stack: the functions, innermost first, each with its source position. Otherwise, and if AllowLeft is nil, such
	// goroutines are a finding ("left-behind"). Such a finding ends the run before the other checks at its end.
	AllowLeft func(stack string) bool

	// Faults is the fault model of nodes besides crashes. The zero value has no faults.
	Faults Faults
	// Links is the fault model of the links between nodes. Nil means no faults.
	Links *Links
	// Preemption is the fault model of the scheduler of goroutines. The zero value preempts none.
	Preemption Preemption
	// OtherConfigurations is the number of configurations, such as versions, with which the program can restart besides
	// the usual one. Configuration 0 is the usual one; see Node.Configuration and Faults.Reconfigure.
	OtherConfigurations int
	// ConfigurationNames are the names of the configurations in events, the usual one first. Nil means their numbers.
	ConfigurationNames []string
	// NextConfigurations returns the configurations that a restart of node n may switch to from its current one. In a
	// rolling upgrade, for example, these depend on the versions of all nodes. Nil means all others.
	NextConfigurations func(w *World, n lockstep.Node, current int) []int
	// FaultOptions are the values that a user gave to a target's options for faults. An option that is not zero
	// replaces the field of Freeze.Files or of Faults that has its name; Preempt and PreemptTime replace the fields of
	// Preemption. If any option of links is not zero, the options replace Links as a whole.
	FaultOptions FaultOptions

	// Requests are the clients' requests, offered to every node from the start. A cluster with clients that react to
	// the run offers requests with World.Offer instead.
	Requests []string
	// Events and Roles are as in lockstep.Info.
	Events, Roles []string

	// Pace is the time after which a Wait step ends if nothing happened; 0 means DefaultPace.
	Pace time.Duration
	// Disk says how long writes to a [Disk] take. With the zero value they take no time.
	Disk DiskModel
	// Timeout is the real time after which the watchdog gives up a run whose nodes do not become idle in a step. 0
	// means DefaultTimeout.
	Timeout time.Duration
	// Deterministic declares that runs are deterministic even without the overlay: nothing in a node depends on the
	// order in which its goroutines run, and no two nodes emit events at the same instant. Repetition can refute it.
	Deterministic bool
	// Process describes what the nodes share because they run in one process.
	Process Process
}

// Freeze configures crashes that stop the goroutines of a node wherever they are, as kill -9 does, instead of asking
// them to end. They never continue and call no OnStop functions; a restart begins with new goroutines. Freeze needs the
// overlay. Frozen goroutines stay in memory until the run ends.
type Freeze struct {
	// Grace is how long, in the time of the run, the goroutines of a crashed node continue before they freeze.
	// Meanwhile the engine does not see them, and they have no network and no effect on files. Grace is for programs
	// with process-wide state that nodes share, such as a lock or a semaphore. Frozen goroutines would hold it until
	// the end of the run. With 0 they freeze at once.
	Grace time.Duration
	// Files is the fault model of the files in the directories of nodes. With nil, the operating system serves them
	// without faults.
	Files *Files
}

// check reports what is wrong with the settings of a crash.
func (f *Freeze) check() error {
	switch {
	case f == nil:
		return nil
	case !Overlay:
		return fmt.Errorf("a crash that freezes nodes (Freeze) %w", errOverlay)
	case f.Grace < 0:
		return fmt.Errorf("the Grace of Freeze is %v, which must not be negative", f.Grace)
	}
	return f.Files.check()
}

// Process declares what the nodes share because they run in one operating-system process, such as global variables and
// the number of processors.
type Process struct {
	// Serial declares that the program has process-wide state, such as package-level variables or the global random
	// source. Then there is only one run at a time. It gets one processor (GOMAXPROCS is 1 while the cluster is
	// deployed), so that nodes use that state nearly always in the same order. With the overlay every cluster is
	// serial.
	Serial bool
	// Seed is called at the beginning of a run, for programs that draw from a source that can be seeded but not
	// replaced; nil does nothing.
	Seed func(uint64)
	// Warm contains further runs that warm the process up before its first deployment.
	Warm []*Warming
	// CPUs is the number of processors that nodes see by runtime.NumCPU and runtime.GOMAXPROCS, with the overlay; 0
	// means DefaultCPUs. With any value, goroutines of nodes run one at a time.
	CPUs int
}

// Describe returns the cluster's properties and capabilities.
func (c Cluster) Describe() (lockstep.Info, error) {
	if c.Start == nil {
		return lockstep.Info{}, fmt.Errorf("bubble: cluster %s has no Start, so no programs", c.Name)
	}
	c, err := c.withOptions()
	if err != nil {
		return lockstep.Info{}, fmt.Errorf("bubble: cluster %s: %w", c.Name, err)
	}
	messages, sockets, err := c.network()
	if err == nil && c.Faults.Reconfigure > 0 && c.OtherConfigurations < 1 {
		err = errors.New("there is no other configuration to restart with (OtherConfigurations)")
	}
	if err == nil && len(c.ConfigurationNames) > 0 && len(c.ConfigurationNames) != c.OtherConfigurations+1 {
		err = fmt.Errorf("there are %d names of %d configurations (ConfigurationNames)", len(c.ConfigurationNames),
			c.OtherConfigurations+1)
	}
	if err == nil {
		err = cmp.Or(c.Freeze.check(), c.Disk.check(), c.Faults.check(), c.Links.check(sockets != nil),
			c.Preemption.check())
	}
	if err != nil {
		return lockstep.Info{}, fmt.Errorf("bubble: cluster %s: %w", c.Name, err)
	}
	if c.Pace < 0 || c.Timeout < 0 || c.Process.CPUs < 0 {
		return lockstep.Info{}, fmt.Errorf(
			"bubble: cluster %s: pace %v, timeout %v and %d processors must not be negative", c.Name, c.Pace, c.Timeout,
			c.Process.CPUs)
	}
	supports := trace.KindsOf(trace.Deliver, trace.Drop, trace.Crash, trace.Restart, trace.Request, trace.Cut,
		trace.Heal, trace.Wait)
	supports |= c.Faults.kinds()
	if messages.Duplicates {
		supports |= trace.KindsOf(trace.Duplicate)
	}
	if messages.Parse != nil {
		supports |= trace.KindsOf(trace.Replace)
	}
	repeats, recheck := lockstep.BestEffort, 0
	if c.Deterministic || Overlay {
		repeats, recheck = lockstep.Deterministic, recheckEvery
	}
	return lockstep.Info{
		Name:        c.Name,
		Build:       c.Build,
		Options:     c.Options,
		Nodes:       c.Nodes,
		Supports:    supports,
		FIFO:        messages.FIFO,
		Rounds:      messages.Rounds,
		Phases:      messages.Phases,
		Aside:       messages.Aside,
		Types:       messages.Types,
		Roles:       c.Roles,
		Events:      c.Events,
		OneClock:    true,
		Pace:        trace.Time(cmp.Or(c.Pace, DefaultPace)),
		Draws:       "random numbers",
		Determinism: repeats,
		Recheck:     recheck,
		Serial:      c.Process.Serial || Overlay,
	}, nil
}

// Deploy makes a deployment. Its nodes start with each run.
func (c Cluster) Deploy(ctx context.Context, env *lockstep.Env) (lockstep.Deployment, error) {
	c, err := c.withOptions()
	if err != nil {
		return nil, fmt.Errorf("bubble: cluster %s: %w", c.Name, err)
	}
	messages, sockets, err := c.network()
	if err != nil {
		return nil, fmt.Errorf("bubble: cluster %s: %w", c.Name, err)
	}
	for _, w := range c.Process.Warm {
		if err := env.WarmUp(func() error { return w.do(ctx) }); err != nil {
			return nil, err
		}
	}
	c.Pace, c.Timeout = cmp.Or(c.Pace, DefaultPace), cmp.Or(c.Timeout, DefaultTimeout)
	c.Process.CPUs = cmp.Or(c.Process.CPUs, DefaultCPUs)
	var files *Files
	if c.Freeze != nil && c.Freeze.Files != nil {
		files = c.Freeze.Files
		env.PreferScratch(inMemory())
	}
	deployed := func() *deployment {
		return &deployment{Cluster: c, messages: messages, sockets: sockets, model: files, env: env,
			incarnations: make([]*Node, c.Nodes), disks: make([]map[string]kept, c.Nodes)}
	}
	release := wideStacks()
	if c.Process.Serial || Overlay {
		processors, narrow, undo := runtime.GOMAXPROCS(1), release, takeOver(c.Timeout)
		release = func() {
			narrow()
			undo()
			runtime.GOMAXPROCS(processors)
		}
	}
	if Overlay {
		_ = env.WarmUp(func() error { // it never fails
			deployed().warm()
			return nil
		})
	}
	d := deployed()
	d.release = release
	return d, nil
}
