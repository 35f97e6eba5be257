package distal

import (
	"github.com/lockstep-go/lockstep/distal/explore"
	"github.com/lockstep-go/lockstep/distal/promela"
)

// ExportResult is a Promela model.
type ExportResult struct {
	Text string `json:"text"`
}

// Export writes the sequential program as a Promela model, for Spin to judge.
func Export(src string, opt Options) (ExportResult, Remarks) {
	m, phases, remarks := NewModel(src, opt)
	if m == nil {
		return ExportResult{}, remarks
	}
	text, err := promela.Export(m, promela.Options{Phases: phases})
	if err != nil {
		return ExportResult{}, append(remarks, failure(err)...)
	}
	return ExportResult{Text: text}, remarks
}

// ExploreOptions of a search.
type ExploreOptions struct {
	Options
	Memory   int64                       // limit in bytes; 0 means explore.DefaultMemory
	Disk     int64                       // limit of temporary disk space in bytes; 0: none is used
	Dir      string                      // folder of the temporary file; empty: the system's
	Workers  int                         // processors to use; 0 means 1
	Progress func(explore.Progress) bool // called now and then; false stops
	Random   *explore.RandomOptions      // search at random instead; its Phases is taken from Options
}

// ExploreResult is the result of a search. ElapsedMS and StatesPerSec are for the caller to fill in.
type ExploreResult struct {
	Protocol string `json:"protocol"`
	Test     string `json:"test,omitempty"`
	Nodes    int    `json:"nodes"`
	Phases   int    `json:"phases"`
	Network  string `json:"network"`
	Timeouts string `json:"timeouts"`
	Expect   string `json:"expect,omitempty"` // what the test in the file expects: pass or violation
	explore.Result
	Random *explore.RandomResult `json:"random,omitempty"`
	Trace  string                `json:"trace,omitempty"` // the counterexample for people
}

// Explore searches the sequential program: exhaustively, or at random when Random is set.
func Explore(src string, opt ExploreOptions) (ExploreResult, Remarks) {
	p, remarks := sequentialisable(src)
	if p == nil {
		return ExploreResult{}, remarks
	}
	m, inst, err := model(p, opt.Options)
	if err != nil {
		return ExploreResult{}, append(remarks, failure(err)...)
	}
	out := ExploreResult{Protocol: p.Name, Test: inst.test, Nodes: m.Program.N, Phases: inst.phases,
		Network: p.Networks[inst.network].Name, Timeouts: inst.timeouts.String(), Expect: inst.expect}
	if opt.Random != nil {
		ro := *opt.Random
		ro.Phases, ro.Progress = inst.phases, opt.Progress
		r, err := explore.Random(m, ro)
		if err != nil {
			return ExploreResult{}, append(remarks, failure(err)...)
		}
		out.Random, out.Verdict, out.Violation = &r, r.Verdict, r.Violation
	} else {
		out.Result, err = explore.Exhaustive(m, explore.Options{Phases: inst.phases, Memory: opt.Memory, Disk: opt.Disk,
			Dir: opt.Dir, Workers: opt.Workers, Progress: opt.Progress})
		if err != nil {
			return ExploreResult{}, append(remarks, failure(err)...)
		}
	}
	if out.Violation != nil {
		out.Trace = m.Text(out.Violation.Trace)
	}
	return out, remarks
}
