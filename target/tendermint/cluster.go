package tendermint

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/option"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

// Cluster is a deployment of validators: a [lockstep.System]. Its zero value is four of them,
// with the library's settings, but for all times, which are a hundredth.
type Cluster struct {
	// Nodes is the number of validators, with the same power each; 0 means 4.
	Nodes int `help:"number of validators; 0: 4" zero:"4" range:"1..10"`
	// Loss says what becomes of a connection that loses a message.
	Loss LossMode `help:"reconnect (a message lost breaks its connection, which comes back), silent (nobody knows)"`
	// Order says in which order messages are taken.
	Order OrderMode `help:"channel (as sent on each channel of a connection), free (as they arrive)"`
	// Pause is how long a broken connection stays so; 0 means 10ms.
	Pause time.Duration `help:"time until a broken connection comes back; 0: 10ms" zero:"10ms" range:"1ns.."`
	// Block is the size of a transaction that proposers put into each block, in bytes. Above 65,536 a
	// block travels in several parts. Tendermint 0.34 asks its applications for no transactions.
	Block int `help:"bytes of a transaction in each block; 0: none; not in Tendermint 0.34" range:"0..200000"`
	// Slow is the share of writes to disk that take time, up to Disk. Without the overlay
	// these are writes to the log of what was received and signed only, because the
	// library holds a lock in others.
	Slow float64       `help:"share of writes that take time, 0 to 1" range:"0..1"`
	Disk time.Duration `help:"longest time of such a write; 0: 5ms" zero:"5ms" range:"0s.."`
	// Files lets validators have the library's own write-ahead log in files, which needs the overlay. Power is the share
	// of crashes in which the power fails: these take what was not synced, and may tear a record in two.
	Files bool    `help:"the write-ahead log is the library's own, in files; needs the overlay"`
	Power float64 `help:"share of crashes in which the power fails and what was not synced is lost, 0 to 1; with files" range:"0..1"`
}

// LossMode says what becomes of a connection that loses a message.
type LossMode uint8

// The modes.
const (
	// Reconnect breaks the connection, as TCP would, and lets it come back.
	Reconnect LossMode = iota
	// Silent loses the message alone, and nobody knows.
	Silent
)

var lossModes = []string{"reconnect", "silent"}

// Words are the words of the modes.
func (LossMode) Words() []string { return lossModes }

// String is the mode's word.
func (m LossMode) String() string { return option.Word(lossModes, int(m)) }

// OrderMode says in which order messages are taken.
type OrderMode uint8

// The modes.
const (
	// ByChannel takes messages of one channel of a connection in the order of sending.
	ByChannel OrderMode = iota
	// Free takes them as they arrive.
	Free
)

var orderModes = []string{"channel", "free"}

// Words are the words of the modes.
func (OrderMode) Words() []string { return orderModes }

// String is the mode's word.
func (m OrderMode) String() string { return option.Word(orderModes, int(m)) }

type duration = time.Duration

// faster is by how much all times of the library are divided: waiting costs nothing here, but
// the library looks at its own state every 100 microseconds.
const faster = 100

// apart is a little time by which times of the library differ from round ones: what falls due at the same
// moment happens in an order that is the runtime's.
func apart(i int) time.Duration { return time.Duration(7*i+3) * time.Microsecond }

// chainID is the name of the chain.
const chainID = "lockstep"

// began is when the chain begins: the virtual time at which bubbles do.
func began() time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }

// check reports what is wrong with the options.
func (c Cluster) check() error {
	if err := target.Check(libraryName, c); err != nil {
		return err
	}
	if c.Power > 0 && !c.Files {
		return fmt.Errorf("%s: power is %v, which needs files=true: without files a power failure takes nothing", libraryName, c.Power)
	}
	return nil
}

// Describe says what the cluster is and can do.
func (c Cluster) Describe() (lockstep.Info, error) {
	full := target.Fill(c)
	if err := full.check(); err != nil {
		return lockstep.Info{}, err
	}
	return full.bubble(c).Describe()
}

// Deploy makes a deployment.
func (c Cluster) Deploy(ctx context.Context, p *lockstep.Place) (lockstep.Deployment, error) {
	if c.Files {
		followSignals()
	}
	return target.Fill(c).bubble(c).Deploy(ctx, p)
}

// followSignals lets the goroutine of package os/signal begin outside bubbles: the library's log follows a
// signal, and in a bubble that goroutine would never be quiet.
var followSignals = sync.OnceFunc(func() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	signal.Stop(c)
})

// Faulty is the number of validators that the protocol survives when they lie.
func (c Cluster) Faulty() int { return (target.Fill(c).Nodes - 1) / 3 }

// bubble is the cluster as the room of goroutine systems knows it.
func (c Cluster) bubble(given Cluster) bubble.Cluster {
	keys := keysOf(c.Nodes)
	gen := genesis(keys)
	cluster := bubble.Cluster{
		Name: libraryName, Build: Version(), Options: target.Changed(given, Cluster{}), Nodes: c.Nodes,
		Begin: func(w *bubble.World) { w.Value = newNetwork(c, w) },
		Start: func(n *bubble.Node) error { return start(n, c, keys[n.Self()-1], gen) },
		Text:  func(body any) string { return body.(*Message).text() },
		Parse: func(text string) (string, trace.Tag, any, error) {
			m, err := Parse(text)
			if err != nil {
				return "", trace.Tag{}, nil, err
			}
			return m.Kind, m.Tag(), m, nil
		},
		Rank: func(body any) int { return body.(*Message).rank() },
		Announce: func(w *bubble.World, from, to lockstep.Node, body any) {
			w.Value.(*network).number(from, to, body.(*Message))
		},
		Types: Kinds, Events: eventTypes, Rounds: []string{"propose", "prevote", "precommit"},
		Phases: trace.Phases{Group: "height", Name: "round", Per: PhasesPerHeight}, Aside: []string{HasVote, HasBlockPart, VoteSetMaj23, VoteSetBits, Proof},
		Duplicates: true, Pace: bubble.DefaultPace / (faster / 10),
		Disk: bubble.DiskModel{Slow: c.Slow, Longest: c.Disk},
		// Gossip draws from a global source.
		Serial: true, Seed: func(seed uint64) { seedLibrary(int64(seed)) },
	}
	if c.Files {
		cluster.Freeze, cluster.Bury, cluster.Files = true, burial, &bubble.Files{PowerFailures: c.Power, SyncTime: c.Disk}
	}
	return cluster
}

// burial is the time that the goroutines of a validator that froze in its crash have to give back what validators share: the
// network's lock.
const burial = time.Millisecond

// keysOf are the validators' keys, in the order of their addresses, so that the library numbers
// validators as we do.
func keysOf(n int) []privKey {
	if keys, ok := knownKeys.Load(n); ok {
		return keys.([]privKey)
	}
	var keys []privKey
	for i := range n {
		keys = append(keys, keyFromSecret(fmt.Appendf(nil, "validator %d", i)))
	}
	slices.SortFunc(keys, func(a, b privKey) int { return bytes.Compare(a.PubKey().Address(), b.PubKey().Address()) })
	knownKeys.Store(n, keys)
	return keys
}

// knownKeys are the keys of so many validators, which take time to make.
var knownKeys sync.Map

// Version is the version of the library in this build, by the folder that it was built from:
// test programs do not know their modules.
func Version() string {
	at := reflect.ValueOf(mark).Pointer()
	file, _ := runtime.FuncForPC(at).FileLine(at)
	_, version, _ := strings.Cut(file, "@")
	version, _, _ = strings.Cut(version, "/")
	return version
}
