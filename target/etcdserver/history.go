package etcdserver

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/watch"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// Snapshots is the spec that a read of several keys finds the store at one revision, sorted and limited as requested.
var Snapshots = spec.New("reads-are-snapshots", func(lockstep.Info) *snapshots { return &snapshots{} })

// snapshots checks all reads at the end of a run, against the history known then: the changes that watches delivered,
// and the acknowledged writes.
type snapshots struct {
	all          map[int]bool              // the watches of all keys
	keys         map[string][]watch.Change // in the order of revisions, once the run is over
	whole        map[int64]bool            // revisions of which all changes are known
	acknowledged acknowledgements
	reads        []read
	checked      int
}

// read is a read by a client at a node.
type read struct {
	*Read
	by    lockstep.Node
	least int64 // the minimum revision of the answer
}

// Reset begins a new run.
func (s *snapshots) Reset() {
	*s = snapshots{all: map[int]bool{}, keys: map[string][]watch.Change{}, whole: map[int64]bool{}}
}

// Checked counts the reads.
func (s *snapshots) Checked() int { return s.checked }

// Event records the known history and the reads.
func (s *snapshots) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	switch v := e.Value.(type) {
	case *watch.Opened:
		s.all[v.Watch] = v.Key == ""
	case *watch.Delivered:
		s.learn(v.Changes, s.all[v.Watch])
	case *watch.Wrote:
		s.learn(v.Changes, true)
		s.acknowledged.note(run.Now(), v)
	case *Read:
		r := read{Read: v, by: e.Node}
		if v.Fresh {
			r.least = s.acknowledged.before(trace.Time(v.Began) - 1)
		}
		s.reads = append(s.reads, r)
	}
	return nil
}

// learn records changes; whole means that they are all changes of their revisions.
func (s *snapshots) learn(changes []watch.Change, whole bool) {
	for _, c := range changes {
		if !slices.Contains(s.keys[c.Key], c) {
			s.keys[c.Key] = append(s.keys[c.Key], c)
		}
		s.whole[c.Revision] = s.whole[c.Revision] || whole
	}
}

// End checks all reads.
func (s *snapshots) End(*lockstep.Run) *lockstep.Finding {
	for _, list := range s.keys { //lockstep:unordered the lists are independent
		slices.SortFunc(list, func(a, b watch.Change) int { return cmp.Compare(a.Revision, b.Revision) })
	}
	for _, r := range s.reads {
		s.checked++
		why := r.shape()
		if why == "" {
			why = s.content(r)
		}
		if why != "" {
			return &lockstep.Finding{
				Nodes: trace.NodesOf(r.by),
				Text:  fmt.Sprintf("the read at member %d, %v, returned a wrong result: %s", r.by, r.Read, why),
			}
		}
	}
	return nil
}

// shape describes a problem of an answer that does not depend on the store.
func (r *read) shape() string {
	inOrder := slices.IsSortedFunc(r.Found, r.Order.compare)
	switch {
	case r.Some:
		return ""
	case r.Revision < r.least:
		return fmt.Sprintf("revision %d was acknowledged before", r.least)
	case !inOrder:
		return "it is not sorted as requested"
	case r.Limit > 0 && len(r.Found) > r.Limit:
		return fmt.Sprintf("%d keys were wanted", r.Limit)
	case int64(len(r.Found)) > r.Count || r.More != (int64(len(r.Found)) < r.Count) ||
		r.More && len(r.Found) != r.Limit:
		return fmt.Sprintf("the answer with limit %d has %d keys of %d, and more: %v", r.Limit, len(r.Found), r.Count,
			r.More)
	}
	return ""
}

// content describes a contradiction between an answer and the known history.
func (s *snapshots) content(r read) string {
	found := map[string]bool{}
	for _, f := range r.Found {
		if found[f.Key] = true; f.Key < r.From || r.To != "" && f.Key >= r.To || f.Modified > r.Revision {
			return fmt.Sprintf("%v was not requested", f)
		}
		if why := s.key(f, r.Revision); why != "" {
			return why
		}
	}
	if r.Some {
		return ""
	}
	for _, key := range slices.Sorted(maps.Keys(s.keys)) {
		if key < r.From || r.To != "" && key >= r.To || found[key] {
			continue
		}
		if there, ok := s.surely(key, r.Revision); ok &&
			(!r.More || r.Order.compare(there, r.Found[len(r.Found)-1]) < 0) {
			return fmt.Sprintf("%v is missing", there)
		}
	}
	return ""
}

// key describes a contradiction about a key that was found at a revision.
func (s *snapshots) key(f Found, at int64) string {
	puts, gaps := int64(0), int64(0)
	for _, c := range s.keys[f.Key] {
		switch {
		case c.Revision > at:
		case c.Revision > f.Modified:
			return fmt.Sprintf("%v was after %v", c, f)
		case c.Revision == f.Modified && (c.Deleted || c.Value != f.Value):
			return fmt.Sprintf("%v was not %v", c, f)
		case c.Revision >= f.Created && c.Deleted:
			return fmt.Sprintf("%v, and %v is said to be there since %d", c, f, f.Created)
		case c.Revision >= f.Created:
			puts++
		}
	}
	for r := f.Created; r <= f.Modified; r++ {
		if !s.whole[r] {
			gaps++
		}
	}
	if f.Created > f.Modified || f.Version < puts || f.Version > puts+gaps {
		return fmt.Sprintf("%v was put %d to %d times since revision %d, and is said to be version %d", f, puts,
			puts+gaps, f.Created, f.Version)
	}
	return ""
}

// surely is the certain value of a key at a revision: its last known change is no deletion, and all later changes are
// known.
func (s *snapshots) surely(key string, at int64) (Found, bool) {
	list := s.keys[key]
	i := len(list) - 1
	for i >= 0 && list[i].Revision > at {
		i--
	}
	if i < 0 || list[i].Deleted {
		return Found{}, false
	}
	for r := list[i].Revision + 1; r <= at; r++ {
		if !s.whole[r] {
			return Found{}, false
		}
	}
	return Found{Key: key, Value: list[i].Value, Modified: list[i].Revision}, true
}
