package nats

import (
	"fmt"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
)

// The parts that servers play for the stream.
const (
	leader   = "leader"
	follower = "follower"
)

// look is how often a server tells what its copy of the stream holds.
const look = 5 * time.Second

// door is the way to a server that is up.
type door struct {
	conn   *natsgo.Conn
	server *server.Server
}

// start brings a server up, from its files where it has some.
func start(n *bubble.Node, c Cluster) error {
	clients := n.World().Value.(*clients)
	clients.forget(n.Self())
	up := make(chan door) // for whoever wants to talk to the server
	n.Request(func(id int32, _ string) { clients.given(n, up, id) })
	options, err := config(n, c)
	if err != nil {
		return err
	}
	s, err := server.NewServer(options)
	if err != nil {
		return err
	}
	n.OnStop(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	s.Start()
	conn, err := natsgo.Connect("", natsgo.InProcessServer(s), natsgo.MaxReconnects(-1))
	if err != nil {
		return err
	}
	n.OnStop(conn.Close)
	n.Go(func() {
		for {
			select {
			case up <- door{conn, s}:
			case <-n.Context().Done():
				return
			}
		}
	})
	var raft atomic.Pointer[server.RaftNode]
	n.Role(func() string {
		if node := raft.Load(); node != nil && (*node).State() == server.Leader {
			return leader
		}
		return follower
	})
	n.State(func() string { return clients.told(n.Self()) })
	if err := clients.create(n, conn); err != nil {
		return err
	}
	tell(n, s, clients, &raft)
	return nil
}

// tell tells what the server's copy of the stream holds, from time to time.
func tell(n *bubble.Node, s *server.Server, clients *clients, raft *atomic.Pointer[server.RaftNode]) {
	for {
		tick()
		copied := &Copy{}
		if state, list, ok := content(s, streamName); ok {
			copied = &Copy{Exists: true, First: state.FirstSeq, Last: state.LastSeq, messages: list}
			if in, err := lookupStream(s.GlobalAccount(), streamName); err == nil {
				if node := streamRaft(in); node != nil {
					raft.Store(&node)
				}
			}
		}
		clients.tell(n, copied)
		select {
		case <-time.After(look):
		case <-n.Context().Done():
			return
		}
	}
}

// config is the configuration of a server.
func config(n *bubble.Node, c Cluster) (*server.Options, error) {
	folder, err := n.Folder()
	if err != nil {
		return nil, err
	}
	host := address(n.Self())
	o := &server.Options{
		ServerName: fmt.Sprint("n", n.Self()), Host: host, Port: 4222, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: filepath.Join(folder, "nats"), SyncAlways: c.SyncAlways,
		JetStreamMaxMemory: 1 << 30, JetStreamMaxStore: 1 << 30, // without which the server would look at the machine
	}
	if n.Nodes() == 1 {
		return o, nil
	}
	o.Cluster = server.ClusterOpts{Name: "lockstep", Host: host, Port: 6222}
	for i := range n.Nodes() {
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: address(lockstep.Node(i+1)) + ":6222"})
	}
	return o, nil
}

func address(n lockstep.Node) string { return fmt.Sprintf("10.0.0.%d", n) }
