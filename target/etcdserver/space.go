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

// The types of event about space.
const (
	EventSpace  = "space"  // the state of the alarm NOSPACE: [*Space]
	EventFill   = "fill"   // a client requested space: [*Fill]
	EventAlarms = "alarms" // the alarms of a member: [*Alarms]
)

// The states of the alarm.
const (
	Full      = "full"      // the alarm is active; the cluster was asked at Began
	Relieving = "relieving" // the operator requested its end; it may end from now on
	Relieved  = "relieved"  // the server acknowledged its end
)

// Space is a state of the alarm NOSPACE.
type Space struct {
	What  string
	Began time.Duration // of the request
}

// String is the state as text.
func (s *Space) String() string { return s.What }

// Fill is a request that takes space.
type Fill struct {
	What  string        // a put, a txn or a grant of a lease
	Began time.Duration // of the request
	Done  bool          // it was acknowledged; otherwise it was refused
}

// String is the request as text.
func (f *Fill) String() string {
	if f.Done {
		return f.What + ": done"
	}
	return f.What + ": refused"
}

// Alarms are the alarms of a member.
type Alarms struct{ Types []string }

// String is the alarms as text.
func (a *Alarms) String() string { return strings.Join(a.Types, " ") }

// FullRefuse is the spec that a full store refuses space to clients that know of the alarm, until the operator
// requests its end.
var FullRefuse = spec.New("full-stores-refuse", func(lockstep.Info) *fullRefuse { return &fullRefuse{} })

// Sound is the spec that no member reports corruption.
var Sound = spec.OnEvent(
	"no-corruption-alarm",
	EventAlarms,
	func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		for _, t := range e.Value.(*Alarms).Types {
			if t == etcdserverpb.AlarmType_CORRUPT.String() {
				return &lockstep.Finding{
					Nodes: trace.NodesOf(e.Node),
					Text:  fmt.Sprintf("member %d has the alarm that a store is corrupt", e.Node),
				}
			}
		}
		return nil
	},
)

// fullRefuse tracks the alarm.
type fullRefuse struct {
	since    time.Duration // when the alarm became known; -1: unknown
	open     int           // requests to end the alarm without a known answer
	relieved time.Duration // when it ended last
	checked  int
}

// Reset begins a new run.
func (f *fullRefuse) Reset() { *f = fullRefuse{since: -1, relieved: -1} }

// End returns nil: only events are checked.
func (*fullRefuse) End(*lockstep.Run) *lockstep.Finding { return nil }

// Checked counts the requests for space while there was none.
func (f *fullRefuse) Checked() int { return f.checked }

// Event checks the requests that got space.
func (f *fullRefuse) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	now := time.Duration(run.Now())
	switch v := e.Value.(type) {
	case *Space:
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
		if f.checked++; v.Done {
			return &lockstep.Finding{Nodes: trace.NodesOf(e.Node),
				Text: fmt.Sprintf("there is no space since %v at the latest, and member %d served a %s that was requested at %v",
					f.since, e.Node, v.What, v.Began)}
		}
	}
	return nil
}

// ballast is the prefix of the names of keys with long values.
const ballast = "ballast"

// longestValue is the maximum length of the padding of a value.
const longestValue = 4096

// brief is a value without its padding.
func brief(value []byte) string {
	v, _, _ := strings.Cut(string(value), " ")
	return v
}

// fill takes space: by a long value, or a lease.
func (s *clients) fill(ctx context.Context, n *bubble.Node, client *clientv3.Client) {
	what, key, size := n.Source().IntN(4), fmt.Sprint(ballast, n.Source().IntN(4)), n.Source().IntN(longestValue)
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

// awaitSpace waits until the cluster reports free space. A write refused for lack of space may have been done all the
// same. With many such writes in sequence it takes too long to check the reads.
func awaitSpace(n *bubble.Node, client *clientv3.Client) {
	for n.Context().Err() == nil {
		time.Sleep(time.Second)
		list, err := asking(n,
			func(ctx context.Context) (*clientv3.AlarmResponse, error) { return client.AlarmList(ctx) })
		if err == nil && len(list.Alarms) == 0 {
			return
		}
	}
}

// relieve asks for alarms. If there is no space and the operator is responsible, it frees space and disarms the
// alarm.
func (s *clients) relieve(ctx context.Context, n *bubble.Node, client *clientv3.Client) {
	sees := n.Source().IntN(3) == 2
	// The raw client does not retry. With clientv3, one attempt might take effect after another was answered.
	server := etcdserverpb.NewMaintenanceClient(client.ActiveConnection())
	began := s.world.Now()
	list, err := server.Alarm(ctx,
		&etcdserverpb.AlarmRequest{Action: etcdserverpb.AlarmRequest_GET, Alarm: etcdserverpb.AlarmType_NOSPACE})
	if err != nil || len(list.Alarms) == 0 {
		return
	}
	n.Emit(EventSpace, &Space{Full, began})
	if !sees {
		return
	}
	s.mutex.Lock()
	newest := s.newest
	s.mutex.Unlock()
	_, _ = client.Compact(ctx, newest, clientv3.WithCompactPhysical())
	for _, at := range s.members() {
		_, _ = asking(n,
			func(ctx context.Context) (*clientv3.DefragmentResponse, error) { return client.Defragment(ctx, at) })
	}
	for _, a := range list.Alarms {
		n.Emit(EventSpace, &Space{What: Relieving})
		if _, err := asking(n, func(ctx context.Context) (*etcdserverpb.AlarmResponse, error) {
			return server.Alarm(ctx, &etcdserverpb.AlarmRequest{Action: etcdserverpb.AlarmRequest_DEACTIVATE,
				MemberID: a.MemberID, Alarm: a.Alarm})
		}); err == nil {
			n.Emit(EventSpace, &Space{What: Relieved})
		}
	}
}

// reportAlarms reports the alarms of a member, without a message.
func (m *member) reportAlarms(n *bubble.Node) {
	list := &Alarms{}
	for _, a := range m.Server.Alarms() {
		list.Types = append(list.Types, a.Alarm.String())
	}
	n.Emit(EventAlarms, list)
}
