package fleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/coverage"
	"github.com/lockstep-go/lockstep/coverage/code"
	"github.com/lockstep-go/lockstep/internal/batch"
	"github.com/lockstep-go/lockstep/lockstepform"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/trace"
)

// kind is the outcome of a batch, for tests of ledgers.
type kind string

const (
	passes  kind = "passes"
	finds   kind = "finds"
	errs    kind = "error"
	invalid kind = "invalid"
)

// testJob returns a campaign of a few batches.
func testJob(runs int, keepGoing bool) Job {
	return Job{
		ID:   "000001",
		Args: []string{"run"},
		Hello: batch.Hello{Version: lockstep.Version, Program: "0123456789abcdef", Target: "smr", Strategy: "walk",
			Seed: 7, Runs: runs, Keep: 10, KeepGoing: keepGoing,
			Properties: []lockstep.Count{{Name: "prefix", N: lockstep.NotCounted}}},
	}
}

// testTrace returns the trace of a failing run.
func testTrace(t testing.TB, run int) batch.Trace {
	t.Helper()
	x := &trace.Trace{
		Header: trace.Header{
			Format:   trace.Version,
			Tool:     lockstep.Version,
			Target:   "smr",
			Strategy: "walk",
			Seed:     7,
			Run:      run,
			Nodes:    3,
		},
		Outcome: trace.Outcome{Verdict: trace.Fail, Finding: &trace.Finding{Property: "prefix", Text: "it differs"}},
	}
	var b bytes.Buffer
	if err := trace.Write(&b, x); err != nil {
		t.Fatal(err)
	}
	return batch.Trace{
		Text:     b.Bytes(),
		Shape:    report.Shape(x),
		Pictures: []trace.Picture{{Name: "history.html", Data: []byte("drawn")}},
	}
}

// testPart returns the part of a batch of a test job, and stores the traces of its findings.
func testPart(t testing.TB, job Job, ask batch.Ask, k kind, store map[int]batch.Trace) *Part {
	t.Helper()
	n := ask.End - ask.First
	p := &Part{
		Made:      batch.Made{Ask: ask},
		Campaign:  job.ID,
		Version:   job.Hello.Version,
		Program:   job.Hello.Program,
		Worker:    "worker",
		ElapsedMS: 5,
	}
	r := &lockstep.Result{
		Target:   "smr",
		Strategy: "walk",
		Seed:     7,
		From:     ask.First,
		Runs:     n,
		Steps:    int64(10 * n),
		Digest:   uint64(1000 + ask.First),
		Verdicts: map[trace.Verdict]int{
			trace.Pass: n,
		},
		Reasons: map[string]int{},
		Checked: []lockstep.Count{{Name: "prefix", N: n}},
	}
	p.Result = r
	switch k {
	case errs:
		p.Result, p.Error = nil, fmt.Sprintf("the program failed in run %d", ask.First)
	case finds:
		if !job.Hello.KeepGoing {
			r.Runs, n = 1, 1
		}
		r.Verdicts, r.ByProperty = map[trace.Verdict]int{
			trace.Pass: n - 1,
			trace.Fail: 1,
		}, []lockstep.Count{
			{Name: "prefix", N: 1},
		}
		run := ask.First + n - 1
		r.Failures = []lockstep.Failure{
			{Run: run, Finding: lockstep.Finding{Property: "prefix", Text: "it differs"}, Failed: 1, Repeated: 1},
		}
		x := testTrace(t, run)
		p.Shapes, store[run] = []string{x.Shape}, x
	case invalid:
		r.Verdicts[trace.Pass], r.Verdicts[trace.Fail] = n+3, -3
	}
	return p
}

// oneBatch returns a ledger that has given out one batch, and the part of that batch.
func oneBatch(t testing.TB, k kind) (*Ledger, *Part, map[int]batch.Trace) {
	t.Helper()
	l, store := newLedger(testJob(90, true)), map[int]batch.Trace{}
	ask, ok := l.give(1)
	if !ok {
		t.Fatal("nothing is given out")
	}
	return l, testPart(t, l.Job, ask, k, store), store
}

// A part that was not requested, or that is impossible, is rejected and changes nothing. The ledger accepts the correct
// part after it.
func TestCheckPart(t *testing.T) {
	for name, corrupt := range map[string]func(*Part){
		"version":       func(p *Part) { p.Version = "0.0.1" },
		"program":       func(p *Part) { p.Program = "fedcba9876543210" },
		"elsewhere":     func(p *Part) { p.First, p.End = p.First+1000, p.End+1000 },
		"before":        func(p *Part) { p.Ask.Found = 3 },
		"longer":        func(p *Part) { p.End++ },
		"worker":        func(p *Part) { p.Worker = strings.Repeat("x", maxName+1) },
		"time":          func(p *Part) { p.ElapsedMS = -1 },
		"no result":     func(p *Part) { p.Result = nil },
		"target":        func(p *Part) { p.Result.Target = "raft" },
		"strategy":      func(p *Part) { p.Result.Strategy = "pos" },
		"seed":          func(p *Part) { p.Result.Seed++ },
		"of others":     func(p *Part) { p.Result.From = 7 },
		"too many":      func(p *Part) { p.Result.Runs++; p.Result.Verdicts["pass"]++ },
		"too few":       func(p *Part) { p.Result.Runs--; p.Result.Verdicts["pass"]-- },
		"negative runs": func(p *Part) { p.Result.Runs = -1 },
		"exhausted": func(p *Part) {
			p.Result.Exhausted = true
			p.Result.Runs = 1
			p.Result.Verdicts = map[trace.Verdict]int{"fail": 1}
		},
		"interrupted":       func(p *Part) { p.Result.Interrupted = true },
		"digest":            func(p *Part) { p.Result.Digest = 0 },
		"verdicts":          func(p *Part) { p.Result.Verdicts["pass"]++ },
		"no verdicts":       func(p *Part) { p.Result.Verdicts = nil },
		"negative":          func(p *Part) { p.Result.Verdicts["pass"] += 2; p.Result.Verdicts["unknown"] = -2 },
		"negative findings": func(p *Part) { p.Result.Verdicts = map[trace.Verdict]int{"pass": 7, "fail": -3} },
		"other verdict":     func(p *Part) { p.Result.Verdicts["pass"]--; p.Result.Verdicts["won"] = 1 },
		"steps":             func(p *Part) { p.Result.Steps = -1 },
		"messages":          func(p *Part) { p.Result.Messages = 1 << 60 },
		"requests":          func(p *Part) { p.Result.Requests = -1 },
		"virtual":           func(p *Part) { p.Result.Virtual = -1 },
		"idle":              func(p *Part) { p.Result.IdleRuns = 1000 },
		"inconclusive":      func(p *Part) { p.Result.Inconclusive = -1 },
		"rechecked":         func(p *Part) { p.Result.Rechecked = 1000 },
		"stalls":            func(p *Part) { p.Result.Stalls = -1 },
		"left":              func(p *Part) { p.Result.Left = -1 },
		"states":            func(p *Part) { p.Result.States = -1 },
		"state runs":        func(p *Part) { p.Result.StateRuns = -1 },
		"divergences":       func(p *Part) { p.Result.Divergences = []lockstep.Divergence{{}} },
		"divergence": func(p *Part) {
			p.Result.Rechecked = 1
			p.Result.Divergences =
				[]lockstep.Divergence{{Run: 99}}
		},
		"seen":         func(p *Part) { p.Result.Stats.Runs = -1 },
		"inverse":      func(p *Part) { p.Result.Stats.Inverse = -1 },
		"reasons":      func(p *Part) { p.Result.Reasons["why"] = -1 },
		"more reasons": func(p *Part) { p.Result.Reasons["why"] = 2 },
		"long reason":  func(p *Part) { p.Result.Reasons[strings.Repeat("x", maxText+1)] = 0 },
		"long source":  func(p *Part) { p.Result.Nondeterminism = []string{strings.Repeat("x", maxText+1)} },
		"long reach":   func(p *Part) { p.Result.Reached = strings.Repeat("x", maxText+1) },
		"events":       func(p *Part) { p.Result.Events = []lockstep.Count{{Name: "e", N: -1}} },
		"many events":  func(p *Part) { p.Result.Events = make([]lockstep.Count, maxCounts+1) },
		"failures":     func(p *Part) { p.Result.ByProperty = []lockstep.Count{{Name: "prefix", N: 1}} },
		"negative failures": func(p *Part) {
			p.Result.ByProperty = []lockstep.Count{{Name: "a", N: 2},
				{Name: "b", N: -2}}
		},
		"unknown run": func(p *Part) { p.Result.Unknown = []lockstep.Unknown{{Run: 1}} },
		"tail":        func(p *Part) { p.Result.InconclusiveTail = 1 },
		"long places": func(p *Part) {
			p.Result.Rechecked, p.Result.Diverged = 1, 1
			p.Result.Divergences = []lockstep.Divergence{{Nondeterminism: []string{strings.Repeat("x", maxText+1)}}}
		},
		"properties": func(p *Part) { p.Result.Checked[0].N = -7 },
		"optional":   func(p *Part) { p.Result.Checked[0].Optional = true },
		"sometimes":  func(p *Part) { p.Result.Checked[0].Sometimes = true },
		"reached by more runs": func(p *Part) {
			for run := range 1000 {
				p.Result.Novelty.Add(p.First+run, nil)
			}
		},
		"reached by others": func(p *Part) { p.Result.Novelty.Add(p.First+1000, []uint64{1}) },
		"no blocks":         func(p *Part) { p.Code = &code.Sum{Blocks: -1} },
		"beyond the blocks": func(p *Part) {
			p.Code = &code.Sum{Blocks: 3}
			p.Code.Executed.Add(p.First, []uint64{6})
		},
		"executed by others": func(p *Part) {
			p.Code = &code.Sum{Blocks: 3}
			p.Code.Executed.Add(p.First+1000, []uint64{5})
		},
		"renamed":  func(p *Part) { p.Result.Checked[0].Name = "other" },
		"effects":  func(p *Part) { p.Result.Effects = []lockstep.Count{{Name: "cut", N: -1}} },
		"findings": func(p *Part) { p.Result.Failures = make([]lockstep.Failure, 2) },
		"hidden":   func(p *Part) { p.Result.Verdicts = map[trace.Verdict]int{"pass": 3, "fail": 1} },
		"sketch":   func(p *Part) { p.States = []byte{1, 2, 3} },
		"register": func(p *Part) { p.Schedules = bytes.Repeat([]byte{200}, 4096) },
		"coverage": func(p *Part) { p.Coverage = &coverage.Sum{Runs: p.Result.Runs + 1} },
		"goals": func(p *Part) {
			p.Coverage = &coverage.Sum{
				Runs:    p.Result.Runs,
				Watches: []coverage.Counted{{News: []coverage.News{{Run: 1, Goals: []int{-1}}}}},
			}
		},
		"closure runs": func(p *Part) { p.Closure = &lockstepform.Measured{Runs: 1000} },
		"closure types": func(p *Part) {
			p.Closure = &lockstepform.Measured{Runs: 1,
				Types: []lockstepform.TypeCount{{Late: -1}}}
		},
	} {
		l, p, store := oneBatch(t, passes)
		good := testPart(t, l.Job, p.Ask, passes, store)
		before := text(t, l)
		corrupt(p)
		if err := l.accept(p, stored(store)); err == nil || errors.Is(err, errOld) || len(l.arrived) > 0 ||
			text(t, l) != before {
			t.Errorf("%s: it was taken, or changed something: %v", name, err)
		}
		if err := l.accept(good, stored(store)); err != nil || len(l.add()) != 1 || l.Result.Runs != 4 {
			t.Errorf("%s: after it the right one was refused: %v", name, err)
		}
	}
}

// text returns a value as JSON.
func text(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A finding must belong to one of the runs, and must have that run's trace.
func TestCheckFindings(t *testing.T) {
	for name, corrupt := range map[string]func(*Part, map[int]batch.Trace){
		"run before": func(p *Part, _ map[int]batch.Trace) { p.Result.Failures[0].Run = -1 },
		"run after":  func(p *Part, _ map[int]batch.Trace) { p.Result.Failures[0].Run = 4 },
		"property":   func(p *Part, _ map[int]batch.Trace) { p.Result.Failures[0].Finding.Property = "" },
		"long property": func(p *Part, _ map[int]batch.Trace) {
			p.Result.Failures[0].Finding.Property = strings.Repeat("x", maxName+1)
		},
		"long text": func(p *Part, _ map[int]batch.Trace) {
			p.Result.Failures[0].Finding.Text = strings.Repeat("x", maxText+1)
		},
		"long shape": func(p *Part, _ map[int]batch.Trace) { p.Shapes[0] = strings.Repeat("x", maxText+1) },
		"repeated":   func(p *Part, _ map[int]batch.Trace) { p.Result.Failures[0].Failed = 2 },
		"inside":     func(p *Part, _ map[int]batch.Trace) { p.Result.Failures[0].Trace = &trace.Trace{} },
		"flaky":      func(p *Part, _ map[int]batch.Trace) { p.Result.Failures[0].Flaky = "it passed" },
		"shapes":     func(p *Part, _ map[int]batch.Trace) { p.Shapes = nil },
		"shape":      func(p *Part, _ map[int]batch.Trace) { p.Shapes[0] = "another" },
		"twice": func(p *Part, _ map[int]batch.Trace) {
			p.Result.Verdicts, p.Result.ByProperty = map[trace.Verdict]int{"pass": 2, "fail": 2},
				[]lockstep.Count{{Name: "prefix", N: 2}}
			p.Result.Failures, p.Shapes = append(p.Result.Failures, p.Result.Failures...), append(p.Shapes, p.Shapes...)
		},
		"no trace": func(p *Part, s map[int]batch.Trace) { delete(s, p.Result.Failures[0].Run) },
		"garbage": func(_ *Part, s map[int]batch.Trace) {
			s[3] = batch.Trace{Text: []byte("garbage"), Shape: s[3].Shape}
		},
		"other property": func(p *Part, _ map[int]batch.Trace) { p.Result.Failures[0].Finding.Property = "agreement" },
		"other target": func(_ *Part,
			s map[int]batch.Trace) {
			s[3] = changed(s[3], `"target":"smr"`, `"target":"raft"`)
		},
		"other seed":      func(_ *Part, s map[int]batch.Trace) { s[3] = changed(s[3], `"seed":7`, `"seed":8`) },
		"picture unnamed": func(_ *Part, s map[int]batch.Trace) { s[3].Pictures[0].Name = "" },
		"pictures": func(_ *Part,
			s map[int]batch.Trace) {
			x := s[3]
			x.Pictures = make([]trace.Picture, 99)
			s[3] = x
		},
	} {
		l, p, store := oneBatch(t, finds)
		good, fresh := testPart(t, l.Job, p.Ask, finds, store), map[int]batch.Trace{}
		for run, x := range store {
			x.Pictures = slices.Clone(x.Pictures)
			fresh[run] = x
		}
		corrupt(p, fresh)
		if err := l.accept(p, stored(fresh)); err == nil || len(l.arrived) > 0 {
			t.Errorf("%s: it was taken", name)
		}
		if err := l.accept(good, stored(store)); err != nil || len(l.add()) != 1 || len(l.Findings) != 1 {
			t.Errorf("%s: after it the right one was refused: %v", name, err)
		}
	}
}

func changed(x batch.Trace, from, to string) batch.Trace {
	x.Text = bytes.Replace(x.Text, []byte(from), []byte(to), 1)
	return x
}

// The ledger cleans displayed texts when it accepts a part, and gives pictures names without a directory.
func TestNormalize(t *testing.T) {
	l, p, store := oneBatch(t, finds)
	p.Worker = "a\x1b[2J"
	x := store[3]
	x.Pictures = []trace.Picture{{Name: "/../../../evil\x1b", Data: []byte("x")}}
	store[3] = x
	if err := l.accept(p, stored(store)); err != nil {
		t.Fatal(err)
	}
	if got := l.arrived[0].Worker; got != "a?[2J" {
		t.Errorf("worker %q", got)
	}
	if _, err := openTrace(&x); err != nil || strings.ContainsAny(x.Pictures[0].Name, "/\\\x1b") {
		t.Errorf("picture %q: %v", x.Pictures[0].Name, err)
	}
	l, p, store = oneBatch(t, errs)
	if p.Error = "broken\x1b[31m\n" + strings.Repeat("x", 1<<20); l.accept(p, stored(store)) != nil {
		t.Fatal("an error was refused")
	}
	if l.add(); l.Job.Ended != Failed || strings.ContainsAny(l.Why, "\x1b\n") || len(l.Why) > maxError {
		t.Errorf("%s: %q", l.Job.Ended, l.Why)
	}
}

// Messages that are not parts are rejected with a reason.
func TestReadPart(t *testing.T) {
	l, p, _ := oneBatch(t, passes)
	message := []byte(text(t, p))
	huge := *p
	result := *p.Result
	result.Guarantee.Space = new(big.Int).Lsh(big.NewInt(1), 4*maxDigits)
	huge.Result = &result
	for _, c := range []struct {
		subject string
		message []byte
		want    string
	}{
		{partSubject(l.Job.ID, 0), message, ""},
		{"lockstep.part.000001", message, "not that of a part"},
		{"lockstep.part.000001.0.1", message, "not that of a part"},
		{"lockstep.part.000001.00", message, "not that of a part"},
		{"lockstep.part.000001.x", message, "not that of a part"},
		{"lockstep.work.000001.0", message, "not that of a part"},
		{partSubject(l.Job.ID, 4), message, "its subject is about run 4"},
		{partSubject("000002", 0), message, `its subject is about run 0 of "000002"`},
		{partSubject(l.Job.ID, 0), []byte("{"), "not a part"},
		{partSubject(l.Job.ID, 0), []byte(strings.Repeat("[", 1<<20)), "not a part"},
		{partSubject(l.Job.ID, 0), []byte(text(t, huge)), "a number of more than"},
	} {
		_, _, _, err := readPart(c.subject, c.message)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.subject, err, c.want)
		}
	}
}

// A worker's report about itself is bounded.
func TestCheckReport(t *testing.T) {
	long := strings.Repeat("x", maxText+1)
	many := map[string]string{}
	for i := range maxCounts + 1 {
		many[fmt.Sprint(i)] = "no"
	}
	for name, r := range map[string]Report{
		"nameless": {}, "long": {Worker: long}, "version": {Worker: "a", Version: long},
		"campaign": {Worker: "a", Campaign: long}, "runs": {Worker: "a", Runs: -1},
		"slow": {Worker: "a", Speed: -1}, "fast": {Worker: "a", Speed: 1e300},
		"refuses": {Worker: "a", Refused: map[string]string{"1": long}}, "many": {Worker: "a", Refused: many},
	} {
		if _, err := readReport([]byte(text(t, r))); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
	if _, err := readReport([]byte(text(t, Report{
		Worker:  "a",
		Runs:    1,
		Speed:   1e6,
		Refused: map[string]string{"000001": "no"},
	}))); err != nil {
		t.Error(err)
	}
}

// The server leaves out a campaign whose stored state is damaged, and does not end.
func TestReadLedger(t *testing.T) {
	for _, bad := range []string{"", "{", "null", "{}", `{"job":{"id":"000001"}}`,
		`{"job":{"id":"000001"},"result":null}`, `{"job":{"id":"000001"},"result":{"Runs":-1}}`,
		`{"job":{"id":"000001"},"result":{"Runs":` + strings.Repeat("1", maxDigits+1) + "}}"} {
		if l, err := readLedger([]byte(bad)); err == nil {
			t.Errorf("%.50s: %+v", bad, l)
		}
	}
	l, err := readLedger([]byte(`{"job":{"id":"000001","hello":{"runs":10,"keep":1}},"result":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := l.give(1); !ok || l.verdict() == "" {
		t.Error("it cannot be used")
	}
}
