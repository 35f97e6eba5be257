package conform

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/kit/raftspec"
)

// Raft maps the events of package raftspec to these variables of a model, of which it needs term and log:
//
//	term: int                a node's term, from that of the start on
//	role: Role               an enum with follower, candidate and leader
//	log: set<Entry>          the record Entry has the fields index and term, or: log: seq<int>, the terms
//	commit: int              an upper bound of the node's commit index
//
// A node that claims to lead, or to campaign, must do so in the model, and one that enters a term as a follower is one.
// A node that becomes a follower of its own term, restarts, or asks for pre-votes, may be anything in the model: a
// leader that has not heard of a quorum is a follower of the term that it led. The commit index of a system may be
// behind that of the model, as it is after a restart.
//
// The mapping assumes of the model what [Mapping] says about Again, Epoch (term) and Larger (commit,
// known, old, stamp).
// A run in which the members change, or in which a node installs a snapshot that no log explains, is inconclusive.
var Raft = Mapping{Name: "Raft", New: newRaft, Again: true, Epoch: "term",
	Larger: []string{"commit", "known", "old", "stamp"}}

// raft follows the nodes of a Raft.
type raft struct {
	program                 *machine.Program
	term, role, log, commit int   // variables; -1: the model has none
	follower                int64 // roles
	candidate, leader       int64
	set                     bool // the log is a set of records
	nodes                   []raftNode
	base                    uint64 // index before the first entry of the run
	terms                   uint64 // term before the first of the run
	begun                   bool
}

// raftNode is what is known of a node.
type raftNode struct {
	term, commit uint64
	role         string
	may          bool         // lead or campaign in the model, although it does not say so
	log          []core.Value // by index
	added        []int        // by index: the steps in which the entries were added
	longest      int          // the most entries that the log ever had
	last         int          // step of the last event before a restart
}

func newRaft(p *machine.Program, info lockstep.Info) (Observer, error) {
	r := &raft{program: p, term: variable(p, "term"), role: variable(p, "role"), log: variable(p, "log"),
		commit: variable(p, "commit")}
	if !slices.Contains(info.Events, raftspec.EventAppend) {
		return nil, fmt.Errorf("%s lists no events of type %s", info.Name, raftspec.EventAppend)
	}
	if r.term < 0 || r.log < 0 {
		return nil, fmt.Errorf("the model needs the variables term and log; it has %v", names(p))
	}
	for _, i := range []int{r.term, r.commit} {
		if i >= 0 && p.Core.Vars[i].Type.Kind != core.Int {
			return nil, fmt.Errorf("the variable %s must be an int", p.Core.Vars[i].Name)
		}
	}
	return r, r.types()
}

// types checks the types of the variables.
func (r *raft) types() error {
	vars := r.program.Core.Vars
	if r.role >= 0 {
		t := vars[r.role].Type
		//lockstep:unordered each is set once
		for name, role := range map[string]*int64{raftspec.BecameFollower: &r.follower,
			raftspec.BecameCandidate: &r.candidate, raftspec.BecameLeader: &r.leader} {
			*role = int64(slices.Index(t.Values, name))
		}
		if t.Kind != core.Enum || min(r.follower, r.candidate, r.leader) < 0 {
			return fmt.Errorf("the variable role must be of an enum with the values follower, candidate and leader")
		}
	}
	switch t := vars[r.log].Type; {
	case t.Kind == core.Seq && t.Elem.Kind == core.Int:
	case t.Kind == core.Set && t.Elem.Kind == core.Record && len(t.Elem.Fields) == 2 &&
		t.Elem.Fields[0].Name == "index" && t.Elem.Fields[1].Name == "term":
		r.set = true
	default:
		return fmt.Errorf("the variable log must be a seq<int> of terms, or a set of records with index and term")
	}
	return nil
}

func (r *raft) Reset() {
	r.nodes = make([]raftNode, r.program.N+1)
	r.base, r.terms, r.begun = 0, 0, false
}

func (r *raft) Event(run *lockstep.Run, e *lockstep.Event) (bool, error) {
	n := &r.nodes[e.Node]
	if e.Type != raftspec.EventRestart {
		n.last = run.Steps()
	}
	switch v := e.Value.(type) {
	case *raftspec.Role:
		r.became(n, e.Type, v.Term-r.terms)
	case *raftspec.Appended:
		if len(v.Entries) == 0 {
			return true, r.cut(n, v.Cut)
		}
		return true, r.append(n, v.Entries, run.Steps())
	case *raftspec.Committed:
		n.commit = v.Index - r.base
	case *raftspec.Applied:
		if v.Conf.Members() != 0 {
			return false, fmt.Errorf("the members change, of which the model knows nothing")
		}
		if v.Term == 0 {
			return false, nil
		}
		n.commit = max(n.commit, v.Entry.Index-r.base)
	case *raftspec.Installed:
		return true, r.install(n, v)
	case *raftspec.Restarted:
		return true, r.restarted(n, v, run.Steps() == 0)
	default:
		return false, nil
	}
	return true, nil
}

// became takes over a node's role. A candidate of a term that it was in before asks for pre-votes, which the model does
// not have: it may be anything.
func (r *raft) became(n *raftNode, role string, term uint64) {
	n.may = term == n.term
	if role == raftspec.BecameCandidate && n.may && n.role != role {
		role = raftspec.BecameFollower
	}
	n.role, n.term = role, term
}

// entry is an entry as a value of the model.
func (r *raft) entry(e *raftspec.Entry) core.Value {
	term := core.Value{N: int64(e.Term - r.terms)}
	if !r.set {
		return term
	}
	return core.Value{E: []core.Value{{N: int64(e.Index - r.base)}, term}}
}

// termOf is the term of an entry of a log.
func (r *raft) termOf(v core.Value) uint64 {
	if r.set {
		v = v.E[1]
	}
	return uint64(v.N) + r.terms
}

func (r *raft) append(n *raftNode, entries []raftspec.Entry, step int) error {
	if err := r.cut(n, entries[0].Index); err != nil {
		return err
	}
	for i := range entries {
		n.log = append(n.log, r.entry(&entries[i]))
		n.added = append(n.added, step)
	}
	n.longest = max(n.longest, len(n.log))
	return nil
}

// cut drops the entries from an index on. The log is never changed in place: states of the model share it.
func (r *raft) cut(n *raftNode, from uint64) error {
	if from <= r.base || from-r.base > uint64(len(n.log))+1 {
		return fmt.Errorf("the log goes from index %d up to %d, and changes at %d: what is between is not known",
			r.base+1, r.base+uint64(len(n.log)), from)
	}
	n.log, n.added = slices.Clip(n.log[:from-r.base-1]), n.added[:from-r.base-1]
	return nil
}

// install puts the log in the place of a snapshot that some node had when it took the snapshot.
func (r *raft) install(n *raftNode, s *raftspec.Installed) error {
	at := int(s.Index - r.base)
	has := func(o *raftNode) bool { return len(o.log) >= at && at > 0 && r.termOf(o.log[at-1]) == s.Term }
	if at <= 0 || has(n) {
		n.commit = max(n.commit, uint64(max(at, 0)))
		return nil
	}
	for i := range r.nodes {
		if o := &r.nodes[i]; has(o) {
			n.log, n.commit, n.longest = slices.Clip(o.log[:at]), uint64(at), max(n.longest, at)
			n.added = make([]int, at)
			return nil
		}
	}
	return fmt.Errorf("a node installs a snapshot of index %d and term %d, which is in no log", s.Index, s.Term)
}

// restarted takes over what a node has found on its disk. The entries with which the first node begins are those of
// all nodes, and not of the model.
func (r *raft) restarted(n *raftNode, v *raftspec.Restarted, first bool) error {
	if first && !r.begun {
		r.base, r.terms, r.begun = v.Last, v.Term, true
	}
	if voters := v.Conf.Voters.Len(); voters != 0 && voters != r.program.N {
		return fmt.Errorf("%d of %d nodes are members, and the model has %d", voters, len(r.nodes)-1, r.program.N)
	}
	entries := v.Entries
	for len(entries) > 0 && entries[0].Index <= r.base {
		entries = entries[1:]
	}
	base := max(v.Base, r.base)
	if v.Last < r.base || base-r.base > uint64(len(n.log)) || v.Term < r.terms {
		return fmt.Errorf("a node starts with a log after index %d and term %d, of which nothing is known", v.Base, v.Term)
	}
	doubt := r.partly(n, entries)
	added := n.added
	n.log, n.added = slices.Clip(n.log[:base-r.base]), n.added[:base-r.base]
	n.term, n.role, n.commit, n.may = v.Term-r.terms, raftspec.BecameFollower, 0, true
	if v.Commit > r.base {
		n.commit = v.Commit - r.base
	}
	if len(entries) > 0 {
		if err := r.append(n, entries, -1); err != nil {
			return err
		}
		copy(n.added, added)
	}
	return doubt
}

// partly finds an entry that the node was writing in the step of its crash. Such a crash may keep the entry and lose
// the term in which the node added it; in the model both are written at once. What earlier steps wrote is durable.
func (r *raft) partly(n *raftNode, entries []raftspec.Entry) error {
	for i := range entries {
		at := int(entries[i].Index - r.base - 1)
		if at < len(n.added) && n.added[at] < n.last && core.Compare(n.log[at], r.entry(&entries[i])) == 0 {
			continue
		}
		return Doubt{fmt.Sprintf("a crash kept entry %d of what a node was writing, and perhaps not its term; the model "+
			"writes both at once: an option like atomic=true of the system makes such runs comparable", entries[i].Index)}
	}
	return nil
}

func (r *raft) Agrees(node int, s *machine.State) bool {
	n := &r.nodes[node]
	if s.Vars[r.term].N != int64(n.term) || r.commit >= 0 && s.Vars[r.commit].N < int64(n.commit) {
		return false
	}
	if r.role >= 0 {
		switch role := s.Vars[r.role].N; {
		case n.role == raftspec.BecameLeader && role != r.leader:
			return false
		case n.role == raftspec.BecameCandidate && role != r.candidate:
			return false
		case n.role != raftspec.BecameLeader && n.role != raftspec.BecameCandidate && !n.may && role != r.follower:
			return false
		}
	}
	log := s.Vars[r.log].E
	return len(log) == len(n.log) && r.begins(log, n.log)
}

// begins says whether a log begins another one.
func (r *raft) begins(log, longer []core.Value) bool {
	for i := range log {
		if core.Compare(log[i], longer[i]) != 0 {
			return false
		}
	}
	return true
}

// Leads excludes later terms, leaders of the term that would have to lose entries, and leaders of earlier terms with
// entries that nothing has shown.
func (r *raft) Leads(node int, s *machine.State) bool {
	n, term, log := &r.nodes[node], s.Vars[r.term].N, s.Vars[r.log].E
	leads := r.role >= 0 && s.Vars[r.role].N == r.leader
	switch {
	case term > int64(n.term):
		return false
	case leads && term == int64(n.term):
		return len(log) <= len(n.log) && r.begins(log, n.log)
	default:
		return !leads || len(log) <= n.longest
	}
}

func (r *raft) Text(node int) string {
	n := &r.nodes[node]
	role := n.role
	if role == "" {
		role = raftspec.BecameFollower
	}
	terms := make([]uint64, len(n.log))
	for i, e := range n.log {
		terms[i] = r.termOf(e) - r.terms
	}
	return fmt.Sprintf("%s term=%d log=%v commit=%d", role, n.term, terms, n.commit)
}
