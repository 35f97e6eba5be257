package fleet

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/artifact"
	"github.com/lockstep-go/lockstep/internal/batch"
	"github.com/lockstep-go/lockstep/report/campaign"
	"github.com/lockstep-go/lockstep/trace"
)

// The inputs that a worker can send: the message of a part, a valid part with some fields replaced, a report, and a
// stored trace.
const (
	sendsPart = iota
	sendsEdited
	sendsReport
	sendsTrace
	sendsKinds
)

// evil is a text that must not get through.
const evil = "/../../../evil\x1b[2J\u202e\n"

// seeds adds messages of correct workers, and messages that broken workers sent before.
func seeds(f *testing.F) {
	stored, err := json.Marshal(testTrace(f, 3))
	if err != nil {
		f.Fatal(err)
	}
	job := testJob(100, true)
	add := func(p *Part) { f.Add(uint8(sendsPart), uint8(p.First), []byte(text(f, p)), stored) }
	for i, k := range []kind{passes, finds, errs, invalid} {
		ask := batch.Ask{First: 4 * (i % 3), End: 4*(i%3) + 4}
		add(testPart(f, job, ask, k, map[int]batch.Trace{}))
	}
	p := testPart(f, job, batch.Ask{End: 4}, finds, map[int]batch.Trace{})
	p.Worker, p.Result.Failures[0].Finding.Text, p.Result.Failures[0].Finding.Property = evil, evil, evil
	add(p)
	for kind := range byte(4) {
		f.Add(uint8(sendsEdited), kind, []byte{kind, 0, 0, 7, 3, 11, 5, 40, 9}, stored)
	}
	for _, message := range []string{
		"null",
		"{}",
		`{"campaign":"000001"}`,
		`{"campaign":"000001","error":"` + strings.Repeat("x", 100) + `"}`,
		"[[[[",
		`{"result":{"Verdicts":{"pass":4,"fail":-3}}}`,
	} {
		f.Add(uint8(sendsPart), uint8(0), []byte(message), []byte("{}"))
	}
	for _, r := range []Report{
		{Worker: "a", Version: "1", Runs: 7, Speed: 12.5},
		{Worker: evil, Campaign: evil, Refused: map[string]string{evil: evil}},
		{Runs: -1},
	} {
		f.Add(uint8(sendsReport), uint8(0), []byte(text(f, r)), []byte(nil))
	}
	named := testTrace(f, 3)
	named.Pictures = []trace.Picture{{Name: evil, Data: []byte("x")}, {Name: "..", Data: []byte("x")}}
	f.Add(uint8(sendsTrace), uint8(3), []byte(text(f, named)), []byte(nil))
	f.Add(uint8(sendsTrace), uint8(3), stored, []byte(nil))
}

// FuzzWorker lets a worker send arbitrary messages. The server neither panics nor counts impossible results. No printed
// or written text escapes its place.
func FuzzWorker(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, sends, first uint8, message, stored []byte) {
		switch sends % sendsKinds {
		case sendsPart:
			fuzzPart(t, int(first), message, stored)
		case sendsEdited:
			kinds := []kind{passes, finds, errs, invalid}
			p := testPart(t, testJob(100, true), batch.Ask{End: 4}, kinds[int(first)%len(kinds)], map[int]batch.Trace{})
			fuzzPart(t, 0, edited(t, p, message), stored)
		case sendsReport:
			b := &ledgers{staff: map[string]Report{}, seen: map[string]time.Time{}}
			b.hear(message)
			printed(t, b.status())
		case sendsTrace:
			fuzzTrace(t, int(first), message)
		}
	})
}

// values are the replacements for a field.
var values = []any{
	nil,
	-1,
	0,
	1,
	4,
	1 << 53,
	1e300,
	0.5,
	"",
	"pass",
	"000001",
	evil,
	strings.Repeat("x", maxText+1),
	true,
	[]any{},
	[]any{1, -1},
	map[string]any{},
	map[string]any{
		"Name": evil,
		"N":    -5,
		"Run":  1,
	},
	[]any{map[string]any{"Run": 2, "Difference": evil}},
	base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{9}, 4096)),
	base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{99}, 4096)),
	map[string]any{"runs": 4, "watches": []any{map[string]any{"tests": -1}}},
}

// maxEdits is the largest number of replaced fields.
const maxEdits = 3

// edited returns a part with some fields replaced: two bytes select a field and its replacement.
func edited(t *testing.T, p *Part, edits []byte) []byte {
	var tree any
	if err := json.Unmarshal([]byte(text(t, p)), &tree); err != nil {
		t.Fatal(err)
	}
	for edits = edits[:min(len(edits), 2*maxEdits)]; len(edits) >= 2; edits = edits[2:] {
		var set []func(any)
		fields(tree, &set)
		if len(set) == 0 {
			break
		}
		var value any // a new value, so that trees do not share it
		if err := json.Unmarshal([]byte(text(t, values[int(edits[1])%len(values)])), &value); err != nil {
			t.Fatal(err)
		}
		set[int(edits[0])%len(set)](value)
	}
	return []byte(text(t, tree))
}

// fields collects a setter for each field of a tree.
func fields(node any, set *[]func(any)) {
	switch node := node.(type) {
	case map[string]any:
		for _, key := range append(slices.Sorted(maps.Keys(node)), "states", "schedules", "coverage", "closure",
			"learned", "traces", "error", "code") {
			*set = append(*set, func(v any) { node[key] = v })
			fields(node[key], set)
		}
	case []any:
		for i := range node {
			*set = append(*set, func(v any) { node[i] = v })
			fields(node[i], set)
		}
	}
}

// fuzzPart sends a part to a campaign with three batches given out, with one trace for all findings.
func fuzzPart(t *testing.T, first int, message, storedTrace []byte) {
	l := newLedger(testJob(100, true))
	for range 3 {
		l.give(1)
	}
	before := text(t, l.Sum)
	b := &ledgers{ledgers: map[string]*Ledger{"000001": l}, log: cleanLog(func(line string) { clean(t, line) })}
	err := b.receive(partSubject("000001", first), message, true, func(string, int) (packed batch.Trace, err error) {
		return packed, json.Unmarshal(storedTrace, &packed)
	})
	l.add()
	l.give(2)
	if err != nil && !errors.Is(err, errOld) && (text(t, l.Sum) != before || l.Quarantined != 1) {
		t.Fatalf("a rejected part counts, or is not quarantined: %v", err)
	}
	sound(t, l)
	if _, err := readLedger([]byte(text(t, l))); err != nil {
		t.Fatalf("the next server cannot read it: %v", err)
	}
	printed(t, b.status())
	if err := campaign.FleetLive(io.Discard, b.snapshot()); err != nil {
		t.Fatal(err)
	}
}

// sound checks that the sums of a campaign are possible.
func sound(t *testing.T, l *Ledger) {
	t.Helper()
	r, runs := l.Result, 0
	for verdict, n := range r.Verdicts {
		if runs += n; n < 0 {
			t.Fatalf("%d runs of verdict %s", n, verdict)
		}
	}
	if runs != r.Runs || r.Runs < 0 || r.Runs > l.Job.Hello.Runs || r.Steps < 0 || r.Messages < 0 || r.Requests < 0 ||
		r.Virtual < 0 ||
		r.Inconclusive < 0 ||
		r.Inconclusive > r.Runs ||
		r.States < 0 ||
		r.Schedules < 0 {
		t.Fatalf("%d verdicts: %+v", runs, r)
	}
	if len(l.Findings) != len(r.Failures) || len(r.Failures) > campaign.Findings(r) || len(r.Failures) > l.Job.Hello.Keep {
		t.Fatalf("%d findings, %d found: %v", len(l.Findings), len(r.Failures), r.Verdicts)
	}
	for _, f := range l.Findings {
		clean(t, f.Property)
	}
	clean(t, l.Why)
}

// fuzzTrace stores a trace and writes it to files.
func fuzzTrace(t *testing.T, run int, message []byte) {
	var packed batch.Trace
	if json.Unmarshal(message, &packed) != nil {
		return
	}
	if _, err := openTrace(&packed); err != nil {
		return
	}
	opened, err := packed.Read()
	if err != nil {
		t.Fatalf("it could be opened and not read: %v", err)
	}
	dir := filepath.Join("some", "where")
	err = artifact.Trace(func(file string, content func(io.Writer) error) error {
		if filepath.Dir(file) != dir {
			t.Fatalf("%q is written", file)
		}
		return content(io.Discard)
	}, filepath.Join(dir, artifact.NameOfRun(opened, run)+".trace"), opened)
	if err != nil {
		t.Logf("it cannot be written: %v", err)
	}
}

// printed checks that a status does not change the terminal.
func printed(t *testing.T, s *status) {
	t.Helper()
	var out bytes.Buffer
	if err := s.print(&out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		clean(t, strings.TrimSuffix(line, "\n"))
	}
}

// clean checks that a text has no control characters.
func clean(t *testing.T, text string) {
	t.Helper()
	if at := strings.IndexFunc(text,
		func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u202e' }); at >= 0 {
		t.Fatalf("%q has a control character at %d", text, at)
	}
}
