package etcdserver

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/kit/watch"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

// EventStore is the type of event in which a member reports the content of its store; the value is a [*Store].
const EventStore = "store"

// Store is the content of a member's store: the hash of all keys at a revision, since the compacted revision.
type Store struct {
	Incarnation         int // of the member
	Revision, Compacted int64
	Hash                uint32
	Keys                int64 // their number, or unasked
}

// String is the store as text.
func (s *Store) String() string { return fmt.Sprintf("revision %d, hash %08x", s.Revision, s.Hash) }

// place is the position of the store in the history.
func (s *Store) place() string {
	if s.Compacted <= 0 {
		return fmt.Sprint("revision ", s.Revision)
	}
	return fmt.Sprintf("revision %d, compacted up to %d", s.Revision, s.Compacted)
}

// Equal is the spec that all members hold the same content at a revision, and each member always does.
var Equal = spec.New("equal-stores", func(lockstep.Info) *equal { return &equal{} })

// Durable is the spec that every member still has all acknowledged writes after faults have stopped.
var Durable = spec.New("acknowledged-writes-stay", func(lockstep.Info) *durable { return &durable{} })

// Forward is the spec that the revision of a member's store never decreases within one incarnation.
var Forward = spec.OnEvent(
	"stores-go-forward",
	EventStore,
	func(before *[64]Store, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		was, is := before[e.Node], *e.Value.(*Store)
		before[e.Node] = is
		if was.Incarnation == is.Incarnation && (is.Revision < was.Revision || is.Compacted < was.Compacted) {
			return &lockstep.Finding{
				Nodes: trace.NodesOf(e.Node),
				Text: fmt.Sprintf(
					"member %d was at revision %d, compacted up to %d, and is at revision %d, compacted up to %d",
					e.Node, was.Revision, was.Compacted, is.Revision, is.Compacted),
			}
		}
		return nil
	},
)

// Everything combines all specs of the server. Some of them need options.
var Everything = spec.All(
	kv.Linearizable,
	kv.Revisions,
	spec.OptionalUnless(watch.Guarantees, "watchers"),
	Equal,
	Forward,
	Durable,
	spec.OptionalUnless(Stay, "changes", "learners"),
	Once,
	spec.OptionalUnless(spec.All(LeasesHold, LeasesEnd), "leases", "holders"),
	spec.OptionalUnless(Permitted, "users"),
	spec.OptionalUnless(Snapshots, "readers"),
	spec.OptionalUnless(Transactions, "transactors"),
	spec.OptionalUnless(FullRefuse, "quota"),
	spec.OptionalUnless(Sound, "checks"),
)

// Settle is the length of a settling stage in which durability can be checked, for three members.
const Settle = 6000

// Usual is the target's default strategy: members crash and links are cut about five times a run each.
const Usual = "walk:deliver=600,wait=120,request=60,cut=1,heal=2,crash=1,restart=4,steps=3000"

// Targets is the server in the version of this build.
var Targets = []target.Target{target.Of(title(), "clusters of the real etcd server, unmodified, in virtual time",
	Cluster{}, Everything).
	Settled(Settle).Explored(Usual).WithScript(Script).
	WithCampaign("power=0.5", "snapshots=20", "batch=5", "clients=4", "requests=25",
		"mix=put:4,get:3,cas:2,delete:2,txn:2", "watchers=3", "compactions=20", "defragmentations=4", "backups=4",
		"leases=4", "holders=1", "readers=1", "transfers=4")}

// equal compares stores.
type equal struct {
	first   map[[2]int64]reported // by revision and compacted revision
	checked int
}

type reported struct {
	by   lockstep.Node
	hash uint32
	keys int64
}

// Reset begins a new run.
func (e *equal) Reset() { e.first, e.checked = map[[2]int64]reported{}, 0 }

// End returns nil: only events are checked.
func (*equal) End(*lockstep.Run) *lockstep.Finding { return nil }

// Checked counts the comparisons.
func (e *equal) Checked() int { return e.checked }

// Event compares a store with the first one reported at its revision.
func (e *equal) Event(_ *lockstep.Run, event *lockstep.Event) *lockstep.Finding {
	if event.Type != EventStore {
		return nil
	}
	s := event.Value.(*Store)
	at := [2]int64{s.Revision, s.Compacted}
	first, ok := e.first[at]
	if !ok {
		e.first[at] = reported{event.Node, s.Hash, s.Keys}
		return nil
	}
	e.checked++
	what := ""
	switch {
	case first.keys != s.Keys:
		what = fmt.Sprintf("the numbers of keys are %d and %d", first.keys, s.Keys)
	case first.hash == s.Hash || s.Keys == 0: // see count
		return nil
	default:
		what = fmt.Sprintf("the hashes of the keys are %08x and %08x", first.hash, s.Hash)
	}
	if first.by == event.Node {
		return &lockstep.Finding{
			Nodes: trace.NodesOf(event.Node),
			Text:  fmt.Sprintf("member %d held something else at %v before: %s", event.Node, s.place(), what),
		}
	}
	return &lockstep.Finding{
		Nodes: trace.NodesOf(first.by, event.Node),
		Text:  fmt.Sprintf("members %d and %d differ at %v: %s", first.by, event.Node, s.place(), what),
	}
}

// durable records acknowledged writes and their times.
type durable struct {
	acknowledged acknowledgements
	at           [64]lately // by node
	joined       [64]trace.Time
	seat         [64]int // by node: the number of its seat
	leaving      [64]int // by node: requests for its removal that were not refused
	began        trace.Time
	checked      int
}

// acknowledgements are the revisions of acknowledged writes, in increasing order.
type acknowledgements []acknowledged

// acknowledged is the revision and time of an acknowledged write.
type acknowledged struct {
	when     trace.Time
	revision int64
}

// note records a write acknowledged now.
func (a *acknowledgements) note(now trace.Time, w *watch.Wrote) {
	if r := w.Changes[0].Revision; r > a.before(now) {
		*a = append(*a, acknowledged{now, r})
	}
}

// before is the highest revision acknowledged up to a time.
func (a acknowledgements) before(when trace.Time) int64 {
	for _, w := range slices.Backward(a) {
		if w.when <= when {
			return w.revision
		}
	}
	return 0
}

// lately is a member's last report of its store, if it came some time after the last fault, and the minimum revision
// at that time.
type lately struct{ is, must int64 }

// calm is the time without faults after which every member has caught up with the writes acknowledged when that time
// began.
const calm = 30 * time.Second

// Reset begins a new run.
func (d *durable) Reset() { *d = durable{began: -1} }

// Checked counts the runs that could have failed.
func (d *durable) Checked() int { return d.checked }

// Event records acknowledged writes and the content of stores.
func (d *durable) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	now := run.Now()
	if run.Settling() && d.began < 0 {
		d.began = now
	}
	switch e.Type {
	case watch.EventWrote:
		d.acknowledged.note(now, e.Value.(*watch.Wrote))
	case EventStore:
		if since := now - trace.Time(calm); d.began >= 0 && since >= max(d.began, d.joined[e.Node]) {
			d.at[e.Node] = lately{e.Value.(*Store).Revision, d.acknowledged.before(since)}
		}
	case EventMember:
		d.member(now, e.Node, e.Value.(*Member))
	}
	return nil
}

// member records memberships: the spec does not check a member about to be removed until it is a member again.
func (d *durable) member(now trace.Time, n lockstep.Node, m *Member) {
	switch {
	case m.What == Added:
		d.seat[n], d.leaving[n] = m.Number, 0
	case m.Number != d.seat[n]: // a former member
	case m.What == Leaving:
		d.leaving[n]++
	case m.What == Stayed:
		d.leaving[n]--
	case m.What == Joined || m.What == Stopped:
		d.joined[n], d.at[n] = now, lately{}
	}
}

// End checks the last reports of members. A small lag is no bug: clients continue to the end.
func (d *durable) End(run *lockstep.Run) *lockstep.Finding {
	if !run.Settled() {
		return nil
	}
	could := false
	for n, l := range d.at {
		switch {
		case d.leaving[n] > 0:
		case l.is < l.must:
			d.checked++
			return &lockstep.Finding{Nodes: trace.NodesOf(lockstep.Node(n)), Text: fmt.Sprintf(
				"%v after the last fault member %d is at revision %d; revision %d was acknowledged",
				time.Duration(run.Now()-d.began).Round(time.Second), n, l.is, l.must)}
		default:
			could = could || l.must > 0
		}
	}
	if could {
		d.checked++
	}
	return nil
}
