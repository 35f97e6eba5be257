package lockstep_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// doubtful is a spec whose monitor cannot judge a run in which something arrived, or,
// where fails is set, finds fault with it and draws that.
type doubtful struct{ fails bool }

func (s doubtful) Properties() []string               { return []string{"doubtful"} }
func (s doubtful) New(lockstep.Info) lockstep.Monitor { return &doubter{doubtful: s} }

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
func (d *doubter) Undecided() string {
	if d.arrived {
		return "too much for this spec"
	}
	return ""
}
func (d *doubter) Illustrate() []trace.Picture {
	return []trace.Picture{{Name: "doubt.txt", Data: []byte("a picture")}}
}

func TestUndecided(t *testing.T) {
	plan := lockstep.Plan{System: toy(nil), Strategy: strategy.Walk{Deliver: 1, Alarm: 1, Steps: 3}, Spec: doubtful{}, Runs: 50}
	r, err := lockstep.Explore(context.Background(), plan)
	if err != nil {
		t.Fatal(err)
	}
	unknown := r.Verdicts[trace.Unknown]
	if r.Verdict() != trace.Unknown || unknown == 0 || unknown == r.Runs || r.Reasons["too much for this spec"] != unknown {
		t.Errorf("%v because of %v: runs in which something arrived are unknown, the others pass", r.Verdicts, r.Reasons)
	}
	t.Chdir(t.TempDir())
	if f := inTest(&fakeT{name: "TestDoubt"}, plan); !f.failed || !strings.Contains(f.log.String(), "too much for this spec") {
		t.Errorf("a test with undecided runs:\n%s", f.log.String())
	}
}

func TestPicturesAreStored(t *testing.T) {
	t.Chdir(t.TempDir())
	plan := lockstep.Plan{System: toy(nil), Strategy: strategy.Walk{Deliver: 1, Alarm: 1, Steps: 5}, Spec: doubtful{fails: true}, Runs: 50}
	if f := inTest(&fakeT{name: "TestDoubt"}, plan); !f.failed {
		t.Fatalf("nothing found:\n%s", f.log.String())
	}
	files, _ := filepath.Glob("testdata/lockstep/TestDoubt/*-doubt.txt")
	if len(files) != 1 {
		t.Fatalf("pictures stored: %q", files)
	}
	if data, err := os.ReadFile(files[0]); err != nil || string(data) != "a picture" {
		t.Errorf("%s: %q %v", files[0], data, err)
	}
}
