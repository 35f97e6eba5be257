//go:build lockstep_overlay

package dragonboattest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	_ "unsafe" // for linkname

	"github.com/lni/dragonboat/v4"
	"github.com/lni/dragonboat/v4/config"
	"github.com/lni/dragonboat/v4/logger"
	"github.com/lni/dragonboat/v4/statemachine"

	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/kit/kv"
)

// nodes is the number of nodes, each with a replica of the one shard.
const nodes, shard = 3, 1

// timeout is how long a client waits for an answer of its node.
const timeout = 2 * time.Second

var load = kv.Load{Clients: 3, Requests: 20, Keys: 2}

// options are what the tests vary.
type options struct {
	stale   bool // reads are of the state of the node, without asking the leader
	amnesia bool // a crash takes the node's files

	// snapshots means that nodes make snapshots often and send them to one another. They store and send the path of
	// the file, which differs between processes, so that digests do, too.
	snapshots bool
}

// clients are those of a run, which nodes share.
type clients struct {
	lock sync.Mutex
	*kv.Clients
}

// cluster is a deployment of dragonboat with its defaults, apart from smaller buffers. A node that crashes is frozen.
// It has a second for what it does with a lock of the process: finalizeLock, for snapshots.
func cluster(o options) bubble.Cluster {
	all := &clients{}
	return bubble.Cluster{Name: "dragonboat", Nodes: nodes, Network: bubble.Sockets{Split: 0.1},
		Freeze: &bubble.Freeze{Grace: time.Second, Files: &bubble.Files{PowerFailures: 0.5}},
		Begin: func(w *bubble.World) {
			all.Clients = kv.NewClients(load, nodes)
			all.Begin(w.Source(1), w)
		},
		Start: func(n *bubble.Node) error { return start(n, o, all) }}
}

func init() { logger.SetLoggerFactory(func(string) logger.ILogger { return silent{} }) }

// silent is a logger that discards everything but panics.
type silent struct{}

func (silent) SetLevel(logger.LogLevel)          {}
func (silent) Debugf(string, ...any)             {}
func (silent) Infof(string, ...any)              {}
func (silent) Warningf(string, ...any)           {}
func (silent) Errorf(string, ...any)             {}
func (silent) Panicf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func address(n int) string { return fmt.Sprintf("10.0.0.%d:7000", n) }

// start starts a node, and serves the clients' requests.
func start(n *bubble.Node, o options, all *clients) error {
	dir, err := n.Dir()
	if err != nil {
		return err
	}
	unlock(dir)
	if o.amnesia && n.Incarnation() > 1 {
		if err := os.RemoveAll(filepath.Join(dir, "data")); err != nil {
			return err
		}
	}
	c := config.NodeHostConfig{NodeHostDir: filepath.Join(dir, "data"), RTTMillisecond: 50,
		RaftAddress: address(int(n.Self()))}
	c.Expert.Engine = config.EngineConfig{ExecShards: 1, CommitShards: 1, ApplyShards: 1, SnapshotShards: 2,
		CloseShards: 1}
	c.Expert.LogDB = config.GetTinyMemLogDBConfig()
	c.Expert.LogDB.Shards = 1
	host, err := dragonboat.NewNodeHost(c)
	if err != nil {
		return err
	}
	n.OnStop(host.Close)
	members := map[uint64]dragonboat.Target{}
	for i := 1; i <= nodes; i++ {
		members[uint64(i)] = address(i)
	}
	replica := config.Config{ReplicaID: uint64(n.Self()), ShardID: shard, ElectionRTT: 10, HeartbeatRTT: 1,
		CheckQuorum: true, CompactionOverhead: 5}
	if o.snapshots {
		replica.SnapshotEntries = 20
	}
	if err := host.StartReplica(members, false, newMachine, replica); err != nil {
		return err
	}
	n.OnRequest(func(id int32, _ string) {
		all.lock.Lock()
		op, _ := all.Given(id)
		all.lock.Unlock()
		n.Go(func() { serve(n, host, *op, o, all) })
	})
	return nil
}

// serve performs an operation of a client, which continues with another one if the outcome is unknown.
func serve(n *bubble.Node, host *dragonboat.NodeHost, op kv.Op, o options, all *clients) {
	ctx, cancel := context.WithTimeout(n.Context(), timeout)
	defer cancel()
	var result kv.Result
	var err error
	if op.Writes() {
		var r statemachine.Result
		if r, err = host.SyncPropose(ctx, host.GetNoOPSession(shard), op.Encode(nil)); err == nil {
			err = json.Unmarshal(r.Data, &result)
		}
	} else {
		var r any
		if o.stale {
			r, err = host.StaleRead(shard, op.Key)
		} else {
			r, err = host.SyncRead(ctx, shard, op.Key)
		}
		if err == nil {
			result = r.(kv.Result)
		}
	}
	if err != nil {
		time.Sleep(100 * time.Millisecond)
	}
	all.lock.Lock()
	defer all.lock.Unlock()
	if !n.Alive() {
		return
	}
	if err != nil {
		all.Offer(&op)
		return
	}
	all.Answer(n.Self(), op.Client, op.Seq, result)
}

// machine is the replicated state machine: a map with clients' sessions.
type machine struct {
	mutex sync.Mutex
	kv.Map
}

func newMachine(uint64, uint64) statemachine.IStateMachine {
	m := &machine{}
	m.Reset(load.Keys, load.Clients)
	return m
}

func (m *machine) Update(e statemachine.Entry) (statemachine.Result, error) {
	op, ok := kv.Decode(e.Cmd)
	if !ok {
		return statemachine.Result{}, fmt.Errorf("no operation: %q", e.Cmd)
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	data, err := json.Marshal(m.Apply(op))
	return statemachine.Result{Data: data}, err
}

func (m *machine) Lookup(key any) (any, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.Read(key.(uint8)), nil
}

func (m *machine) SaveSnapshot(w io.Writer, _ statemachine.ISnapshotFileCollection, _ <-chan struct{}) error {
	_, err := w.Write(m.Snapshot(nil))
	return err
}

func (m *machine) RecoverFromSnapshot(r io.Reader, _ []statemachine.SnapshotFile, _ <-chan struct{}) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return m.Restore(data)
}

func (*machine) Close() error { return nil }

// lockedFiles is a variable of pebble's package vfs: the files that the process has locked. A frozen node would lock
// its next incarnation out.
//
//go:linkname lockedFiles github.com/cockroachdb/pebble/vfs.lockedFiles
var lockedFiles struct {
	mu struct {
		sync.Mutex
		files map[string]bool
	}
}

// unlock forgets the locked files of a directory, as the end of a process does.
func unlock(dir string) {
	lockedFiles.mu.Lock()
	defer lockedFiles.mu.Unlock()
	maps.DeleteFunc(lockedFiles.mu.files, func(name string, _ bool) bool { return strings.HasPrefix(name, dir) })
}
