package lockstepform

import (
	"context"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
)

// Share counts the runs that have a lock-step form.
type Share struct {
	Runs   int
	Formed int
	// Breaks counts, by type, the messages whose delivery was the first to break the rounds of a run, most frequent
	// first. Type is empty if no delivery is the cause.
	Breaks []BreakCount
}

// BreakCount counts the runs whose rounds a type of message breaks first.
type BreakCount struct {
	Type string
	Runs int
}

// Survey executes runs of a plan, whatever their verdicts, and searches for the lock-step form of each. It is slower
// than Measure, which only counts, but exact: it decides whether an equivalent run in rounds is found. When the context
// ends, the share covers the completed runs.
func Survey(ctx context.Context, plan lockstep.Plan, runs int) (*Share, error) {
	out := &Share{}
	breaks := map[string]int{}
	for i := 0; i < runs && ctx.Err() == nil; i++ {
		t, err := lockstep.Record(ctx, plan, i)
		if err != nil {
			return out, err
		}
		res, err := Form(ctx, plan, t)
		if err != nil {
			return out, err
		}
		out.Runs++
		switch {
		case res.Trace != nil:
			out.Formed++
		case res.Break != nil:
			breaks[res.Break.Message.Type]++
		default:
			breaks[""]++
		}
	}
	//lockstep:unordered they are sorted below
	for kind, n := range breaks {
		out.Breaks = append(out.Breaks, BreakCount{kind, n})
	}
	slices.SortFunc(out.Breaks, func(a, b BreakCount) int {
		if a.Runs != b.Runs {
			return b.Runs - a.Runs
		}
		return strings.Compare(a.Type, b.Type)
	})
	return out, nil
}
