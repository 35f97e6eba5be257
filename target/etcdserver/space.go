package etcdserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/kit/watch"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// The types of event that tell of room.
const (
	EventRoom   = "room"   // something about the alarm that there is none: [*Room]
	EventFill   = "fill"   // somebody wanted room: [*Fill]
	EventAlarms = "alarms" // which alarms a member has: [*Alarms]
)

// What is told of the alarm.
const (
	Full      = "full"      // there is the alarm; the cluster was asked at Began
	Relieving = "relieving" // it is to be ended, and may end from now on
	Relieved  = "relieved"  // that was acknowledged
)

// Room is something about the alarm that there is no room.
type Room struct {
	What  string
	Began time.Duration // when it was asked for
}

// String is the news in words.
func (r *Room) String() string { return r.What }

// Fill is something that takes room.
type Fill struct {
	What  string        // a put, a txn or a grant of a lease
	Began time.Duration // when it was asked for
	Done  bool          // it was acknowledged; otherwise it was refused
}

// String is the wish in words.
func (f *Fill) String() string {
	if f.Done {
		return f.What + ": done"
	}
	return f.What + ": refused"
}

// Alarms are those of a member.
type Alarms struct{ Types []string }

// String is the alarms in words.
func (a *Alarms) String() string { return strings.Join(a.Types, " ") }

// FullRefuse: who knows that there is no room is not given any, until the alarm is to be ended.
var FullRefuse = spec.New("full-stores-refuse", func(lockstep.Info) *fullRefuse { return &fullRefuse{} })

// Sound: no member is said to be corrupt.
var Sound = spec.OnEvent("no-corruption-alarm", EventAlarms, func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	for _, t := range e.Value.(*Alarms).Types {
		if t == etcdserverpb.AlarmType_CORRUPT.String() {
			return &lockstep.Finding{Nodes: trace.NodesOf(e.Node), Text: fmt.Sprintf("member %d has the alarm that a store is corrupt", e.Node)}
		}
	}
	return nil
})

// fullRefuse follows the alarm.
type fullRefuse struct {
	since    time.Duration // when it was known that there is the alarm; -1: it is not
	open     int           // how often it is to be ended, and the answer is not known
	relieved time.Duration // when it was ended last
	judged   int
}

// Reset begins a new run.
func (f *fullRefuse) Reset() { *f = fullRefuse{since: -1, relieved: -1} }

// End returns nil: only events are checked.
func (*fullRefuse) End(*lockstep.Run) *lockstep.Finding { return nil }

// Judged counts those who wanted room when there was none.
func (f *fullRefuse) Judged() int { return f.judged }

// Event judges who got room.
func (f *fullRefuse) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	now := time.Duration(run.Now())
	switch v := e.Value.(type) {
	case *Room:
		switch {
		case v.What == Relieving:
			f.open++
			f.since = -1
		case v.What == Relieved:
			f.open--
			f.relieved = now
		case f.since < 0 && f.open == 0 && v.Began > f.relieved:
			f.since = now
		}
	case *Fill:
		if f.since < 0 || v.Began <= f.since {
			return nil
		}
		if f.judged++; v.Done {
			return &lockstep.Finding{Nodes: trace.NodesOf(e.Node), Text: fmt.Sprintf("there is no room since %v at least, and a %s that was asked for at %v at member %d is done", f.since, v.What, v.Began, e.Node)}
		}
	}
	return nil
}

// ballast begins the names of keys with long values.
const ballast = "ballast"

// longestValue is the most that makes a value long.
const longestValue = 4096

// brief is a value without what makes it long.
func brief(value []byte) string {
	v, _, _ := strings.Cut(string(value), " ")
	return v
}

// fill takes room: by a long value, or a lease.
func (s *clients) fill(ctx context.Context, n *bubble.Node, client *clientv3.Client) {
	what, key, size := n.Chance().IntN(4), fmt.Sprint(ballast, n.Chance().IntN(4)), n.Chance().IntN(longestValue)
	s.mutex.Lock()
	s.fills++
	short := fmt.Sprint(s.fills)
	s.mutex.Unlock()
	value := short + " " + strings.Repeat("x", size)
	f := &Fill{What: "put", Began: s.world.Now()}
	var revision int64
	var err error
	switch what {
	case 0:
		f.What = "grant"
		_, err = client.Grant(ctx, 5)
	case 1:
		f.What = "txn"
		var done *clientv3.TxnResponse
		if done, err = client.Txn(ctx).Then(clientv3.OpPut(key, value)).Commit(); err == nil {
			revision = done.Header.Revision
		}
	default:
		var put *clientv3.PutResponse
		if put, err = client.Put(ctx, key, value); err == nil {
			revision = put.Header.Revision
		}
	}
	if f.Done = err == nil; !f.Done && !errors.Is(err, rpctypes.ErrNoSpace) {
		return
	}
	n.Emit(EventFill, f)
	if revision > 0 {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.wrote(n, []watch.Change{{Revision: revision, Key: key, Value: short}})
	}
}

// awaitRoom waits until there is room, as far as the cluster says: what is refused for lack of it may have been done all the same, and with many
// such writes one after the other it takes for ever to judge what was read.
func awaitRoom(n *bubble.Node, client *clientv3.Client) {
	for n.Context().Err() == nil {
		time.Sleep(time.Second)
		list, err := asking(n, func(ctx context.Context) (*clientv3.AlarmResponse, error) { return client.AlarmList(ctx) })
		if err == nil && len(list.Alarms) == 0 {
			return
		}
	}
}

// relieve asks for alarms and, where there is no room and the operator sees to it, makes room and ends the alarm.
func (s *clients) relieve(ctx context.Context, n *bubble.Node, client *clientv3.Client) {
	sees := n.Chance().IntN(3) == 2
	server := etcdserverpb.NewMaintenanceClient(client.ActiveConnection()) // clientv3 would try several times, and one may come true after another was answered
	began := s.world.Now()
	list, err := server.Alarm(ctx, &etcdserverpb.AlarmRequest{Action: etcdserverpb.AlarmRequest_GET, Alarm: etcdserverpb.AlarmType_NOSPACE})
	if err != nil || len(list.Alarms) == 0 {
		return
	}
	n.Emit(EventRoom, &Room{Full, began})
	if !sees {
		return
	}
	s.mutex.Lock()
	newest := s.newest
	s.mutex.Unlock()
	_, _ = client.Compact(ctx, newest, clientv3.WithCompactPhysical())
	for _, at := range s.members() {
		_, _ = asking(n, func(ctx context.Context) (*clientv3.DefragmentResponse, error) { return client.Defragment(ctx, at) })
	}
	for _, a := range list.Alarms {
		n.Emit(EventRoom, &Room{What: Relieving})
		if _, err := asking(n, func(ctx context.Context) (*etcdserverpb.AlarmResponse, error) {
			return server.Alarm(ctx, &etcdserverpb.AlarmRequest{Action: etcdserverpb.AlarmRequest_DEACTIVATE, MemberID: a.MemberID, Alarm: a.Alarm})
		}); err == nil {
			n.Emit(EventRoom, &Room{What: Relieved})
		}
	}
}

// alarms tells which alarms a member has, without a message.
func (m *member) alarms(n *bubble.Node) {
	list := &Alarms{}
	for _, a := range m.Server.Alarms() {
		list.Types = append(list.Types, a.Alarm.String())
	}
	n.Emit(EventAlarms, list)
}
