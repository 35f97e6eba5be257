package bubble

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble/wire"
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

	// Sockets says that the nodes talk by package net, unaware of Lockstep: what travels on
	// their sockets is the engine's messages. That needs a program built with the overlay
	// ("lockstep go"). Node n has the address 10.0.0.n and the name "node" n. Messages have
	// the types connect, connected, refused, data, close, reset, datagram and unreachable, unless the
	// protocol is known. Sockets behave as those of Linux: see bubble/sockettest.
	Sockets bool
	// Decode gives what is written on sockets types and texts; nil means wire.Detect, which
	// knows some protocols by their first bytes.
	Decode wire.Protocol

	// Split is the share of what is written at once that travels in two parts, each of which is a
	// message of the engine; from 0 to 1. In the settling stage none does.
	Split float64

	// Freeze says that a crash stops the goroutines of a node where they are, for good, instead
	// of asking them to end: OnStop is not called for it. That needs the overlay, too. The
	// frozen stay in memory until the run ends.
	Freeze bool

	// Bury is for how long, in the time of the run, the goroutines of a node that freezes in a
	// crash go on before they do: unseen, without a network, and nothing that they do to files
	// happens. It is for programs with state of the process that nodes share, a lock or a
	// semaphore, which the dead would keep for ever; 0: not at all.
	Bury time.Duration

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
	// Files says what the files in the folders of nodes suffer; nil: nothing.
	Files *Files

	// Requests are the clients' requests, offered to every node from the start. A cluster
	// whose clients think offers requests with World.Offer instead.
	Requests []string
	// Text puts the body of a message into words; nil means fmt's %v.
	Text func(body any) string
	// Parse reads the body of a Replace step, a whole message in words, which may be of another
	// type than the one replaced; nil means that messages cannot be forged.
	Parse func(text string) (kind string, tag trace.Tag, body any, err error)
	// Rank orders what a node sends to another between two quiet moments, where sender, receiver
	// and tag are alike, before the type does; nil: all alike. It is for programs in which
	// several goroutines, or chance, decide about that order.
	Rank func(body any) int
	// Announce, where it is set, is called for each message in the order in which the engine
	// learns of them, when everybody is quiet: for bodies that carry numbers of their own. It is called for
	// what Parse made of a forged body, too.
	Announce func(w *World, from, to lockstep.Node, body any)
	// Types, Events, Rounds, Phases, Aside and Roles are as in lockstep.Info.
	Types, Events, Rounds, Aside, Roles []string
	Phases                              trace.Phases
	// Duplicates says that the network may deliver a message twice.
	Duplicates bool
	// FIFO says that messages on a link arrive in the order of sending.
	FIFO bool

	// CPUs is the number of processors that nodes see by runtime.NumCPU and runtime.GOMAXPROCS, with the overlay; 0 means DefaultCPUs.
	// Goroutines of nodes run one at a time whatever it is.
	CPUs int
	// Pace is the time after which a Wait step ends, though nothing happened; 0 means
	// DefaultPace.
	Pace time.Duration
	// Disk says how long writes to disks take; the zero value: no time.
	Disk DiskModel
	// Patience is the real time that a step may take; 0 means DefaultPatience.
	Patience time.Duration
	// Serial says that the program has state of the process, e.g. package-level variables
	// or the global random source, so that there may be only one run at a time. It gets
	// one processor (GOMAXPROCS is 1 while it is deployed), so that the order in which nodes
	// use that state is nearly always the same.
	Serial bool
	// Exact says that runs repeat always, because nothing in a node depends on the order in
	// which its goroutines run, and no two nodes emit events at the same instant. Repetition can
	// refute it.
	Exact bool
	// Warm names the runs that a process makes before its first deployment.
	Warm []*Warming
	// Seed is called at the beginning of a run, for programs that draw from a source that
	// can be seeded but not replaced; nil: nothing.
	Seed func(uint64)
}

// Describe says what the cluster is and can do.
func (c Cluster) Describe() (lockstep.Info, error) {
	if c.Start == nil {
		return lockstep.Info{}, fmt.Errorf("bubble: cluster %s has no Start, so no programs", c.Name)
	}
	if (c.Sockets || c.Freeze) && !Exact {
		return lockstep.Info{}, fmt.Errorf("bubble: cluster %s has sockets or freezes nodes, which needs a program built by \"lockstep go build\" or \"lockstep go test\"", c.Name)
	}
	if !(c.Split >= 0 && c.Split <= 1) {
		return lockstep.Info{}, fmt.Errorf("bubble: cluster %s: the share of writes to split is %v, allowed are 0..1", c.Name, c.Split)
	}
	if err := c.Disk.check(); err != nil {
		return lockstep.Info{}, fmt.Errorf("bubble: cluster %s: %w", c.Name, err)
	}
	if err := c.Faults.check(); err != nil {
		return lockstep.Info{}, fmt.Errorf("bubble: cluster %s: %w", c.Name, err)
	}
	if err := c.Files.check(); err != nil {
		return lockstep.Info{}, fmt.Errorf("bubble: cluster %s: %w", c.Name, err)
	}
	if c.Files != nil && !c.Freeze {
		return lockstep.Info{}, fmt.Errorf("bubble: cluster %s has files that suffer, and must freeze nodes in a crash: set Freeze", c.Name)
	}
	if c.Bury < 0 || c.Bury > 0 && !c.Freeze {
		return lockstep.Info{}, fmt.Errorf("bubble: cluster %s buries nodes for %v, which must not be negative and needs Freeze", c.Name, c.Bury)
	}
	if c.Pace < 0 || c.Patience < 0 || c.CPUs < 0 {
		return lockstep.Info{}, fmt.Errorf("bubble: cluster %s: pace %v, patience %v and %d processors must not be negative", c.Name, c.Pace, c.Patience, c.CPUs)
	}
	supports := trace.KindsOf(trace.Deliver, trace.Drop, trace.Crash, trace.Restart, trace.Request, trace.Cut, trace.Heal, trace.Wait)
	supports |= c.Faults.kinds()
	if c.Duplicates {
		supports |= trace.KindsOf(trace.Duplicate)
	}
	if c.Parse != nil {
		supports |= trace.KindsOf(trace.Replace)
	}
	repeats, recheck := lockstep.Roughly, 0
	if c.Exact || Exact {
		repeats, recheck = lockstep.Exactly, recheckEvery
	}
	return lockstep.Info{Name: c.Name, Build: c.Build, Options: c.Options, Nodes: c.Nodes, Supports: supports,
		FIFO: c.FIFO, Rounds: c.Rounds, Phases: c.Phases, Aside: c.Aside, Roles: c.Roles, Types: c.Types, Events: c.Events, OneClock: true,
		Pace: trace.Time(cmp.Or(c.Pace, DefaultPace)), Draws: "random numbers", Repeats: repeats, Recheck: recheck, Serial: c.Serial || Exact}, nil
}

// Deploy makes a deployment. Its nodes start with each run.
func (c Cluster) Deploy(ctx context.Context, place *lockstep.Place) (lockstep.Deployment, error) {
	for _, w := range c.Warm {
		if err := place.WarmUp(func() error { return w.do(ctx) }); err != nil {
			return nil, err
		}
	}
	c.Pace, c.Patience, c.CPUs = cmp.Or(c.Pace, DefaultPace), cmp.Or(c.Patience, DefaultPatience), cmp.Or(c.CPUs, DefaultCPUs)
	if c.Decode == nil {
		c.Decode = wire.Detect
	}
	if c.Files != nil {
		place.Prefer(inMemory())
	}
	release := wideStacks()
	if c.Serial || Exact {
		processors, narrow, undo := runtime.GOMAXPROCS(1), release, takeOver(c.Patience)
		release = func() {
			narrow()
			undo()
			runtime.GOMAXPROCS(processors)
		}
	}
	if Exact {
		_ = place.WarmUp(func() error { // which does not fail
			newDeployment(c, place, nil).warm()
			return nil
		})
	}
	return newDeployment(c, place, release), nil
}
