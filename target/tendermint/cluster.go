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

// Cluster is a deployment of validators: a [lockstep.System]. Its zero value has four of them, with the library's
// settings, except that all times are divided by a hundred.
type Cluster struct {
	// Nodes is the number of validators, with the same power each; 0 means 4.
	Nodes int `help:"number of validators; 0: 4" zero:"4" range:"1..10"`
	// Loss selects the effect of a lost message on its connection.
	Loss LossMode `help:"reconnect (a lost message breaks its connection, which is restored), silent (a message disappears, the connection stays)"`
	// Order selects the order in which validators process messages.
	Order OrderMode `help:"channel (as sent on each channel of a connection), free (as they arrive)"`
	// Pause is the time until a connection is made, after a validator has started and after a connection broke; 0
	// means 10ms.
	Pause time.Duration `help:"time until a connection is made, after a start and after one broke; 0: 10ms" zero:"10ms" range:"1ns.."`
	// Block is the size of a transaction that proposers put into each block, in bytes. Above 65,536 a
	// block travels in several parts. Tendermint 0.34 asks its applications for no transactions.
	Block int `help:"bytes of a transaction in each block; 0: none; Tendermint 0.34 has none" range:"0..200000"`
	// Slow is the share of writes to disk that take time, up to Disk. Without the overlay it covers only
	// received and signed messages in the write-ahead log, because the library holds a lock in other writes.
	Slow float64       `help:"share of writes that take time, 0 to 1" range:"0..1"`
	Disk time.Duration `help:"maximum duration of such a write; 0: 5ms" zero:"5ms" range:"0s.."`
	// Files makes validators use the library's own write-ahead log in files, which needs the overlay. Power is the
	// share of crashes with a power failure: these lose unsynced data, and may tear a record in two.
	Files bool    `help:"use the library's own write-ahead log in files; needs the overlay"`
	Power float64 `help:"share of crashes with a power failure, which loses unsynced data, 0 to 1; with files" range:"0..1"`

	bubble.FaultOptions
}

// LossMode selects the effect of a lost message on its connection.
type LossMode uint8

// The modes.
const (
	// Reconnect breaks the connection, as TCP would, and restores it later.
	Reconnect LossMode = iota
	// Silent loses only the message, and no validator notices.
	Silent
)

var lossModes = []string{"reconnect", "silent"}

// Words are the texts of the modes.
func (LossMode) Words() []string { return lossModes }

// String is the text of the mode.
func (l LossMode) String() string { return option.Word(lossModes, int(l)) }

// OrderMode selects the order in which validators process messages.
type OrderMode uint8

// The modes.
const (
	// ByChannel processes messages of one channel of a connection in the order of sending.
	ByChannel OrderMode = iota
	// Free processes them in the order of arrival.
	Free
)

var orderModes = []string{"channel", "free"}

// Words are the texts of the modes.
func (OrderMode) Words() []string { return orderModes }

// String is the text of the mode.
func (o OrderMode) String() string { return option.Word(orderModes, int(o)) }

type duration = time.Duration

// faster is the divisor of all times of the library: waiting costs nothing here, but the library polls its own state
// every 100 microseconds.
const faster = 100

// apart is a small offset for the library's times. Without it, several timers would fire at the same moment, in an
// order that the runtime decides.
func apart(i int) time.Duration { return time.Duration(7*i+3) * time.Microsecond }

// chainID is the name of the chain.
const chainID = "lockstep"

// began is the beginning of the chain: the virtual time at which bubbles begin.
func began() time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }

// check validates the options.
func (c Cluster) check() error {
	if err := target.Check(libraryName, c); err != nil {
		return err
	}
	if c.Power > 0 && !c.Files {
		return fmt.Errorf("%s: power is %v, which needs files=true: without files a power failure takes nothing",
			libraryName, c.Power)
	}
	return nil
}

// Describe describes the cluster and its capabilities.
func (c Cluster) Describe() (lockstep.Info, error) {
	full := target.Fill(c)
	if err := full.check(); err != nil {
		return lockstep.Info{}, err
	}
	return full.bubble(c).Describe()
}

// Deploy makes a deployment.
func (c Cluster) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	if c.Files {
		followSignals()
	}
	return target.Fill(c).bubble(c).Deploy(ctx, p)
}

// followSignals starts the goroutine of package os/signal outside bubbles: the library's log listens for a signal,
// and that goroutine would keep a bubble from becoming quiescent.
var followSignals = sync.OnceFunc(func() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	signal.Stop(c)
})

// Faulty is the number of Byzantine validators that the protocol tolerates.
func (c Cluster) Faulty() int { return (target.Fill(c).Nodes - 1) / 3 }

// bubble is the cluster as package bubble defines it.
func (c Cluster) bubble(given Cluster) bubble.Cluster {
	keys := keysOf(c.Nodes)
	gen := genesis(keys)
	cluster := bubble.Cluster{
		Name: libraryName, Build: Version(), Options: target.Changed(given, Cluster{}), Nodes: c.Nodes,
		Begin: func(w *bubble.World) { w.Value = newNetwork(c, w) },
		Start: func(n *bubble.Node) error { return start(n, c, keys[n.Self()-1], gen) },
		Network: bubble.Messages{
			Types: Kinds, Rounds: []string{"propose", "prevote", "precommit"},
			Phases: trace.Phases{Group: "height", Name: "round", Per: PhasesPerHeight},
			Aside:  []string{HasVote, HasBlockPart, VoteSetMaj23, VoteSetBits, Proof},
			Text:   func(body any) string { return body.(*Message).text() },
			Parse:  forged,
			Rank:   func(body any) int { return body.(*Message).rank() },
			Announce: func(w *bubble.World, from, to lockstep.Node, body any) {
				w.Value.(*network).number(from, to, body.(*Message))
			},
			Duplicates: true,
		},
		Events: eventTypes, Pace: bubble.DefaultPace / (faster / 10),
		Disk: bubble.DiskModel{Slow: c.Slow, Longest: c.Disk}, FaultOptions: c.FaultOptions,
		// Gossip draws from a global source.
		Process: bubble.Process{Serial: true, Seed: func(seed uint64) { seedLibrary(int64(seed)) }},
	}
	if c.Files {
		cluster.Freeze = &bubble.Freeze{Grace: grace, Files: &bubble.Files{PowerFailures: c.Power, SyncTime: c.Disk}}
	}
	return cluster
}

// forged parses a forged message.
func forged(text string) (kind string, tag trace.Tag, body any, err error) {
	m, err := Parse(text)
	if err != nil {
		return "", trace.Tag{}, nil, err
	}
	return m.Kind, m.Tag(), m, nil
}

// grace is the time in which the goroutines of a crashed validator return the resource that validators share: the
// network's lock.
const grace = time.Millisecond

// keysOf are the validators' keys, in the order of their addresses, so that the library's numbers of validators match
// the node numbers.
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

// knownKeys caches the keys by the number of validators, because generating them takes time.
var knownKeys sync.Map

// Version is the version of the library in this build. It comes from the directory of the source, because test
// programs lack module information.
func Version() string {
	at := reflect.ValueOf(mark).Pointer()
	file, _ := runtime.FuncForPC(at).FileLine(at)
	_, version, _ := strings.Cut(file, "@")
	version, _, _ = strings.Cut(version, "/")
	return version
}
