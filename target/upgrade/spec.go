package upgrade

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// The types of events.
const (
	EventRelease    = "release"             // a node starts with a version; the value is the version
	EventAgreed     = "cluster-version"     // what a member says that the cluster has agreed on; the value is a version
	EventUpgraded   = "upgraded"            // all members run the newest version, for the first time in the run
	EventAsked      = "downgrade-requested" // the operator requests the downgrade to a version for the first time
	EventEnabled    = "downgrade-enabled"   // the downgrade to a version is known to be enabled
	EventDowngraded = "downgraded"          // all members run the version before the newest one again
	EventMember     = "member"              // a removal was requested (Leaving), or a change was acknowledged
	EventMembers    = "members"             // the members that a member lists; the value is a *Members
	EventStore      = "store"               // what a member has; the value is a *Store
)

// The changes of a membership.
const (
	Added    = "added"
	Promoted = "promoted"
	Leaving  = "leaving"
	Removed  = "removed"
)

// Store is the content of a member's store: the hash of all keys at a revision.
type Store struct {
	Revision, Compacted int64
	Hash                uint32
}

// String is the store as text.
func (s *Store) String() string { return fmt.Sprintf("revision %d, hash %08x", s.Revision, s.Hash) }

// Members are the members that a member lists in an answer to a request that began at a time.
type Members struct {
	Began         trace.Time
	All, Learners lockstep.Nodes
}

// String is the list as text.
func (m *Members) String() string { return fmt.Sprintf("%v, without a vote %v", m.All, m.Learners) }

// Equal is the spec that all members, in all versions, hold the same content at a revision.
var Equal = spec.New("equal-stores", func(lockstep.Info) *equal { return &equal{} })

// Agreed is the spec that the cluster's version is the lowest one of its members some time after the last fault. Once a
// downgrade is enabled, it is the version to which the cluster is downgraded.
var Agreed = spec.New("cluster-version-rises", func(lockstep.Info) *agreed { return &agreed{} })

// Stay is the spec that promoted members vote, and removed members are gone, as soon as that was acknowledged.
var Stay = spec.New("members-stay", func(lockstep.Info) *stay { return &stay{} })

type equal struct {
	first   map[[2]int64]held
	release [65]string
	checked int
}

// held is what a member held at a revision, and with which version.
type held struct {
	by      lockstep.Node
	release string
	hash    uint32
}

// Reset begins a new run.
func (e *equal) Reset() { *e = equal{first: map[[2]int64]held{}} }

// End returns nil: only events are checked.
func (*equal) End(*lockstep.Run) *lockstep.Finding { return nil }

// Checked counts the comparisons.
func (e *equal) Checked() int { return e.checked }

// Event compares a store with the first one reported at its revision.
func (e *equal) Event(_ *lockstep.Run, event *lockstep.Event) *lockstep.Finding {
	if event.Type == EventRelease {
		e.release[event.Node] = event.Value.(string)
	}
	if event.Type != EventStore {
		return nil
	}
	s := event.Value.(*Store)
	is := held{event.Node, e.release[event.Node], s.Hash}
	first, ok := e.first[[2]int64{s.Revision, s.Compacted}]
	if !ok {
		e.first[[2]int64{s.Revision, s.Compacted}] = is
		return nil
	}
	if e.checked++; first.hash == is.hash {
		return nil
	}
	return &lockstep.Finding{Nodes: trace.NodesOf(first.by, is.by), Text: fmt.Sprintf(
		"at revision %d member %d with version %s holds keys with the hash %08x, and member %d with version %s %08x",
		s.Revision, first.by, first.release, first.hash, is.by, is.release, is.hash)}
}

// agreed knows the versions of nodes, and what members say about the cluster's.
type agreed struct {
	release [65]string
	says    [65]string
	since   [65]trace.Time // the time of what a member says
	joined  [65]trace.Time // the time of the last change of the member
	leaving [65]bool
	gone    [65]bool
	began   trace.Time // of the settling stage; -1: not yet
	target  string     // the version to which the operator wants to downgrade the cluster; empty: none
	enabled bool       // the downgrade is known to be enabled
	asked   trace.Time // the time of the last event of the downgrade
	checked int
}

// Reset begins a new run.
func (a *agreed) Reset() { *a = agreed{began: -1} }

// Checked counts the runs that could have failed.
func (a *agreed) Checked() int { return a.checked }

// Event records versions.
func (a *agreed) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if run.Settling() && a.began < 0 {
		a.began = run.Now()
	}
	switch e.Type {
	case EventRelease:
		a.release[e.Node], a.joined[e.Node] = e.Value.(string), run.Now()
	case EventAgreed:
		a.says[e.Node], a.since[e.Node] = e.Value.(string), run.Now()
	case EventAsked, EventEnabled:
		a.target, a.enabled, a.asked = e.Value.(string), e.Type == EventEnabled, run.Now()
	case EventMember:
		a.joined[e.Node] = run.Now()
		a.leaving[e.Node] = e.Value == Leaving
		a.gone[e.Node] = e.Value == Removed
	}
	return nil
}

// End checks what the members say at last.
func (a *agreed) End(run *lockstep.Run) *lockstep.Finding {
	if !run.Settled() {
		return nil
	}
	return a.compare()
}

// compare compares what the members say with the lowest version of a member. A node that says nothing is none. After a
// removal without an answer the members are unknown. A downgrade without an answer is enabled or not.
func (a *agreed) compare() *lockstep.Finding {
	lowest, after := "", max(a.began, a.asked)
	for n, v := range a.release {
		if a.leaving[n] { // a member or none
			return nil
		}
		if v == "" || a.says[n] == "" || a.gone[n] {
			continue
		}
		if after = max(after, a.joined[n]); lowest == "" || older(v, lowest) {
			lowest = v
		}
	}
	want := lowest
	if a.enabled {
		want = a.target
	}
	for n, v := range a.says {
		if v == "" || a.gone[n] || a.since[n] < after+trace.Time(calm) {
			continue
		}
		if a.checked++; line(v) != line(want) && (a.target == "" || line(v) != line(a.target)) {
			return &lockstep.Finding{Nodes: trace.NodesOf(lockstep.Node(n)), Text: fmt.Sprintf(
				"%v after the last restart or change member %d says that the cluster's version is %s; "+
					"the lowest version of a member is %s%s",
				time.Duration(a.since[n]-after).Round(time.Second), n, v, lowest, a.downgrade())}
		}
	}
	return nil
}

// downgrade is what a finding says about the downgrade.
func (a *agreed) downgrade() string {
	switch {
	case a.target == "":
		return ""
	case a.enabled:
		return ", and the downgrade to " + a.target + " is enabled"
	}
	return ", and the downgrade to " + a.target + " was requested"
}

// older compares versions by their numbers.
func older(a, b string) bool {
	x, y := numbers(a), numbers(b)
	return slices.Compare(x[:], y[:]) < 0
}

// numbers are the numbers of a version.
func numbers(version string) (list [3]int) {
	_, _ = fmt.Sscanf(version, "%d.%d.%d", &list[0], &list[1], &list[2])
	return list
}

// stay knows what was acknowledged about members, and when.
type stay struct {
	promoted, removed [65]trace.Time // 0: not
	checked           int
}

// Reset begins a new run.
func (s *stay) Reset() { *s = stay{} }

// End returns nil: only events are checked.
func (*stay) End(*lockstep.Run) *lockstep.Finding { return nil }

// Checked counts the lists that could have been wrong.
func (s *stay) Checked() int { return s.checked }

// Event checks a list of members.
func (s *stay) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	switch v := e.Value.(type) {
	case string:
		if e.Type == EventMember && v == Promoted {
			s.promoted[e.Node] = run.Now()
		} else if e.Type == EventMember && v == Removed {
			s.removed[e.Node] = run.Now()
		}
	case *Members:
		for i := range s.promoted {
			if why := s.wrong(lockstep.Node(i), v); why != "" {
				return &lockstep.Finding{Nodes: trace.NodesOf(e.Node, lockstep.Node(i)),
					Text: fmt.Sprintf("member %d %s, and member %d lists %v", i, why, e.Node, v)}
			}
		}
	}
	return nil
}

// wrong is what a list contradicts about a node.
func (s *stay) wrong(n lockstep.Node, list *Members) string {
	switch {
	case s.removed[n] > 0 && list.Began > s.removed[n]:
		if s.checked++; list.All.Has(n) {
			return "was removed"
		}
	case s.promoted[n] > 0 && list.Began > s.promoted[n]:
		if s.checked++; !list.All.Has(n) || list.Learners.Has(n) {
			return "was promoted"
		}
	}
	return ""
}
