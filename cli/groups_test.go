package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/report/campaign"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// Every group of findings has a page. The first finding of each is shrunk and compared with a passing run, beside the
// run as it was found; with --no-shrink it is drawn as it was found.
func TestGroupsAreKept(t *testing.T) {
	tier.NotShort(t)
	app := App{Targets: []target.Target{target.Of("smr-bug", "one with a bug", smr.Cluster{Nodes: 3, Bug: true},
		smr.Prefix)}}
	for _, shrinks := range []bool{true, false} {
		t.Chdir(t.TempDir())
		args := []string{"run", "smr-bug", "--keep-going", "--runs", "1500", "--seed", "1", "--json",
			"--shrink-for", "10m"} // all groups have a tenth of it
		if !shrinks {
			args = append(args, "--no-shrink")
		}
		var out, errOut bytes.Buffer
		if status := app.execute(t.Context(), "lockstep", args, &out, &errOut); status != statusFinding {
			t.Fatalf("status %d: %s", status, errOut.String())
		}
		var d struct{ Groups []campaign.Group }
		if err := json.Unmarshal(out.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		smaller, explained := 0, 0
		for _, g := range d.Groups {
			page, err := os.ReadFile(g.Page)
			if err != nil {
				t.Fatal(err)
			}
			kept, err := trace.ReadFile(g.Trace)
			if err != nil || kept.Header.Run != g.First {
				t.Errorf("%s: %v", g.Trace, err)
			}
			found, err := trace.ReadFile(strings.TrimSuffix(g.Trace, ".trace") + ".found.trace")
			if (err == nil) != (kept.Header.Shrunk != "") || g.Shrunk != "" && err != nil {
				t.Errorf("%s: %q, %v", g.Trace, kept.Header.Shrunk, err)
			}
			if g.Shrunk != "" && len(kept.Records) < len(found.Records) {
				smaller++
			}
			if len(g.Why) > 0 && strings.Contains(string(page), `<li>the run passes without `) {
				explained++
			}
		}
		if len(d.Groups) < 2 || (smaller > 0) != shrinks || (explained > 0) != shrinks {
			t.Errorf("of %d groups %d are shrunk and %d explained", len(d.Groups), smaller, explained)
		}
	}
}
