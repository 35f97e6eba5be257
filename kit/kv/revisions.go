package kv

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
)

// Revisions: an operation that began when another had been answered has at least its revision, and
// one that writes a higher one. Linearizability looks at each key on its own; this is about all of
// them.
var Revisions = spec.New("revisions-never-go-back", func(lockstep.Info) *revisions { return &revisions{} })

// revisions knows, for each operation under way, the highest revision answered before.
type revisions struct {
	highest int64
	began   map[int]begun
	checked int
}

type begun struct {
	op    *Op
	floor int64
}

// Reset begins a new run.
func (s *revisions) Reset() { *s = revisions{began: map[int]begun{}} }

// End returns nil: only events are checked.
func (*revisions) End(*lockstep.Run) *lockstep.Finding { return nil }

// Checked counts the answers with a revision that came after others.
func (s *revisions) Checked() int { return s.checked }

// Event checks an answer.
func (s *revisions) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	switch v := e.Value.(type) {
	case *spec.Call:
		if o, ok := v.Input.(*Op); ok {
			s.began[v.ID] = begun{o, s.highest}
		}
	case *spec.Return:
		if r, ok := v.Output.(*Result); ok && r.Revision != 0 {
			return s.answer(s.began[v.ID], r)
		}
	}
	return nil
}

func (s *revisions) answer(b begun, r *Result) *lockstep.Finding {
	s.highest = max(s.highest, r.Revision)
	if b.op == nil || b.floor == 0 {
		return nil
	}
	s.checked++
	wrote := r.OK && b.op.Writes() && b.op.Kind != Delete // what is not there is deleted without a revision
	if r.Revision < b.floor || wrote && r.Revision == b.floor {
		return &lockstep.Finding{Text: fmt.Sprintf("%v was answered at revision %d; before it began, revision %d had been "+
			"answered", b.op, r.Revision, b.floor)}
	}
	return nil
}
