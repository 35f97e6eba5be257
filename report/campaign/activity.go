package campaign

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/report/internal/plain"
	"github.com/lockstep-go/lockstep/spec"
)

// Activity says in a few lines how much a campaign put to the test: what happened in a run,
// how often each property was judged, and in how many runs nothing observable happened.
// What makes a pass worth little is a warning, with what to do about it.
func Activity(r *lockstep.Result) []string {
	if r.Runs == 0 {
		return nil
	}
	lines := []string{"a run: " + strings.Join(happened(r), ", ")}
	for _, j := range r.Judged {
		switch {
		case j.N > 0:
			lines = append(lines, fmt.Sprintf("property %s was judged %s, %s a run", plain.Clean(j.Name), words.Count(j.N, "time"), average(r, int64(j.N))))
		case j.N == 0:
			lines = append(lines, fmt.Sprintf("warning: property %s was never put to the test", plain.Clean(j.Name)))
		}
	}
	if r.Quiet > 0 && len(r.Events) > 0 {
		lines = append(lines, fmt.Sprintf("nothing observable happened in %d of %d runs (%.3g %%)", r.Quiet, r.Runs, 100*float64(r.Quiet)/float64(r.Runs)))
	}
	if r.Stalls > 0 {
		lines = append(lines, fmt.Sprintf("warning: no step ended in the time of the watchdog, %d times, but when the runs were made again they did", r.Stalls))
	}
	if r.Left > 0 {
		lines = append(lines, fmt.Sprintf("warning: nothing can stop a goroutine that hangs: %d of them run until the program ends", r.Left))
	}
	lines = append(lines, repeats(r)...)
	if why := idle(r); why != "" {
		lines = append(lines, fmt.Sprintf("warning: %s: %s", why, instead(r)))
	}
	return lines
}

// repeats says whether passing runs came out alike when they were made again, and what makes that
// doubtful.
func repeats(r *lockstep.Result) (lines []string) {
	if r.Rechecked > 0 && len(r.Divergences) == 0 {
		lines = append(lines, fmt.Sprintf("%d of %d passing runs were made again, and were the same", r.Rechecked, r.Runs))
	}
	for _, s := range r.Divergences {
		lines = append(lines, fmt.Sprintf("warning: run %d passed and was different when it was made again: %s", s.Run, plain.Clean(s.Difference)))
	}
	for _, s := range r.Nondeterminism {
		lines = append(lines, "warning: what cannot be repeated, or is shared by nodes: "+plain.Clean(s))
	}
	return lines
}

// happened lists what happens in a run on average.
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
		list = append(list, fmt.Sprintf("%s events (%s)", average(r, all), shortened(types)))
	}
	if r.Requests > 0 {
		list = append(list, average(r, r.Requests)+" requests given")
	}
	if answered >= 0 {
		list = append(list, average(r, int64(answered))+" operations answered")
	}
	return list
}

// span is a length of time to three digits.
func span(d time.Duration) string {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}

// shortened joins the first of many.
func shortened(list []string) string {
	const most = 8
	if len(list) > most {
		list = append(list[:most:most], fmt.Sprintf("and %d more", len(list)-most))
	}
	return strings.Join(list, ", ")
}

// average is a number a run, to three digits.
func average(r *lockstep.Result, n int64) string {
	return strconv.FormatFloat(float64(n)/float64(r.Runs), 'g', max(3, len(strconv.FormatInt(n/int64(r.Runs), 10))), 64)
}

// seldom is the number of judgements a run below which a property was hardly put to the test.
const seldom = 0.2

// idle says why the runs show little, or is empty where they do not. A system that never
// tells events is not idle for that: its spec may look at states.
func idle(r *lockstep.Result) string {
	if len(r.Events) > 0 && 2*r.Quiet > r.Runs || len(r.Events) == 0 && len(r.Unjudged()) > 0 {
		return "most runs are idle"
	}
	for _, j := range r.Judged {
		if j.N > 0 && r.Runs >= 1/seldom && float64(j.N) < seldom*float64(r.Runs) {
			return fmt.Sprintf("property %s was judged in few runs only", plain.Clean(j.Name))
		}
	}
	return ""
}

// instead says what to try where a strategy's runs are idle.
func instead(r *lockstep.Result) string {
	name, _, _ := strings.Cut(r.Strategy, ":")
	switch name {
	case "uniform", "lossy":
		return fmt.Sprintf("in the rounds of %s, nodes with time-outs of their own may get nothing done; try the strategy walk, pos or partition, or more rounds", name)
	case "baseline", "walk":
		return "try longer runs, or delay, which follows the system's own time; if they are idle, too, look at the system's adapter"
	default:
		return "try longer runs, or baseline:drop=0, which has no faults; if they are idle, too, look at the system's adapter"
	}
}
