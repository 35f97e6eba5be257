package etcdserver

import (
	"context"
	"fmt"
	"io"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/kit/operator"
	"github.com/lockstep-go/lockstep/kit/watch"
)

// operatorTask is a task besides clients' operations, with one request after the other. Its result matters only
// through the observations of other clients: it may fail.
type operatorTask struct {
	operator.Task
	do func(n *bubble.Node, client *clientv3.Client)
}

// sessions is the number of sessions of a watcher, large enough for a whole run.
const sessions = 10_000

// allTasks are the tasks of the cluster.
func (s *clients) allTasks() (list []operatorTask) {
	add := func(name string, times int, do func(ctx context.Context, n *bubble.Node, client *clientv3.Client)) {
		if times > 0 {
			list = append(list, operatorTask{operator.Task{Name: name, Times: times}, withTimeout(do)})
		}
	}
	c := s.cluster
	add("compact", c.Compactions, s.compact)
	add("defragment", c.Defragmentations, func(ctx context.Context, n *bubble.Node, client *clientv3.Client) {
		_, _ = client.Defragment(ctx, s.near(n))
	})
	add("backup", c.Backups, backup)
	add("lease", c.Leases, s.lease)
	add("rewrite", c.Rewrites, s.rewrite)
	add("earlier read", c.EarlierReads, s.readEarlier)
	add("change members", c.Learners, changeMembers)
	add("transfer", c.Transfers, s.transfer)
	add("reconfigure", c.Changes, s.reconfigure)
	always := func(name string, do func(n *bubble.Node, client *clientv3.Client)) {
		list = append(list, operatorTask{operator.Task{Name: name, Times: sessions}, do})
	}
	for i := range c.Watchers {
		always(fmt.Sprint("watch ", i+1), newWatcher(s, i).watch)
	}
	for i := range c.Readers {
		always(fmt.Sprint("read ", i+1), withTimeout(s.read))
	}
	for i := range c.Transactors {
		always(fmt.Sprint("transact ", i+1), s.transactor(i+1))
	}
	if c.Quota > 0 {
		always("fill", withTimeout(s.fill))
		always("relieve", withTimeout(s.relieve))
	}
	for i := range c.Holders {
		always(fmt.Sprint("hold ", i+1), s.hold)
	}
	if c.Users > 0 {
		always("permit", s.permit)
		for u := range c.Users + 1 {
			always(fmt.Sprint("user ", u), func(n *bubble.Node, _ *clientv3.Client) { s.access(n, u) })
		}
	}
	return list
}

// withTimeout performs a task with the timeout of a client.
func withTimeout(do func(ctx context.Context, n *bubble.Node, client *clientv3.Client)) func(n *bubble.Node,
	client *clientv3.Client) {
	return func(n *bubble.Node, client *clientv3.Client) {
		ctx, cancel := context.WithTimeout(n.Context(), timeout)
		defer cancel()
		do(ctx, n, client)
	}
}

// near is the address of the node's member, or of any member if the node has none.
func (s *clients) near(n *bubble.Node) string {
	if int(n.Self()) <= s.cluster.Nodes+s.cluster.Spares {
		return address(n.Self(), clientPort)
	}
	return address(lockstep.Node(1+n.Source().IntN(s.cluster.Nodes)), clientPort)
}

// compact compacts the history, mostly up to the newest revision.
func (s *clients) compact(ctx context.Context, n *bubble.Node, client *clientv3.Client) {
	s.mutex.Lock()
	at := s.newest
	s.mutex.Unlock()
	if at > 0 && n.Source().IntN(3) == 2 {
		at -= int64(n.Source().IntN(int(at)))
	}
	if at == 0 {
		return
	}
	var with []clientv3.CompactOption
	if n.Source().IntN(2) == 1 {
		with = append(with, clientv3.WithCompactPhysical())
	}
	_, _ = client.Compact(ctx, at, with...)
}

// backup reads the whole store.
func backup(ctx context.Context, _ *bubble.Node, client *clientv3.Client) {
	if store, err := client.Snapshot(ctx); err == nil {
		_, _ = io.Copy(io.Discard, store)
		_ = store.Close()
	}
}

// leased is the key that exists as long as its lease.
const leased = "leased"

// lease puts a key with a lease, and lets the lease expire, keeps it alive for a while or revokes it.
func (s *clients) lease(ctx context.Context, n *bubble.Node, client *clientv3.Client) {
	what, value := n.Source().IntN(3), fmt.Sprint(n.Source().IntN(1_000_000_000))
	granted, err := client.Grant(ctx, int64(1+n.Source().IntN(4)))
	if err != nil {
		return
	}
	put, err := client.Put(ctx, leased, value, clientv3.WithLease(granted.ID))
	if err != nil {
		return
	}
	s.mutex.Lock()
	s.wrote(n, []watch.Change{{Revision: put.Header.Revision, Key: leased, Value: value}})
	s.mutex.Unlock()
	time.Sleep(time.Second)
	switch what {
	case 1:
		_, _ = client.KeepAliveOnce(ctx, granted.ID)
	case 2:
		_, _ = client.Revoke(ctx, granted.ID)
	}
}

// changeMembers adds a learner that never starts, or removes it.
func changeMembers(ctx context.Context, n *bubble.Node, client *clientv3.Client) {
	members, err := client.MemberList(ctx)
	if err != nil {
		return
	}
	absent := lockstep.Node(n.Nodes() + 1)
	for _, m := range members.Members {
		if node, _ := where(m); m.IsLearner && node == absent {
			_, _ = client.MemberRemove(ctx, m.ID)
			return
		}
	}
	_, _ = client.MemberAddAsLearner(ctx, []string{address(absent, peerPort)})
}

// transfer transfers leadership to another member, if this one is the leader.
func (s *clients) transfer(ctx context.Context, n *bubble.Node, client *clientv3.Client) {
	s.prolonged(n)
	members, err := client.MemberList(ctx)
	if err == nil {
		_, _ = client.MoveLeader(ctx, members.Members[n.Source().IntN(len(members.Members))].ID)
	}
}
