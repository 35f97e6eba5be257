package lockstep

import "github.com/lockstep-go/lockstep/trace"

// Remake makes the run of a trace again with other choices: those of the plan's
// strategy. System, seed and number of the run are the trace's, and as in a replay the
// scenario judges but moves nothing. It returns the recording, under the trace's header
// with the strategy's name.
func Remake(plan Plan, t *trace.Trace) (*trace.Trace, error) {
	w, err := newReplayer(plan, t)
	if err != nil {
		return nil, err
	}
	defer w.close()
	return w.record(t.Header.Run)
}
