package lockstep_test

import (
	"context"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// doubtful is a spec whose monitor cannot check a run in which a message arrived, or, if fails is set, reports a
// violation and draws it.
type doubtful struct{ fails bool }

func (d doubtful) Properties() []string               { return []string{"doubtful"} }
func (d doubtful) New(lockstep.Info) lockstep.Monitor { return &doubter{doubtful: d} }

type doubter struct {
	doubtful
	arrived bool
}

func (d *doubter) Reset() { d.arrived = false }
func (d *doubter) Step(run *lockstep.Run) *lockstep.Finding {
	d.arrived = d.arrived || len(run.Events()) > 0
	return nil
}
func (d *doubter) End(*lockstep.Run) *lockstep.Finding {
	if d.fails && d.arrived {
		return &lockstep.Finding{Property: "doubtful", Text: "something arrived"}
	}
	return nil
}
func (*doubter) EventsOnly() bool { return false }
func (d *doubter) Conclude(draw bool) (c lockstep.Conclusion) {
	if d.arrived {
		c.Undecided = "too much for this spec"
	}
	if draw {
		c.Pictures = []trace.Picture{{Name: "doubt.txt", Data: []byte("a picture")}}
	}
	return c
}

func TestUndecided(t *testing.T) {
	plan := lockstep.Plan{
		System:   toy.Cluster(nil),
		Strategy: strategy.Walk{Deliver: 1, Timer: 1, Steps: 3},
		Spec:     doubtful{},
		Runs:     50,
	}
	r, err := lockstep.Explore(context.Background(), plan)
	if err != nil {
		t.Fatal(err)
	}
	unknown := r.Verdicts[trace.Unknown]
	if r.Verdict() != trace.Unknown || unknown == 0 || unknown == r.Runs ||
		r.Reasons["too much for this spec"] != unknown {
		t.Errorf("%v because of %v: runs in which something arrived are unknown, the others pass", r.Verdicts,
			r.Reasons)
	}
}

// A finding's trace includes the pictures of the spec.
func TestPictures(t *testing.T) {
	plan := lockstep.Plan{
		System:   toy.Cluster(nil),
		Strategy: strategy.Walk{Deliver: 1, Timer: 1, Steps: 5},
		Spec:     doubtful{fails: true},
		Runs:     50,
	}
	tr := toy.Find(t, plan)[0].Trace
	if len(tr.Pictures) != 1 || string(tr.Pictures[0].Data) != "a picture" {
		t.Errorf("pictures: %+v", tr.Pictures)
	}
}
