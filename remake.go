package lockstep

import "github.com/lockstep-go/lockstep/trace"

// Record makes one run of a plan, the one with the given number, and records it whatever
// its verdict.
func Record(plan Plan, run int) (*trace.Trace, error) {
	plan, info, err := plan.check()
	if err != nil {
		return nil, err
	}
	w := newWorker(plan, info)
	defer w.close()
	return w.record(run)
}

// Remake makes the run of a trace again with other choices: those of the plan's
// strategy. System, seed and number of the run are the trace's, and as in a replay the
// scenario judges but moves nothing. It returns the recording, with the name of the
// strategy in its header.
func Remake(plan Plan, t *trace.Trace) (*trace.Trace, error) {
	w, err := newReplayer(plan, t)
	if err != nil {
		return nil, err
	}
	defer w.close()
	return w.record(t.Header.Run)
}
