package etcdserver

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/kit/watch"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// Stay is the spec that a member stops on its own only after a request for its removal.
var Stay = spec.OnEvent(
	"members-stay",
	EventMember,
	func(leaving *[65]map[int]bool, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		m := e.Value.(*Member)
		switch m.What {
		case Leaving:
			if leaving[e.Node] == nil {
				leaving[e.Node] = map[int]bool{}
			}
			leaving[e.Node][m.Number] = true
		case Stopped:
			if !leaving[e.Node][m.Number] {
				return &lockstep.Finding{
					Nodes: trace.NodesOf(e.Node),
					Text:  fmt.Sprintf("member %d stopped without a request for its removal", e.Node),
				}
			}
		}
		return nil
	},
)

// Once is the spec that a client's write takes effect only once, however many attempts the client makes. Every write
// has a unique value.
var Once = spec.New("writes-happen-once",
	func(i lockstep.Info) *once { return &once{values: i.Options["mix"] != kv.Binary.String()} })

// LeasesHold is the spec that a key with a lease exists at least as long as its lease was kept alive.
var LeasesHold = spec.New("leases-hold", func(lockstep.Info) *leasesHold { return &leasesHold{} })

// LeasesEnd is the spec that a key with a lease is gone after the lease was revoked. Without faults it is also gone
// some time after the lease expired.
var LeasesEnd = spec.New("leases-end", func(lockstep.Info) *leasesEnd { return &leasesEnd{} })

// Permitted is the spec that a user without a right to an operation does not get it.
var Permitted = spec.New("only-the-permitted", func(lockstep.Info) *permitted { return &permitted{} })

// once records the revision at which each value was written.
type once struct {
	values  bool // every value is written once
	at      map[[2]string]int64
	checked int
}

// Reset begins a new run.
func (o *once) Reset() { o.at, o.checked = map[[2]string]int64{}, 0 }

// End returns nil: only events are checked.
func (*once) End(*lockstep.Run) *lockstep.Finding { return nil }

// Checked counts the values.
func (o *once) Checked() int { return o.checked }

// Event looks for values that were written before.
func (o *once) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if !o.values {
		return nil
	}
	for _, c := range changes(e) {
		if c.Deleted || c.Key == leased { // its values are drawn, and may be drawn twice
			continue
		}
		o.checked++
		write := [2]string{c.Key, c.Value}
		first, ok := o.at[write]
		if ok && first != c.Revision {
			return &lockstep.Finding{
				Nodes: trace.NodesOf(e.Node),
				Text: fmt.Sprintf("%s was set to %s at revision %d and at %d, though one operation alone does", c.Key,
					c.Value, first, c.Revision),
			}
		}
		o.at[write] = c.Revision
	}
	return nil
}

// changes are the changes of the history that an event reports.
func changes(e *lockstep.Event) []watch.Change {
	switch v := e.Value.(type) {
	case *watch.Delivered:
		return v.Changes
	case *watch.Wrote:
		return v.Changes
	}
	return nil
}

// lease is the known state of a lease.
type lease struct {
	known   trace.Time    // when the key was known to exist
	until   time.Duration // kept alive at least until then
	ttl     time.Duration
	last    trace.Time // when it was last reported
	ending  bool
	revoked trace.Time // when that was known; 0: unknown
}

// leases are the leases of a run, by key.
type leases map[string]*lease

// event records the state of a lease.
func (s leases) event(now trace.Time, l *Lease) {
	is := s[l.Key]
	if is == nil {
		is = &lease{known: now}
		s[l.Key] = is
	}
	is.last = now
	switch l.What {
	case Holds:
		is.until, is.ttl = max(is.until, l.Began+l.TTL), max(is.ttl, l.TTL)
	case Ending:
		is.ending = true
	case Revoked:
		is.revoked = now
	}
}

// leasesHold checks that keys exist.
type leasesHold struct {
	leases  leases
	checked int
}

// Reset begins a new run.
func (l *leasesHold) Reset() { l.leases, l.checked = leases{}, 0 }

// End returns nil: only events are checked.
func (*leasesHold) End(*lockstep.Run) *lockstep.Finding { return nil }

// Checked counts the keys that must exist.
func (l *leasesHold) Checked() int { return l.checked }

// Event checks the result of a read.
func (l *leasesHold) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	switch v := e.Value.(type) {
	case *Lease:
		if is := l.leases[v.Key]; v.What == Lost && is != nil {
			if l.checked++; time.Duration(run.Now()) < is.until {
				return &lockstep.Finding{Nodes: trace.NodesOf(e.Node),
					Text: fmt.Sprintf("the lease of %s holds until %v at least, and at %v member %d says that there is none",
						v.Key, is.until, time.Duration(run.Now()), e.Node)}
			}
		}
		if v.Key != "" {
			l.leases.event(run.Now(), v)
		}
	case *Held:
		for _, key := range slices.Sorted(maps.Keys(l.leases)) {
			is := l.leases[key]
			if is.ending || v.Began < time.Duration(is.known) || v.Ended >= is.until {
				continue
			}
			if l.checked++; !slices.Contains(v.Keys, key) {
				return &lockstep.Finding{Nodes: trace.NodesOf(e.Node),
					Text: fmt.Sprintf("the lease of %s holds until %v at least, and a read from %v to %v did not find its key",
						key, is.until, v.Began, v.Ended)}
			}
		}
	}
	return nil
}

// leasesEnd checks that keys are gone.
type leasesEnd struct {
	leases  leases
	calm    trace.Time // since when there are no faults and no leadership transfers; -1: there are some
	checked int
}

// Reset begins a new run.
func (l *leasesEnd) Reset() { *l = leasesEnd{leases: leases{}, calm: -1} }

// End returns nil: only events are checked.
func (*leasesEnd) End(*lockstep.Run) *lockstep.Finding { return nil }

// Checked counts the keys that must be gone.
func (l *leasesEnd) Checked() int { return l.checked }

// Event checks the result of a read.
func (l *leasesEnd) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if run.Settling() && l.calm < 0 {
		l.calm = run.Now()
	}
	switch v := e.Value.(type) {
	case *Lease:
		switch {
		case v.Key != "":
			l.leases.event(run.Now(), v)
		case l.calm >= 0:
			l.calm = run.Now()
		}
	case *Held:
		for _, key := range slices.Sorted(maps.Keys(l.leases)) {
			if f := l.gone(e.Node, key, v); f != nil {
				return f
			}
		}
	}
	return nil
}

// gone checks that an expired or revoked key is gone.
func (l *leasesEnd) gone(n lockstep.Node, key string, read *Held) *lockstep.Finding {
	is, why := l.leases[key], ""
	switch late := time.Duration(max(is.last, l.calm)) + is.ttl + calm; {
	case is.revoked > 0 && read.Began >= time.Duration(is.revoked):
		why = fmt.Sprintf("revoked before %v", time.Duration(is.revoked))
	case l.calm >= 0 && read.Began >= late:
		why = fmt.Sprintf("last kept alive before %v, for %v", time.Duration(is.last), is.ttl)
	default:
		return nil
	}
	if l.checked++; slices.Contains(read.Keys, key) {
		return &lockstep.Finding{
			Nodes: trace.NodesOf(n),
			Text:  fmt.Sprintf("the lease of %s was %s, and a read at %v found its key", key, why, read.Began),
		}
	}
	return nil
}

// permitted tracks the rights of users.
type permitted struct {
	enabled bool
	rights  map[[2]int]*right // by user and area
	wanted  map[int]*wanted   // by number
	checked int
}

// right is the known state of a right.
type right struct {
	perhaps bool // the user may have it
	open    int  // requests to grant it without a known answer
	given   int  // requests to grant it
}

// wanted is a request of a user.
type wanted struct {
	Access
	forbidden bool // at the time of the request
	given     int  // the number of requests to grant the rights by then
}

// Reset begins a new run.
func (p *permitted) Reset() {
	*p = permitted{rights: map[[2]int]*right{}, wanted: map[int]*wanted{}}
}

// End returns nil: only events are checked.
func (*permitted) End(*lockstep.Run) *lockstep.Finding { return nil }

// Checked counts the requests of users without a right.
func (p *permitted) Checked() int { return p.checked }

// Event checks the requests that succeeded.
func (p *permitted) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	switch v := e.Value.(type) {
	case *Right:
		p.change(v)
	case *Access:
		return p.access(e.Node, v)
	}
	for _, c := range changes(e) {
		number, err := strconv.Atoi(c.Value)
		if err != nil || !strings.HasPrefix(c.Key, "area") {
			continue
		}
		if w := p.wanted[number]; w != nil && p.still(w) {
			p.checked++
			return &lockstep.Finding{
				Nodes: trace.NodesOf(e.Node),
				Text: fmt.Sprintf("user %d had no right to area %d, and set it to %d at revision %d", w.User, w.Area,
					number, c.Revision),
			}
		}
	}
	return nil
}

// of is the known state of a right.
func (p *permitted) of(user, area int) *right {
	at := [2]int{user, area}
	if p.rights[at] == nil {
		p.rights[at] = &right{}
	}
	return p.rights[at]
}

// change records a change of rights. A change with an unknown outcome may happen at any time.
func (p *permitted) change(c *Right) {
	if c.Area == authentication {
		p.enabled = true
		return
	}
	r := p.of(c.User, c.Area)
	switch {
	case c.Allow && c.How == Asked:
		r.perhaps = true
		r.open++
		r.given++
	case c.Allow:
		r.open--
	case c.How == Done && r.open == 0:
		r.perhaps = false
	}
}

// forbidden reports whether a user certainly has no right to an area. It also returns how often the operator has
// requested to grant it.
func (p *permitted) forbidden(user, area int) (bool, int) {
	all, one := p.of(user, theRole), p.of(user, area)
	return p.enabled && !(all.perhaps && one.perhaps), all.given + one.given
}

// still reports whether a user that lacked a right at its request was not granted it since.
func (p *permitted) still(w *wanted) bool {
	_, given := p.forbidden(w.User, w.Area)
	return w.forbidden && given == w.given
}

// access checks a request of a user, or its result.
func (p *permitted) access(n lockstep.Node, a *Access) *lockstep.Finding {
	if a.How == Asked {
		forbidden, given := p.forbidden(a.User, a.Area)
		p.wanted[a.Number] = &wanted{*a, forbidden, given}
		return nil
	}
	w := p.wanted[a.Number]
	if w == nil || !p.still(w) {
		return nil
	}
	if p.checked++; a.How == Done {
		return &lockstep.Finding{
			Nodes: trace.NodesOf(n),
			Text: fmt.Sprintf(
				"user %d had no right to area %d when that was asked for, and was served by member %d: %v", a.User,
				a.Area, n, a),
		}
	}
	return nil
}
