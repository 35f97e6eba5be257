package campaign

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/report/internal/plain"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// Activity reports in a few lines how much a campaign tested. The lines list the events of an average run, the number
// of checks of each property, and the number of runs without an observable event.
func Activity(r *lockstep.Result) []string {
	if r.Runs == 0 {
		return nil
	}
	lines := []string{"average run: " + strings.Join(happened(r), ", ")}
	for _, j := range r.Checked {
		if j.Sometimes && j.N > 0 {
			lines = append(lines, fmt.Sprintf("%s: happened %s, in %s", plain.Clean(j.Name), words.Count(j.N, "time"),
				words.Count(j.Runs, "run")))
		} else if j.N > 0 {
			lines = append(lines, fmt.Sprintf("property %s was checked %s, %s a run",
				plain.Clean(j.Name), words.Count(j.N, "time"), average(r, int64(j.N))))
		}
	}
	if r.IdleRuns > 0 && len(r.Events) > 0 {
		lines = append(
			lines,
			fmt.Sprintf("nothing observable happened in %d of %d runs (%.3g %%)", r.IdleRuns, r.Runs,
				100*float64(r.IdleRuns)/float64(r.Runs)),
		)
	}
	if n := r.Verdicts[trace.Vacuous]; n > 0 && n < r.Runs {
		lines = append(lines, fmt.Sprintf("the scenario took no effect in %d of %d runs", n, r.Runs))
	}
	if r.Rechecked > 0 && r.Diverged == 0 {
		lines = append(lines,
			fmt.Sprintf("%d of %d passing runs were repeated and did not differ", r.Rechecked, r.Runs))
	}
	return lines
}

// happened lists the events of an average run.
func happened(r *lockstep.Result) []string {
	list := []string{average(r, r.Steps) + " steps"}
	if r.Virtual > 0 {
		list = append(list, span(time.Duration(r.Virtual)/time.Duration(r.Runs))+" of virtual time")
	}
	if len(r.Events) == 0 {
		list = append(list, "no events")
	}
	answered := -1
	var all int64
	var types []string
	for _, e := range r.Events {
		all += int64(e.N)
		types = append(types, fmt.Sprintf("%s %s", plain.Clean(e.Name), average(r, int64(e.N))))
		if e.Name == spec.EventReturn {
			answered = e.N
		}
	}
	if len(types) > 0 {
		list = append(list, fmt.Sprintf("%s events (%s)", average(r, all), strings.Join(types, ", ")))
	}
	if r.Requests > 0 {
		list = append(list, average(r, r.Requests)+" requests given")
	}
	if answered >= 0 {
		list = append(list, average(r, int64(answered))+" operations answered")
	}
	return list
}

// span formats a duration with three digits.
func span(d time.Duration) string {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}

// average formats a number per run with three digits.
func average(r *lockstep.Result, n int64) string {
	return strconv.FormatFloat(float64(n)/float64(r.Runs), 'g', max(3, len(strconv.FormatInt(n/int64(r.Runs), 10))), 64)
}

// ScenarioLine reports in how many runs a scenario succeeded, if it has states of success, and its share of the steps.
func ScenarioLine(name string, r *lockstep.Result) string {
	succeeded := ""
	if scenario.CanSucceed(r) {
		succeeded = fmt.Sprintf(" succeeded in %d of %d runs and", scenario.Successes(r), r.Runs)
	}
	return fmt.Sprintf("scenario %s%s took %.1f %% of the steps", plain.Clean(name), succeeded, 100*scenario.Share(r))
}
