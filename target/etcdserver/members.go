package etcdserver

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
)

// EventMember is the type of event about a membership; the node is that of the member, the value a [*Member].
const EventMember = "member"

// The stages of a membership.
const (
	Added    = "added"    // it is a member, and may start
	Promoted = "promoted" // it votes
	Leaving  = "leaving"  // its removal was requested, and may happen from now on
	Stayed   = "stayed"   // its removal was refused
	Removed  = "removed"  // its removal was acknowledged
	Joined   = "joined"   // it is ready
	Stopped  = "stopped"  // it has stopped on its own
)

// Member is a change of a membership.
type Member struct {
	Number int // of the seat
	What   string
}

// String is the change as text.
func (m *Member) String() string { return fmt.Sprintf("seat %d: %s", m.Number, m.What) }

// seat is a membership of a node. A node that rejoins has another seat, with another address and other files, so
// lagging members do not confuse the two.
type seat struct {
	number int    // counted within the run; 0: an initial member
	first  string // the initial members of its configuration, once it has started
}

// port is the peer port of the member with the seat.
func (s *seat) port() int { return peerPort + s.number }

// seats are the current memberships in the operator's view.
type seats struct {
	of     [65]*seat
	moved  [65]chan struct{} // closed when the node's seat changes
	newest [65]int           // the number of the node's last one
	last   int               // the number of the last one
}

func newSeats(members, nodes int) *seats {
	s := &seats{}
	for n := 1; n <= nodes; n++ {
		s.moved[n] = make(chan struct{})
		if n <= members {
			s.of[n] = &seat{}
		}
	}
	return s
}

// give gives a node another seat, or none. The caller has the lock.
func (s *seats) give(n lockstep.Node, to *seat) {
	s.of[n] = to
	close(s.moved[n])
	s.moved[n] = make(chan struct{})
}

// news reports a change of a membership.
func (s *clients) news(n lockstep.Node, number int, what string) {
	s.world.Event(lockstep.Event{Node: n, Type: EventMember, Value: &Member{number, what}})
}

// sit runs a node in a cluster whose members change: it is a member while it has a seat, and waits while it has none.
func (s *clients) sit(n *bubble.Node) error {
	n.OnRequest(func(id int32, _ string) { s.given(n, s.door(n), id) })
	for n.Context().Err() == nil {
		s.mutex.Lock()
		at, moved := s.seats.of[n.Self()], s.seats.moved[n.Self()]
		s.mutex.Unlock()
		if at == nil {
			select {
			case <-moved:
			case <-n.Context().Done():
			}
			continue
		}
		if err := s.join(n, at, moved); err != nil {
			return err
		}
	}
	return nil
}

// door is the client of a node's member, or nil if there is no ready member.
func (s *clients) door(n *bubble.Node) *clientv3.Client {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.doors[n.Self()]
}

// join runs a member with a seat, until the node has another one or the member has stopped.
func (s *clients) join(n *bubble.Node, at *seat, moved <-chan struct{}) error {
	if at.number > 0 && at.first == "" {
		at.first = s.present(n, at)
	}
	var m *member
	var err error
	if at.number == 0 || at.first != "" {
		m, err = launch(n, s.cluster, at)
	}
	if m == nil && at.number > 0 { // it cannot start yet, as when no member answers, or members changed meanwhile
		at.first = ""
		wait(n, moved, time.Second)
		return nil
	}
	if err != nil {
		return err
	}
	left, err := s.attend(n, m, at, moved)
	if !n.Alive() {
		return nil
	}
	if err != nil {
		return err
	}
	s.leave(n, at, left)
	m.stop()
	if m.client != nil && has13337(Version()) {
		_ = m.client.Close() // otherwise its watches would reach the node's next member, see admit
	}
	return nil
}

// leave cleans up after a member whose node has another seat, or that stopped on its own and has none.
func (s *clients) leave(n *bubble.Node, at *seat, onItsOwn bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.doors[n.Self()] = nil
	if onItsOwn {
		s.news(n.Self(), at.number, Stopped)
		if s.seats.of[n.Self()] == at {
			s.seats.give(n.Self(), nil)
		}
	}
}

// attend runs the tasks of a member, and reports whether it stopped on its own.
func (s *clients) attend(n *bubble.Node, m *member, at *seat, moved <-chan struct{}) (left bool, err error) {
	select {
	case <-m.Server.ReadyNotify():
	case <-m.Server.StopNotify():
		return true, nil
	case <-moved:
		return false, nil
	case <-n.Context().Done():
		return false, nil
	}
	s.news(n.Self(), at.number, Joined)
	for {
		again := look
		if m.client == nil {
			if err := s.open(n, m); err != nil && s.cluster.Users == 0 {
				return false, err
			} else if err != nil {
				again = time.Second
			}
		}
		if m.client != nil {
			m.learn()
			s.admit(n, m)
			if err := m.report(n, n.Incarnation()+at.number<<8, s); err != nil && !m.stopped() {
				return false, err
			}
		}
		select {
		case <-time.After(again):
		case <-m.Server.StopNotify():
			return true, nil
		case <-moved:
			return false, nil
		case <-n.Context().Done():
			return false, nil
		}
	}
}

// open makes the client of a ready member.
func (s *clients) open(n *bubble.Node, m *member) error {
	if err := m.ready(n, s.cluster); err != nil {
		return err
	}
	s.admit(n, m)
	return nil
}

// admit lets clients talk to a member. In some releases clientv3 immediately reopens a refused watch, and no time
// passes between a client and the member of its node. In these releases clients do not talk to a non-voting member,
// as it refuses all watches.
func (s *clients) admit(n *bubble.Node, m *member) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if n.Alive() && (m.votes.Load() || !has13337(Version())) {
		s.doors[n.Self()] = m.client
	}
}

// has13337 reports whether a release's clientv3 reopens a watch without a pause:
// https://github.com/etcd-io/etcd/issues/13337, until v3.5.6.
func has13337(version string) bool { return lineage(version) < 6 }

// wait waits for some time, unless the node gets another seat meanwhile.
func wait(n *bubble.Node, moved <-chan struct{}, long time.Duration) {
	select {
	case <-time.After(long):
	case <-moved:
	case <-n.Context().Done():
	}
}

// present asks for the list of members, for a member that starts with a seat; empty if no member answers.
func (s *clients) present(n *bubble.Node, at *seat) string {
	client, err := connect(n, s.cluster.root(), s.members()...)
	if err != nil {
		return ""
	}
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(n.Context(), timeout)
	defer cancel()
	list, err := client.MemberList(ctx)
	if err != nil {
		return ""
	}
	var all []string
	for _, m := range list.Members {
		node, number := where(m)
		all = append(all, fmt.Sprintf("%s=%s", name(node, number), m.PeerURLs[0]))
	}
	if !slices.Contains(all, fmt.Sprintf("%s=%s", name(n.Self(), at.number), address(n.Self(), at.port()))) {
		return ""
	}
	return strings.Join(all, ",")
}

// members are the possible addresses of members.
func (s *clients) members() (list []string) {
	for i := range s.cluster.Nodes + s.cluster.Spares {
		list = append(list, address(lockstep.Node(i+1), clientPort))
	}
	return list
}

// name is the name of the member with a seat.
func name(n lockstep.Node, number int) string {
	if number == 0 {
		return fmt.Sprint("n", n)
	}
	return fmt.Sprintf("n%d-%d", n, number)
}

// where is the node of a member, and the number of its seat.
func where(m *etcdserverpb.Member) (n lockstep.Node, number int) {
	at, err := url.Parse(m.PeerURLs[0])
	if err != nil {
		panic(err) // the operator assigned it
	}
	node, _ := strconv.Atoi(at.Hostname()[strings.LastIndexByte(at.Hostname(), '.')+1:])
	port, _ := strconv.Atoi(at.Port())
	return lockstep.Node(node), port - peerPort
}

// reconfigure takes the next step of a membership change. It adds a learner, promotes it, or removes it before its
// promotion. If there are more voters than at first, it removes one, possibly the leader. The server refuses a
// removal that would lose the majority.
func (s *clients) reconfigure(ctx context.Context, n *bubble.Node, client *clientv3.Client) {
	how, which := n.Source().IntN(4), n.Source().IntN(64)
	list, err := client.MemberList(ctx)
	if err != nil {
		return
	}
	var learner *etcdserverpb.Member
	var voters []*etcdserverpb.Member
	for _, m := range list.Members {
		switch node, number := where(m); {
		case int(node) > s.cluster.Nodes+s.cluster.Spares: // it never starts: see changeMembers
			return
		case m.IsLearner:
			s.seatAt(node, number)
			learner = m
		default:
			s.seatAt(node, number)
			voters = append(voters, m)
		}
	}
	free := s.free(list.Members)
	switch {
	case learner != nil && how == 0:
		s.remove(ctx, client, learner)
	case learner != nil:
		s.promote(ctx, client, learner)
	case len(free) > 0 && (len(voters) <= s.cluster.Nodes || how < 2):
		s.add(ctx, client, free[which%len(free)], how == 1)
	case len(voters) > s.cluster.Nodes:
		s.prolonged(n) // if it is the leader
		s.remove(ctx, client, voters[which%len(voters)])
	}
}

// free are the nodes without a member.
func (s *clients) free(members []*etcdserverpb.Member) (list []lockstep.Node) {
	for i := range s.cluster.Nodes + s.cluster.Spares {
		if !slices.ContainsFunc(members, func(m *etcdserverpb.Member) bool {
			node, _ := where(m)
			return int(node) == i+1
		}) {
			list = append(list, lockstep.Node(i+1))
		}
	}
	return list
}

// seatAt gives a node the seat that it has according to the cluster, if the operator does not know of it because the
// answer was lost.
func (s *clients) seatAt(n lockstep.Node, number int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if is := s.seats.of[n]; number > s.seats.newest[n] && (is == nil || is.number < number) {
		s.seats.newest[n] = number
		s.seats.give(n, &seat{number: number})
		s.news(n, number, Added)
	}
}

// add adds a member, as voter or learner.
func (s *clients) add(ctx context.Context, client *clientv3.Client, n lockstep.Node, votes bool) {
	s.mutex.Lock()
	s.seats.last++
	number := s.seats.last
	s.mutex.Unlock()
	at := []string{address(n, peerPort+number)}
	var err error
	if votes {
		_, err = client.MemberAdd(ctx, at)
	} else {
		_, err = client.MemberAddAsLearner(ctx, at)
	}
	if err == nil {
		s.seatAt(n, number)
	}
}

// promote promotes a learner to voter.
func (s *clients) promote(ctx context.Context, client *clientv3.Client, m *etcdserverpb.Member) {
	if _, err := client.MemberPromote(ctx, m.ID); err == nil {
		node, number := where(m)
		s.news(node, number, Promoted)
	}
}

// remove removes a member, which stops as soon as it learns of it.
func (s *clients) remove(ctx context.Context, client *clientv3.Client, m *etcdserverpb.Member) {
	node, number := where(m)
	s.news(node, number, Leaving)
	_, err := client.MemberRemove(ctx, m.ID)
	switch {
	case err == nil:
		s.news(node, number, Removed)
	case refused(err):
		s.news(node, number, Stayed)
	}
}

// refused reports whether the server guarantees that it did not perform the request.
func refused(err error) bool {
	return errors.Is(err, rpctypes.ErrUnhealthy) || errors.Is(err, rpctypes.ErrMemberNotEnoughStarted)
}
