package upgrade

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/trace"
)

// start starts a node in the version of its setting, with the files that it has.
func (r *run) start(n *bubble.Node) error {
	r.forget(n.Self())
	release := r.started(n)
	n.Emit(EventRelease, release.Version())
	n.OnRequest(func(id int32, _ string) { r.refuse(n, id) })
	if n.Self() == r.spare() {
		select {
		case <-r.added:
		case <-n.Context().Done():
			return nil
		}
	}
	for n.Context().Err() == nil {
		s, err := r.launch(n, release)
		if err == nil {
			return r.attend(n, release, s)
		}
		if n.Context().Err() != nil || r.leaves(n.Self()) { // a removed member does not start
			return r.park(n)
		}
		if !errors.Is(err, errJoin) {
			return fmt.Errorf("version %s does not start: %w", release.Version(), err)
		}
		time.Sleep(time.Second)
	}
	return nil
}

// park leaves a node without a member until it crashes.
func (r *run) park(n *bubble.Node) error {
	n.OnRequest(func(id int32, _ string) { r.refuse(n, id) })
	<-n.Context().Done()
	return nil
}

// errJoin is an error of a member that does not have the cluster's files yet: it needs an answer of other members.
var errJoin = errors.New("the member cannot join yet")

// launch starts a server.
func (r *run) launch(n *bubble.Node, release Release) (Server, error) {
	dir, err := n.Dir()
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, "data")
	joins := n.Self() == r.spare()
	fresh := joins && !hasFiles(dir)
	made, err := release.Start(name(n.Self()), dir, address(n.Self(), clientPort), address(n.Self(), peerPort),
		r.members(joins), joins, r.cluster.Snapshots, logOf(n))
	if err != nil {
		if fresh {
			err = errors.Join(errJoin, err)
		}
		return nil, err
	}
	s := made.(Server)
	n.OnStop(sync.OnceFunc(s.Stop))
	return s, nil
}

// hasFiles reports whether a member has ever been part of its cluster, by its log of entries.
func hasFiles(dir string) bool {
	list, err := os.ReadDir(filepath.Join(dir, "member", "wal"))
	return err == nil && len(list) > 0
}

// logOf is the server's log, of which a recorded run keeps the lines.
func logOf(n *bubble.Node) func(level, line string) bool {
	return func(level, line string) bool {
		if line != "" {
			n.Log(trace.LogServer, level, func() string { return line })
		}
		return n.Recorded()
	}
}

// attend runs the tasks of a member until it has stopped.
func (r *run) attend(n *bubble.Node, release Release, s Server) error {
	select {
	case <-s.Ready():
	case err := <-s.Failed():
		return r.failed(n, release, err)
	case <-s.Stopped():
		return r.failed(n, release, nil)
	case <-n.Context().Done():
		return nil
	}
	clients, err := r.connect(n)
	if err != nil {
		return err
	}
	n.SetState(s.State)
	n.SetRole(func() string {
		if s.Leads() {
			return leader
		}
		return follower
	})
	r.ready(n)
	n.OnRequest(func(id int32, _ string) { r.given(n, clients, id) })
	own := clients[n.Configuration()]
	for n.Context().Err() == nil {
		if v := s.ClusterVersion(); v != "" {
			r.agrees(v)
			n.Emit(EventAgreed, v)
		}
		r.report(n, s, own)
		select {
		case <-time.After(look):
		case err := <-s.Failed():
			return r.failed(n, release, err)
		case <-s.Stopped():
			return r.failed(n, release, nil)
		case <-n.Context().Done():
		}
	}
	return nil
}

// failed is called when a member has stopped on its own, which it does after its removal alone.
func (r *run) failed(n *bubble.Node, release Release, err error) error {
	if r.leaves(n.Self()) || n.Context().Err() != nil {
		return r.park(n)
	}
	return errors.Join(fmt.Errorf("version %s stopped without a request for the removal of member %d",
		release.Version(), n.Self()), err)
}

// connect makes a client of each version, which talks to the node's member.
func (r *run) connect(n *bubble.Node) ([]Client, error) {
	var list []Client
	for _, release := range r.cluster.releases {
		made, err := release.Connect(address(n.Self(), clientPort))
		if err != nil {
			return nil, err
		}
		c := made.(Client)
		n.OnStop(func() { _ = c.Close() })
		list = append(list, c)
	}
	return list, nil
}

// nodes lists the nodes of members with given addresses.
func (r *run) nodes(peers map[string]bool) (list lockstep.Nodes) {
	for i := range r.cluster.all() {
		if n := lockstep.Node(i + 1); peers[address(n, peerPort)] {
			list = list.With(n)
		}
	}
	return list
}
