package fleet

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/batch"
	"github.com/lockstep-go/lockstep/novelty"
	"github.com/lockstep-go/lockstep/report/campaign"
	"github.com/lockstep-go/lockstep/trace"
)

// Job is a campaign as the client gave it to the fleet.
type Job struct {
	ID string `json:"id"`
	// Hello is the program's description of the campaign on the machine of the client.
	Hello batch.Hello `json:"hello"`
	// Target and Set determine the program that makes the runs, and Args are its arguments.
	Target string   `json:"target"`
	Set    []string `json:"set,omitempty"`
	Args   []string `json:"args"`
	// For is the longest time that the campaign may take; 0 is no limit.
	For time.Duration `json:"for,omitempty"`
	// Plan is the plan that the campaign is part of, if any, and Name its name there.
	Plan string `json:"plan,omitempty"`
	Name string `json:"name,omitempty"`
	// Ended is the kind of the campaign's end; empty while it continues.
	Ended string `json:"ended,omitempty"`
}

// The ways in which a campaign can end.
const (
	Done    = "done"
	Stopped = "stopped" // by a user
	TimeUp  = "time up"
	Failed  = "failed" // because of a failure of the tool
)

// Part is a worker's report of a batch. The traces are in the object store.
type Part struct {
	batch.Made
	Campaign  string   `json:"campaign"`
	Version   string   `json:"version"`
	Program   string   `json:"program"`
	Worker    string   `json:"worker"`
	Shapes    []string `json:"shapes,omitempty"` // of the findings
	ElapsedMS int64    `json:"elapsed_ms"`
}

// Finding is one of the findings that the ledger keeps.
type Finding struct {
	Campaign string        `json:"campaign"`
	Run      int           `json:"run"`
	Property string        `json:"property"`
	Text     string        `json:"text"`
	Shape    string        `json:"shape"`
	After    time.Duration `json:"after"` // since the beginning of the campaign
}

// Ledger is the complete state of a campaign on the server. It is one value in the key-value store; the server repeats
// any work whose result was not written.
type Ledger struct {
	Job Job    `json:"job"`
	Why string `json:"why,omitempty"` // the reason for the campaign's end
	batch.Sum
	Findings []Finding         `json:"findings,omitempty"`
	Curve    []campaign.Sample `json:"curve,omitempty"`
	Elapsed  time.Duration     `json:"elapsed"`
	// Next is the first run that was not given out. Out has the batches that were given out and not yet added, in
	// order.
	Next int         `json:"next"`
	Out  []batch.Ask `json:"out,omitempty"`
	// Speed is the number of runs that a worker makes in a second, according to the last report.
	Speed float64 `json:"speed"`
	Arm   Arm     `json:"arm,omitzero"`
	// Quarantined is the number of parts that were rejected, and Quarantine has the last of them. Attempts counts the
	// rejected parts of each batch that is given out, by the batch's first run.
	Quarantined int           `json:"quarantined,omitempty"`
	Quarantine  []Quarantined `json:"quarantine,omitempty"`
	Attempts    map[int]int   `json:"attempts,omitempty"`

	arrived map[int]*Part // by their first run, until all parts before them have arrived
	changed bool          // since the ledger was written
	queued  map[int]bool  // the first runs of the batches that are in the queue
	cleared bool          // the remaining batches of the campaign were removed from the queue
}

// newLedger creates the state of a campaign.
func newLedger(job Job) *Ledger {
	return &Ledger{Job: job, changed: true, Sum: batch.NewSum(job.Hello)}
}

// slice is the number of runs that a learning strategy reports at a time.
const slice = 256

// Sizes of batches. The first ones are small, because the duration of a run is unknown; later ones take about a second.
// Toward the end they get shorter, so that all workers end at about the same time, but not shorter than a leastShare
// of a second.
const (
	firstBatch = 4
	mostBatch  = 1 << 20
	leastShare = 0.05
)

// size returns the length of the next batch for this number of workers.
func (l *Ledger) size(workers int) int {
	if l.Speed <= 0 {
		return firstBatch
	}
	share := float64(l.Job.Hello.Runs-l.Next) / float64(2*max(workers, 1))
	return min(max(1, int(min(l.Speed, max(share, leastShare*l.Speed)))), mostBatch)
}

// give gives out one more batch for this number of workers, or none if all are given out.
func (l *Ledger) give(workers int) (batch.Ask, bool) {
	end := l.Job.Hello.Runs
	if l.Job.Ended != "" || l.Next >= end || l.decided() {
		return batch.Ask{}, false
	}
	switch h := l.Job.Hello; {
	case h.Lineages > 1 && h.EpochOf(l.Next) > l.Result.Runs:
		return batch.Ask{}, false // the strategy has not learned from all of the epoch before
	case h.Lineages > 1:
		end = min(l.Next+h.Epoch, end)
	case !h.Sequential:
		end = min(l.Next+l.size(workers), end)
	}
	ask := batch.Ask{First: l.Next, End: end, Found: campaign.Findings(l.Result)}
	l.Next, l.changed = end, true
	l.Out = append(l.Out, ask)
	return ask, true
}

// decided reports whether a part has arrived with which the campaign will end: one with a finding or an error.
func (l *Ledger) decided() bool {
	ends := func(r *lockstep.Result) bool { return !l.Job.Hello.KeepGoing && campaign.Findings(r) > 0 }
	//lockstep:unordered it is asked whether there is one
	for _, p := range l.arrived {
		if p.Error != "" || ends(p.Result) {
			return true
		}
	}
	return ends(l.Result)
}

// waiting returns the batches that are given out and not done.
func (l *Ledger) waiting() []batch.Ask {
	return slices.DeleteFunc(slices.Clone(l.Out), func(a batch.Ask) bool { return l.arrived[a.First] != nil })
}

// errOld reports that a part was added before, and errHeld that it waits for others.
var (
	errOld  = errors.New("these runs were counted before")
	errHeld = errors.New("these runs wait to be counted")
)

// accept holds a part, in any order, until all parts before it have arrived. An invalid part changes nothing.
func (l *Ledger) accept(p *Part, traces traceSource) error {
	if err := l.checkPart(p, traces); err != nil {
		return err
	}
	return l.hold(p)
}

// hold holds a valid part until all parts before it have arrived.
func (l *Ledger) hold(p *Part) error {
	if l.arrived[p.First] != nil {
		return errHeld
	}
	if l.arrived == nil {
		l.arrived = map[int]*Part{}
	}
	p.normalize()
	l.arrived[p.First] = p
	return nil
}

// asked reports whether a batch is one that was given out, or a slice of one.
func (l *Ledger) asked(a batch.Ask) bool {
	if l.Job.Hello.Sequential {
		return len(l.Out) > 0 && a.First >= 0 && a.First%slice == 0 && a.End == min(a.First+slice, l.Job.Hello.Runs) &&
			a.Found == l.Out[0].Found
	}
	return slices.Contains(l.Out, a)
}

// add adds the parts that have arrived to the result, up to the first gap, and returns them. The campaign may end with
// one of them.
func (l *Ledger) add() (added []*Part) {
	for l.Job.Ended == "" {
		p := l.arrived[l.Result.Runs]
		if p == nil {
			break
		}
		l.addSafely(p)
		added = append(added, p)
	}
	if h := l.Job.Hello; l.Job.Ended == "" && l.Result.Runs >= h.Runs {
		l.end(Done, "")
	}
	return added
}

// addSafely adds a part. If a valid part causes a panic, only its campaign ends, not the server.
func (l *Ledger) addSafely(p *Part) {
	defer func() {
		if r := recover(); r != nil {
			why := fmt.Errorf("adding it panics: %v", r)
			l.quarantine(p.First, p.Worker, why)
			l.end(Failed, fmt.Sprintf("runs %d to %d of worker %s: %v", p.First, p.End-1, p.Worker, why))
		}
	}()
	l.addOne(p)
}

func (l *Ledger) addOne(p *Part) {
	r := l.Result
	l.changed = true
	delete(l.arrived, p.First)
	delete(l.Attempts, p.First)
	l.Out = slices.DeleteFunc(l.Out, func(a batch.Ask) bool { return a.End <= p.End })
	if p.Error != "" {
		l.end(Failed, p.Error)
		return
	}
	known := len(r.Failures)
	l.Arm.reward(l, p)
	l.Sum.Add(&p.Made, l.Job.Hello.Keep)
	for i := known; i < len(r.Failures); i++ {
		f := r.Failures[i]
		l.Findings = append(
			l.Findings,
			Finding{Campaign: l.Job.ID, Run: f.Run, Property: f.Finding.Property, Text: f.Finding.Text,
				Shape: p.Shapes[i-known], After: l.Elapsed},
		)
	}
	if p.ElapsedMS > 0 {
		l.Speed = float64(p.Result.Runs) / (float64(p.ElapsedMS) / 1000)
	} else {
		l.Speed = max(l.Speed, 1) * 4
	}
	l.Curve = campaign.AddSample(l.Curve, r, l.Elapsed)
	if l.Ended(l.Job.Hello.KeepGoing) {
		l.end(Done, "")
	} else if err := l.Result.EnvironmentError(); err != nil {
		l.end(Failed, err.Error())
	}
}

// end ends the campaign.
func (l *Ledger) end(how, why string) {
	l.Job.Ended, l.Why, l.changed = how, why, true
	l.Result.Interrupted = (how == Stopped || how == TimeUp) && l.Result.Runs < l.Job.Hello.Runs
	l.Result.Stopped = how == Stopped
	l.Out, l.arrived, l.Attempts = nil, nil, nil
}

// The limits of findings and of their texts if the state of a campaign is too large.
const (
	reducedFindings = 100
	reducedText     = 200
)

// reduce ends a campaign whose state is too large to be written, and keeps the small fields of it.
func (l *Ledger) reduce() {
	l.end(
		Failed,
		"the state of the campaign is larger than the server can store: its findings or reasons are too many or too long",
	)
	r := l.Result
	clear(r.Reasons)
	r.Divergences, r.Nondeterminism, r.Unknown, r.Events, l.Curve, l.Coverage, l.Closure = nil, nil, nil, nil, nil, nil,
		nil
	r.Novelty, l.Code = novelty.Set{}, nil
	n := min(len(l.Findings), len(r.Failures), reducedFindings)
	l.Findings, r.Failures = l.Findings[:n], r.Failures[:n]
	cut := func(text string) string { return text[:min(len(text), reducedText)] }
	for i := range n {
		f, g := &l.Findings[i], &r.Failures[i]
		f.Text, f.Shape, g.Flaky = cut(f.Text), cut(f.Shape), cut(g.Flaky)
		g.Finding = lockstep.Finding{Property: g.Finding.Property, Text: cut(g.Finding.Text)}
	}
}

// passes counts time toward the campaign's limit.
func (l *Ledger) passes(d time.Duration) {
	if l.Job.Ended != "" {
		return
	}
	l.Elapsed += d
	if l.Job.For > 0 && l.Elapsed >= l.Job.For {
		l.end(TimeUp, "")
	}
}

// verdict returns the verdict so far.
func (l *Ledger) verdict() trace.Verdict { return l.campaign().Verdict() }

// campaign returns the campaign in the form that reports need.
func (l *Ledger) campaign() *campaign.Campaign {
	h := l.Job.Hello
	c := &campaign.Campaign{
		Result:   l.Result,
		Options:  h.Options,
		Build:    h.Build,
		Scenario: h.Scenario,
		Elapsed:  l.Elapsed,
		Curve:    l.Curve,
		TimeUp:   l.Job.Ended == TimeUp,
		Groups:   l.groups(),
	}
	return c
}

// groups returns the findings by property and shape.
func (l *Ledger) groups() []campaign.Group {
	var groups []campaign.Group
	for _, f := range l.Findings {
		groups = campaign.AddToGroups(groups,
			campaign.Group{Property: f.Property, Shape: f.Shape, First: f.Run, Text: f.Text})
	}
	return groups
}
