package bubble

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Defaults of a cluster.
const (
	DefaultPace     = 100 * time.Millisecond
	DefaultPatience = 10 * time.Second
	DefaultCPUs     = 2
)

// recheckEvery is how many runs there are for each that is made again and compared.
const recheckEvery = 50

// Cluster is a [lockstep.System] of nodes that are ordinary Go programs. It is a value; what
// belongs to one run is made by Begin and Start.
type Cluster struct {
	// Name is the target's name, Build the version of the program where there are several.
	Name, Build string
	// Options are the settings that the cluster was made from, for traces.
	Options map[string]string
	// Nodes is the number of nodes.
	Nodes int

	// Begin prepares what the nodes of a run share, such as its clients; nil: nothing.
	Begin func(*World)
	// Start brings a node up, at the beginning of a run and after a crash. It runs in a
	// goroutine of the node and may return or go on until the node's context ends. An error
	// before that is a finding ("start").
	Start func(*Node) error

	// Network is how nodes talk to each other: [Messages], which is what nil means, or [Sockets].
	Network Network

	// Freeze says that a crash freezes the goroutines of a node where they are, instead of asking them to end; nil: it asks.
	Freeze *Freeze

	// AllowExit reports whether a node may exit with a status, by os.Exit, log.Fatal or syscall.Exit: a target may state that an exit
	// with a clear error is correct. Then the exit is the node's crash: the node is down until a Restart step, and the event
	// [Exited] says so. Otherwise, and where AllowExit is nil, the exit is a finding ("exit"). Without the overlay an exit ends
	// the process of the test.
	AllowExit func(node lockstep.Node, status int) bool

	// AllowLeft reports whether a goroutine may be left when all nodes have been stopped, by its stack: the functions that it
	// is in, the innermost first, each with its place. Otherwise, and where AllowLeft is nil, such goroutines are a finding
	// ("left-behind"), which ends the run before anything else of its end is checked.
	AllowLeft func(stack string) bool

	// Faults are what nodes suffer beside crashes.
	Faults Faults

	// Requests are the clients' requests, offered to every node from the start. A cluster
	// whose clients think offers requests with World.Offer instead.
	Requests []string
	// Events and Roles are as in lockstep.Info.
	Events, Roles []string

	// Pace is the time after which a Wait step ends, though nothing happened; 0 means
	// DefaultPace.
	Pace time.Duration
	// Disk says how long writes to disks take; the zero value: no time.
	Disk DiskModel
	// Patience is the real time that a step may take; 0 means DefaultPatience.
	Patience time.Duration
	// Exact says that runs repeat always, because nothing in a node depends on the order in
	// which its goroutines run, and no two nodes emit events at the same instant. Repetition can
	// refute it.
	Exact bool
	// Process says what the nodes share because they live in one process.
	Process Process
}

// Freeze is a crash that stops the goroutines of a node where they are, for good: OnStop is not called. It needs the
// overlay. Frozen goroutines stay in memory until the run ends.
type Freeze struct {
	// Grace is for how long, in the time of the run, the goroutines of a crashed node continue before they freeze: unseen,
	// without a network, and without an effect on files. It is for programs with state of the process that nodes share, a
	// lock or a semaphore, which frozen goroutines would hold until the end of the run; 0: they freeze at once.
	Grace time.Duration
	// Files is the fault model of the files in the folders of nodes; nil: they are the operating system's.
	Files *Files
}

// check says what is wrong with a crash.
func (f *Freeze) check() error {
	switch {
	case f == nil:
		return nil
	case !Exact:
		return fmt.Errorf("a crash that freezes nodes (Freeze) %w", errOverlay)
	case f.Grace < 0:
		return fmt.Errorf("the Grace of Freeze is %v, which must not be negative", f.Grace)
	}
	return f.Files.check()
}

// Process is what nodes share because they live in one process.
type Process struct {
	// Serial says that the program has state of the process, e.g. package-level variables or the global random source, so
	// that there may be only one run at a time. It gets one processor (GOMAXPROCS is 1 while it is deployed), so that the
	// order in which nodes use that state is nearly always the same. With the overlay every cluster is serial.
	Serial bool
	// Seed is called at the beginning of a run, for programs that draw from a source that can be seeded but not replaced;
	// nil: nothing.
	Seed func(uint64)
	// Warm names the runs that a process makes before its first deployment.
	Warm []*Warming
	// CPUs is the number of processors that nodes see by runtime.NumCPU and runtime.GOMAXPROCS, with the overlay; 0 means
	// DefaultCPUs. Goroutines of nodes run one at a time whatever it is.
	CPUs int
}

// Describe says what the cluster is and can do.
func (c Cluster) Describe() (lockstep.Info, error) {
	if c.Start == nil {
		return lockstep.Info{}, fmt.Errorf("bubble: cluster %s has no Start, so no programs", c.Name)
	}
	messages, _, err := c.network()
	if err == nil {
		err = cmp.Or(c.Freeze.check(), c.Disk.check(), c.Faults.check())
	}
	if err != nil {
		return lockstep.Info{}, fmt.Errorf("bubble: cluster %s: %w", c.Name, err)
	}
	if c.Pace < 0 || c.Patience < 0 || c.Process.CPUs < 0 {
		return lockstep.Info{}, fmt.Errorf("bubble: cluster %s: pace %v, patience %v and %d processors must not be negative",
			c.Name, c.Pace, c.Patience, c.Process.CPUs)
	}
	supports := trace.KindsOf(trace.Deliver, trace.Drop, trace.Crash, trace.Restart, trace.Request, trace.Cut, trace.Heal, trace.Wait)
	supports |= c.Faults.kinds()
	if messages.Duplicates {
		supports |= trace.KindsOf(trace.Duplicate)
	}
	if messages.Parse != nil {
		supports |= trace.KindsOf(trace.Replace)
	}
	repeats, recheck := lockstep.Roughly, 0
	if c.Exact || Exact {
		repeats, recheck = lockstep.Exactly, recheckEvery
	}
	return lockstep.Info{Name: c.Name, Build: c.Build, Options: c.Options, Nodes: c.Nodes, Supports: supports, FIFO: messages.FIFO,
		Rounds: messages.Rounds, Phases: messages.Phases, Aside: messages.Aside, Types: messages.Types, Roles: c.Roles, Events: c.Events,
		OneClock: true, Pace: trace.Time(cmp.Or(c.Pace, DefaultPace)), Draws: "random numbers", Repeats: repeats, Recheck: recheck,
		Serial: c.Process.Serial || Exact}, nil
}

// Deploy makes a deployment. Its nodes start with each run.
func (c Cluster) Deploy(ctx context.Context, place *lockstep.Place) (lockstep.Deployment, error) {
	messages, sockets, err := c.network()
	if err != nil {
		return nil, fmt.Errorf("bubble: cluster %s: %w", c.Name, err)
	}
	for _, w := range c.Process.Warm {
		if err := place.WarmUp(func() error { return w.do(ctx) }); err != nil {
			return nil, err
		}
	}
	c.Pace, c.Patience = cmp.Or(c.Pace, DefaultPace), cmp.Or(c.Patience, DefaultPatience)
	c.Process.CPUs = cmp.Or(c.Process.CPUs, DefaultCPUs)
	var files *Files
	if c.Freeze != nil && c.Freeze.Files != nil {
		files = c.Freeze.Files
		place.Prefer(inMemory())
	}
	deployed := func() *deployment {
		return &deployment{Cluster: c, messages: messages, sockets: sockets, model: files, place: place,
			lives: make([]*Node, c.Nodes), disks: make([]map[string]kept, c.Nodes)}
	}
	release := wideStacks()
	if c.Process.Serial || Exact {
		processors, narrow, undo := runtime.GOMAXPROCS(1), release, takeOver(c.Patience)
		release = func() {
			narrow()
			undo()
			runtime.GOMAXPROCS(processors)
		}
	}
	if Exact {
		_ = place.WarmUp(func() error { // which does not fail
			deployed().warm()
			return nil
		})
	}
	d := deployed()
	d.release = release
	return d, nil
}
