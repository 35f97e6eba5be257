package main

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/command"
	"github.com/lockstep-go/lockstep/internal/testkit/page"
	"github.com/lockstep-go/lockstep/report/campaign"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
)

// linked returns the deterministic targets of the command that need no options: neither a file nor a program.
func linked(t *testing.T) (names []string) {
	for _, tg := range command.App().Targets {
		s, err := tg.Build(nil)
		if err != nil {
			continue
		}
		if info, err := s.Describe(); err == nil && info.Determinism == lockstep.Deterministic {
			names = append(names, tg.Name)
		}
	}
	if len(names) < 8 {
		t.Fatalf("%q", names)
	}
	return names
}

// explore runs a campaign as "lockstep run TARGET" does.
func explore(t *testing.T, name string) (*campaign.Document, error) {
	tg, err := target.Find(command.App().Targets, name)
	if err != nil {
		return nil, err
	}
	s, err := tg.Build(nil)
	if err != nil {
		return nil, err
	}
	by, err := strategy.Parse(cmp.Or(tg.Strategy, "uniform"))
	if err != nil {
		return nil, err
	}
	result, err := lockstep.Explore(
		t.Context(),
		lockstep.Plan{
			System:    s,
			Spec:      tg.Spec,
			Strategy:  by,
			Settle:    tg.Settle,
			Runs:      200,
			Seed:      1,
			KeepGoing: true,
			Keep:      1,
		},
	)
	if err != nil {
		return nil, err
	}
	d := (&campaign.Campaign{Result: result}).Document()
	return &d, nil
}

// Every property of every linked target is checked in most runs with default options. The page shows in how many.
func TestDefaultsCheckEveryProperty(t *testing.T) {
	names := linked(t)
	page.Section(t, "../../docs/evidence/default-strategies.md", "properties", func(w io.Writer) error {
		low, err := table(w, names, func(name string) (*campaign.Document, error) { return explore(t, name) })
		if len(low) > 0 {
			t.Errorf("checked in less than half of the runs: %s", strings.Join(low, ", "))
		}
		return err
	})
}

// A property that few runs check, or none, is reported.
func TestTable(t *testing.T) {
	var b strings.Builder
	low, err := table(&b, []string{"x"}, func(string) (*campaign.Document, error) {
		return &campaign.Document{
			Strategy:    "walk",
			Determinism: "best effort",
			Runs:        10,
			CheckedRuns: map[string]int{"often": 5, "seldom": 4, "never": 0},
		}, nil
	})
	if err != nil || !slices.Equal(low, []string{"x never", "x seldom"}) ||
		!strings.HasSuffix(b.String(), "| `x` | `walk` | best effort | 10 | never 0 %, often 50 %, seldom 40 % |\n") {
		t.Errorf("%v, %q\n%s", err, low, b.String())
	}
}
