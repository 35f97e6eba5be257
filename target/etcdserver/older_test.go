//go:build lockstep_overlay

package etcdserver

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// bugsOf34 maps properties to the known bug reports that a busy cluster of a 3.4 release shows as violations of
// them.
var bugsOf34 = map[string]string{
	"revisions-never-go-back": "#17780",
	"watch-bookmarkable":      "#18089, or #15220 where watchers ask",
	"watch-resumable":         "#18089",
	"watch-unique":            "#15271, or #15248 where clients turn to another member",
}

// clean fails if a campaign found something. In releases of 3.4 it logs known bugs, and fails for anything else.
func clean(t *testing.T, r *lockstep.Result) {
	t.Helper()
	for _, f := range r.Failures {
		if report := bugsOf34[f.Finding.Property]; older && report != "" {
			t.Logf("run %d: %s: %s", f.Run, report, f.Finding)
			continue
		}
		t.Errorf("run %d: %s\n%s", f.Run, f.Finding, f.Finding.Stack)
	}
}

// passed fails if a campaign found something, or has a run that was not checked or not deterministic.
func passed(t *testing.T, r *lockstep.Result) {
	t.Helper()
	clean(t, r)
	if v := r.Verdict(); v != trace.Pass && !(older && v == trace.Fail) {
		t.Error(v)
	}
}

// Watchers that request progress from lagging members find #15220 in releases that have it.
func TestAsking(t *testing.T) {
	if !has15220(Version()) {
		t.Skip("this release does not have it, and watchers ask in all tests")
	}
	r := campaign(
		t,
		lockstep.Plan{
			System:    Cluster{Watchers: 6, Snapshots: 5, Clients: 6, Requests: 40},
			Runs:      *runs,
			KeepGoing: true,
			Keep:      *runs,
			Strategy:  strategy.Walk{Deliver: 600, Drop: 1, Wait: 150, Request: 60, Cut: 2, Heal: 4, Steps: 5000},
		},
	)
	found := 0
	for _, f := range r.Failures {
		switch report := bugsOf34[f.Finding.Property]; {
		case report == "":
			t.Errorf("run %d: %s\n%s", f.Run, f.Finding, f.Finding.Stack)
		case f.Finding.Property == "watch-bookmarkable":
			found++
		}
	}
	if found == 0 {
		t.Errorf("it was not found in %d runs", r.Runs)
	}
}
