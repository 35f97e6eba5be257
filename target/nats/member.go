package nats

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
)

// The roles of servers for the stream.
const (
	leader   = "leader"
	follower = "follower"
)

// look is the interval at which a server reports its replica of the stream.
const look = 5 * time.Second

// door is the connection to a running server.
type door struct {
	conn   *natsgo.Conn
	server *server.Server
	left   chan struct{} // closed when the server is to be stopped for good; nil if no server is
}

// start starts a server, from its files if it has some. After a server was stopped for good it starts a replacement,
// as soon as the others have removed the old one.
func start(n *bubble.Node, c Cluster) error {
	clients := n.World().Value.(*clients)
	clients.forget(n.Self())
	clients.fell(n)
	for {
		if peer, yes := clients.isLeaving(n.Self()); yes {
			if err := clients.replace(n, peer); err != nil || !n.Alive() {
				return err
			}
		}
		if err := serve(n, c, clients); err != nil || !n.Alive() {
			return err
		}
	}
}

// serve runs one server, until it crashes or is stopped for good.
func serve(n *bubble.Node, c Cluster, clients *clients) error {
	options, err := config(n, c, clients.name(n.Self()))
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
	s.SetLogger(serverLog{n}, false, false)
	s.Start()
	conn, err := connect(n, c, s)
	if err != nil {
		return err
	}
	n.OnStop(conn.Close)
	at := door{conn: conn, server: s}
	if c.Removals > 0 {
		at.left = make(chan struct{})
	}
	n.OnRequest(func(id int32, _ string) { clients.given(n, at, id) })
	if c.Consume {
		n.Go(func() { clients.subscribe(n, at) })
	}
	var raft atomic.Pointer[server.RaftNode]
	n.SetRole(func() string {
		if node := raft.Load(); node != nil && (*node).State() == server.Leader {
			return leader
		}
		return follower
	})
	n.SetState(func() string { return clients.stateText(n.Self()) })
	if err := clients.create(n, conn); err != nil {
		return err
	}
	at.report(n, clients, &raft)
	if n.Alive() {
		n.OnRequest(nil) // the requester waits for the next server
		conn.Close()
		s.Shutdown()
		s.WaitForShutdown()
	}
	return nil
}

// connect is the connection of the clients of a server: within the process, or over the network to the next server,
// or to another one if that is unavailable.
func connect(n *bubble.Node, c Cluster, s *server.Server) (*natsgo.Conn, error) {
	if !c.Sockets {
		return natsgo.Connect("", natsgo.InProcessServer(s), natsgo.MaxReconnects(-1))
	}
	next := lockstep.Node(int(n.Self())%n.Nodes() + 1)
	return dial([]lockstep.Node{next})
}

// dial connects over the network to the first server that answers, and retries.
func dial(servers []lockstep.Node, with ...natsgo.Option) (*natsgo.Conn, error) {
	var at []string
	for _, n := range servers {
		at = append(at, "nats://"+address(n)+":4222")
	}
	with = append(with, natsgo.MaxReconnects(-1), natsgo.RetryOnFailedConnect(true), natsgo.ReconnectWait(pause),
		// The default handler writes to the standard error.
		natsgo.ErrorHandler(func(*natsgo.Conn, *natsgo.Subscription, error) {}))
	return natsgo.Connect(strings.Join(at, ","), with...)
}

// replicaOf converts a server's replica of a stream.
func (c Cluster) replicaOf(state server.StreamState, list Messages, ok bool) *Replica {
	return &Replica{Exists: ok, First: state.FirstSeq, Last: state.LastSeq, messages: list, wanted: c.Replicas}
}

// report regularly reports the server's replica of the stream.
func (d door) report(n *bubble.Node, clients *clients, raft *atomic.Pointer[server.RaftNode]) {
	for {
		tick()
		replicaOf := clients.cluster.replicaOf(content(d.server, streamName))
		if node := raftOf(d.server, streamName); node != nil {
			raft.Store(&node)
		}
		clients.record(n, replicaOf)
		d.reportFollowers(n, clients)
		if clients.cluster.Consume {
			if p := progress(d.server, streamName, taker); p != nil {
				n.Emit(EventProgress, p)
			}
		}
		select {
		case <-time.After(look):
		case <-d.left:
			return
		case <-n.Context().Done():
			return
		}
	}
}

// The users, if there are any: the one that may remove servers, and all others.
const (
	system    = "system"
	everybody = "everybody"
)

// config is the configuration of a server.
func config(n *bubble.Node, c Cluster, name string) (*server.Options, error) {
	dir, err := n.Dir()
	if err != nil {
		return nil, err
	}
	host := address(n.Self())
	o := &server.Options{
		ServerName: name, Host: host, Port: 4222, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: filepath.Join(dir, "nats"+strings.TrimPrefix(name, fmt.Sprint("n", n.Self()))),
		SyncAlways:         c.SyncAlways,
		JetStreamMaxMemory: 1 << 30, JetStreamMaxStore: 1 << 30, // without these the server would inspect the machine
	}
	if c.Removals > 0 { // the system account has a user that may remove servers
		account := server.NewAccount(server.DEFAULT_SYSTEM_ACCOUNT)
		o.Accounts, o.SystemAccount = []*server.Account{account}, account.Name
		o.Users, o.NoAuthUser = []*server.User{{Username: system, Password: system, Account: account},
			{Username: everybody}}, everybody
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
