package trace_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lockstep-go/lockstep/trace"
	"pgregory.net/rapid"
)

// genTrace draws a well-formed trace: numbers are consecutive, references point back.
func genTrace(t *rapid.T) *trace.Trace {
	nodes := rapid.IntRange(1, trace.MaxNodes).Draw(t, "nodes")
	word := rapid.StringMatching(`[a-zA-Z0-9<>&"\\ é→-]{0,12}`)
	node := func() trace.Node { return trace.Node(rapid.IntRange(1, nodes).Draw(t, "node")) }
	set := func() trace.Nodes {
		return trace.Nodes(rapid.Uint64().Draw(t, "set")) & trace.AllNodes(nodes)
	}
	tr := &trace.Trace{
		Header: trace.Header{Format: trace.Version, Tool: word.Draw(t, "tool"), Target: word.Draw(t, "target"),
			Strategy: word.Draw(t, "strategy"), Seed: rapid.Uint64().Draw(t, "seed"), Nodes: nodes},
	}
	if rapid.Bool().Draw(t, "more") {
		h := &tr.Header
		h.Build, h.Scenario, h.Shrunk = word.Draw(t, "build"), word.Draw(t, "scenario"), word.Draw(t, "shrunk")
		h.Run, h.Settle = rapid.IntRange(0, 1<<40).Draw(t, "run"), rapid.IntRange(0, 9).Draw(t, "settle")
		h.Options = rapid.MapOfN(word, word, 1, 3).Draw(t, "options")
		h.Drawn = rapid.MapOfN(word, word, 1, 3).Draw(t, "drawn")
		h.Rounds = rapid.SliceOfN(word, 1, 3).Draw(t, "names")
	}
	rounds := rapid.Bool().Draw(t, "rounds")
	var sent trace.ID
	for i := range rapid.IntRange(1, 12).Draw(t, "records") {
		r := trace.Record{Number: i, Text: word.Draw(t, "text")}
		if rounds && i > 0 && rapid.Bool().Draw(t, "open") {
			tr.Rounds = append(tr.Rounds,
				trace.Round{Number: len(tr.Rounds) + 1, Phase: 1, Name: word.Draw(t, "name"), Kernel: set()})
		}
		r.Round = len(tr.Rounds)
		if i > 0 {
			r.Step = genStep(t, node, set, sent)
			r.Step.At = trace.Time(rapid.IntRange(0, 100).Draw(t, "at"))
			if r.Step.Kind == trace.Replace {
				r.Body = word.Draw(t, "body")
			}
		}
		for range rapid.IntRange(0, 3).Draw(t, "sends") {
			sent++
			m := trace.Message{
				ID:   sent,
				Copy: trace.ID(rapid.IntRange(0, int(sent)-1).Draw(t, "copy")),
				From: node(),
				To:   node(),
				Type: word.Draw(t, "type"),
				Tag:  trace.Tag{Phase: rapid.Int32().Draw(t, "phase"), Round: rapid.Int32Range(0, 9).Draw(t, "round")},
				At:   trace.Time(rapid.IntRange(0, 100).Draw(t, "due")),
			}
			r.Sent = append(r.Sent,
				trace.Sent{Message: m, Text: word.Draw(t, "text"), Lost: rapid.Bool().Draw(t, "lost")})
		}
		for range rapid.IntRange(0, min(1, int(sent))).Draw(t, "gone") {
			r.Gone = append(r.Gone, trace.ID(rapid.IntRange(1, int(sent)).Draw(t, "id")))
		}
		for range rapid.IntRange(0, 2).Draw(t, "events") {
			r.Events = append(r.Events,
				trace.Event{Type: word.Draw(t, "event"), Node: node(), Text: word.Draw(t, "text")})
			r.States = append(r.States, trace.State{Node: node(), Text: word.Draw(t, "state")})
		}
		for range rapid.IntRange(0, 2).Draw(t, "lines") {
			r.Logs = append(r.Logs, trace.Log{Source: word.Draw(t, "source"), Node: node(), Level: word.Draw(t, "level"),
				At: trace.Time(rapid.IntRange(0, 100).Draw(t, "at")), Text: word.Draw(t, "text")})
		}
		if rapid.Bool().Draw(t, "draws") {
			for _, n := range rapid.SliceOfN(rapid.Uint64(), 1, 3).Draw(t, "drawn") {
				r.Draws = append(r.Draws, trace.Draw{By: trace.Node(rapid.IntRange(0, 3).Draw(t, "by")), N: n})
			}
		}
		tr.Records = append(tr.Records, r)
	}
	tr.Outcome = trace.Outcome{Verdict: trace.Pass, Steps: len(tr.Records) - 1}
	if rapid.Bool().Draw(t, "fails") {
		tr.Outcome.Verdict = trace.Fail
		tr.Outcome.Finding = &trace.Finding{
			Property: word.Draw(t, "property"),
			Text:     word.Draw(t, "text"),
			Nodes:    set(),
			Step:     len(tr.Records) - 1,
			Values:   rapid.SliceOfN(word, 1, 2).Draw(t, "values"),
			Stack:    word.Draw(t, "stack"),
		}
	}
	if last := &tr.Records[len(tr.Records)-1]; last.Number > 0 && rapid.Bool().Draw(t, "settles") {
		last.Settle, last.Round = true, 0
	}
	return tr
}

func genStep(t *rapid.T, node func() trace.Node, set func() trace.Nodes, sent trace.ID) trace.Step {
	kinds := []trace.Kind{
		trace.Timer,
		trace.Crash,
		trace.Restart,
		trace.Request,
		trace.Cut,
		trace.Heal,
		trace.Wait,
		trace.Pause,
		trace.Jump,
	}
	if sent > 0 {
		kinds = append(kinds, trace.Deliver, trace.Drop, trace.Duplicate, trace.Replace)
	}
	s := trace.Step{Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
	switch s.Kind {
	case trace.Cut, trace.Heal:
		s.From, s.To, s.OneWay = set(), set(), rapid.Bool().Draw(t, "one way")
	case trace.Timer, trace.Crash, trace.Restart, trace.Pause, trace.Jump:
		s.Node = node()
	case trace.Wait:
		s.For = trace.Time(rapid.IntRange(1, 1000).Draw(t, "for"))
	case trace.Request:
		s.Node, s.Request = node(), rapid.Int32().Draw(t, "request")
	default:
		s.Msg = trace.ID(rapid.IntRange(1, int(sent)).Draw(t, "msg"))
	}
	return s
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := genTrace(t)
		var file bytes.Buffer
		if err := trace.Write(&file, want); err != nil {
			t.Fatal(err)
		}
		got, err := trace.Read(bytes.NewReader(file.Bytes()))
		if err != nil {
			t.Fatalf("%v in\n%s", err, file.String())
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("read differs from what was written:\n%s", d)
		}
		var again bytes.Buffer
		if err := trace.Write(&again, got); err != nil || !bytes.Equal(file.Bytes(), again.Bytes()) {
			t.Fatalf("a second writing differs: %v", err)
		}
	})
}

// A file truncated at any line, or with any line left out, is refused.
func TestDamaged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var file bytes.Buffer
		if err := trace.Write(&file, genTrace(t)); err != nil {
			t.Fatal(err)
		}
		lines := bytes.SplitAfter(bytes.TrimRight(file.Bytes(), "\n"), []byte("\n"))
		at := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
		if _, err := trace.Read(bytes.NewReader(bytes.Join(lines[:at], nil))); !errors.Is(err, trace.ErrFormat) {
			t.Fatalf("cut off before line %d: %v", at+1, err)
		}
		left := slices.Delete(slices.Clone(lines), at, at+1)
		if _, err := trace.Read(bytes.NewReader(bytes.Join(left, nil))); !errors.Is(err, trace.ErrFormat) {
			t.Fatalf("without line %d: %v", at+1, err)
		}
	})
}

func TestBadFiles(t *testing.T) {
	const (
		header = `{"lockstep":4,"tool":"x","target":"t","strategy":"s","seed":1,"run":0,"nodes":3}` + "\n"
		start  = `{"step":0,"do":"start"}` + "\n"
		pass   = `{"verdict":"pass","steps":0,"lines":2}` + "\n"
	)
	for _, c := range []struct{ name, file, want string }{
		{"empty", "", "the file is empty"},
		{"no trace", "hello\n", "line 1 has no"},
		{"other JSON", `{"a":1}`, "line 1 has no"},
		{"no version", `{"lockstep":0}`, "line 1: format version 0, this tool reads version 4"},
		{"newer", `{"lockstep":5}`, "line 1: format version 5, this tool reads version 4: update Lockstep"},
		{"foreign key", `{"lockstep":4,"paint":"red"}`, `line 1: json: unknown field "paint"`},
		{"no nodes", `{"lockstep":4,"tool":"x"}`, "line 1: nodes is 0, allowed are 1..64"},
		{"cut off", header, "it ends after line 1 without a verdict"},
		{"cut off later", header + start, "it ends after line 2 without a verdict"},
		{"no JSON", header + start + "}{\n", "line 3: invalid character"},
		{"binary", header + "\xff\xfe\n", "line 2: it is not UTF-8"},
		{
			"unknown kind",
			header + start + `{"step":1,"do":"leap"}`,
			`line 3: unknown kind of step "leap": one of deliver, drop`,
		},
		{"step missing", header + start + `{"step":2,"do":"timer","node":1}`, "line 3: step 2 where step 1 should be"},
		{"node", header + start + `{"step":1,"do":"timer","node":4}`, "line 3: node 4 is not in 1..3"},
		{
			"message",
			header + start + `{"step":1,"do":"drop","msg":1}`,
			"line 3: drop of message 1, but 0 messages were sent so far",
		},
		{
			"sent",
			header + start + `{"sent":2,"from":1,"to":2,"type":"x"}`,
			"line 3: message 2 where message 1 should be",
		},
		{
			"copy",
			header + start + `{"sent":1,"copy_of":5,"from":1,"to":2,"type":"x"}`,
			"line 3: message 1 is a copy of message 5",
		},
		{"start twice", header + start + `{"step":1,"do":"start"}`, "line 3: start cannot be step 1"},
		{"gone", header + start + `{"gone":1}`, "line 3: message 1 is gone, but 0 messages were sent so far"},
		{"misplaced event", header + `{"event":"x","node":1}`, "line 2: expected a step, a round or the verdict"},
		{"neither", header + start + `{"foo":1}`, "line 3: neither a step nor something that a step causes"},
		{"kernel", header + start + `{"round":1,"phase":1,"kernel":[4]}`, "line 3: kernel 4 has nodes outside 1..3"},
		{"round", header + start + `{"round":2,"phase":1,"kernel":[1]}`, "line 3: round 2 where round 1 should be"},
		{"set", header + start + `{"round":1,"phase":1,"kernel":[0]}`, "line 3: node 0 is not in 1..64"},
		{"verdict", header + start + `{"verdict":"maybe","steps":0,"lines":2}`, `line 3: unknown verdict "maybe"`},
		{
			"steps",
			header + start + `{"verdict":"pass","steps":5,"lines":2}`,
			"line 3: the verdict counts 5 steps, the file holds 0",
		},
		{
			"finding",
			header + start + `{"verdict":"fail","steps":0,"lines":2}`,
			"line 3: a finding belongs to the verdict fail",
		},
		{
			"lines",
			header + start + `{"verdict":"pass","steps":0,"lines":3}`,
			"line 3: the verdict counts 3 lines before it, the file holds 2",
		},
		{"wait", header + start + `{"step":1,"do":"wait","for":-1}`, "line 3: wait for -1, it must last"},
		{"more", header + start + pass + "{}", "line 4: something follows the verdict"},
		{"two values", header + `{"step":0,"do":"start"} {}` + "\n", "line 2: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := trace.Read(strings.NewReader(c.file))
			if !errors.Is(err, trace.ErrFormat) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want ...%s...", err, c.want)
			}
		})
	}
	if _, err := trace.Read(strings.NewReader(header + start + pass)); err != nil {
		t.Errorf("the good file is refused: %v", err)
	}
}

// The reader accepts everything that the writer writes. A line that is too long is refused when it is written, and
// texts are truncated before that.
func TestTooLongToWrite(t *testing.T) {
	long := strings.Repeat("x", 17<<20)
	tr := &trace.Trace{
		Header:  trace.Header{Nodes: 1},
		Records: []trace.Record{{Text: long}},
		Outcome: trace.Outcome{Verdict: trace.Pass},
	}
	if err := trace.Write(&bytes.Buffer{}, tr); err == nil ||
		!strings.Contains(err.Error(),
			"line 2 could not be read again: the text has 17825792 bytes, allowed are 4352") {
		t.Errorf("got %v", err)
	}
	tr.Records[0].Text = trace.Cap(long)
	var file bytes.Buffer
	if err := trace.Write(&file, tr); err != nil {
		t.Fatal(err)
	}
	if _, err := trace.Read(&file); err != nil {
		t.Errorf("cut and still not readable: %v", err)
	}
}

func TestCap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(rapid.String().Draw(t, "word"), rapid.IntRange(0, 5000).Draw(t, "times"))
		got := trace.Cap(text)
		switch {
		case len(text) <= trace.MaxText && got != text:
			t.Fatalf("a text of %d bytes became one of %d", len(text), len(got))
		case len(got) > trace.MaxText+40:
			t.Fatalf("%d bytes left of %d", len(got), len(text))
		case got != text:
			head, tail, _ := strings.Cut(got, "... (")
			var missing int
			if _, err := fmt.Sscanf(tail, "%d bytes more)", &missing); err != nil && !strings.Contains(text, "... (") {
				t.Fatalf("%v in %q", err, tail)
			} else if err == nil && len(head)+missing != len(text) {
				t.Fatalf("%d bytes kept and %d missing of %d", len(head), missing, len(text))
			}
		}
	})
	if got := trace.Cap("a\xffb"); got != "a\uFFFDb" {
		t.Errorf("%q", got)
	}
}

func ExampleScriptOf() {
	m := trace.Message{ID: 1, From: 1, To: 2, Type: "Ping"}
	again := trace.Message{ID: 2, From: 1, To: 2, Type: "Ping"}
	t := &trace.Trace{Records: []trace.Record{{Sent: []trace.Sent{{Message: m}, {Message: again}}},
		{Number: 1, Step: trace.Step{Kind: trace.Deliver, Msg: 2}}}}
	for _, a := range trace.ScriptOf(t) {
		fmt.Println(a.Step.Kind, a.Msg)
	}
	// Output: deliver 1->2 Ping #2
}

func ExampleNamer() {
	var names trace.Namer
	names.Add(&trace.Message{ID: 1, From: 1, To: 2, Type: "Vote", Tag: trace.Tag{Phase: 3, Round: 1}})
	name := names.Add(&trace.Message{ID: 2, From: 1, To: 2, Type: "Vote", Tag: trace.Tag{Phase: 3, Round: 1}})
	fmt.Println(names.Name(1), "|", name, "|", names.Find(name), names.Named())
	names.Reset()
	fmt.Println(names.Find(name))
	// Output:
	// 1->2 Vote (3,1) | 1->2 Vote (3,1) #2 | 2 2
	// 0
}

func TestLongLine(t *testing.T) {
	_, err := trace.Read(strings.NewReader(strings.Repeat("x", 17<<20)))
	if !errors.Is(err, trace.ErrFormat) || !strings.Contains(err.Error(), "line 1 is longer") {
		t.Errorf("got %v", err)
	}
}

// failing refuses writes after some bytes, as a full disk does.
type failing struct{ left int }

var errFull = errors.New("disk full")

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestFullDisk(t *testing.T) {
	tr := &trace.Trace{Header: trace.Header{Nodes: 1}, Records: make([]trace.Record, 1000)}
	for left := range 10 {
		if err := trace.Write(&failing{left * 1000}, tr); !errors.Is(err, errFull) {
			t.Errorf("with %d bytes left: %v", left*1000, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(
		[]byte(
			`{"lockstep":4,"tool":"x","target":"t","strategy":"s","seed":1,"run":0,"nodes":3}` + "\n" +
				`{"step":0,"do":"start"}` + "\n" + `{"verdict":"pass","steps":0,"lines":2}`,
		),
	)
	f.Fuzz(func(t *testing.T, data []byte) {
		tr, err := trace.Read(bytes.NewReader(data))
		if err == nil {
			if err := trace.Write(&bytes.Buffer{}, tr); err != nil {
				t.Fatalf("read but not written: %v", err)
			}
		}
	})
}

func ExampleWrite() {
	t := &trace.Trace{
		Header: trace.Header{Tool: "example", Target: "echo", Strategy: "walk", Seed: 7, Nodes: 2},
		Records: []trace.Record{
			{
				Number: 0,
				Sent:   []trace.Sent{{Message: trace.Message{ID: 1, From: 1, To: 2, Type: "Ping"}, Text: "1->2 Ping"}},
			},
			{Number: 1, Step: trace.Step{Kind: trace.Deliver, Msg: 1}, Text: "1->2 Ping",
				Events: []trace.Event{{Type: "pinged", Node: 2}}},
		},
		Outcome: trace.Outcome{Verdict: trace.Pass, Steps: 1},
	}
	if err := trace.Write(os.Stdout, t); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"lockstep":4,"tool":"example","target":"echo","strategy":"walk","seed":7,"run":0,"nodes":2}
	// {"step":0,"do":"start"}
	// {"sent":1,"from":1,"to":2,"type":"Ping","text":"1->2 Ping"}
	// {"step":1,"do":"deliver","msg":1,"text":"1->2 Ping"}
	// {"event":"pinged","node":2}
	// {"verdict":"pass","steps":1,"lines":5}
}

func ExampleRead() {
	file := `{"lockstep":4,"tool":"example","target":"echo","strategy":"walk","seed":7,"run":0,"nodes":2}
{"step":0,"do":"start"}
{"step":1,"do":"timer","node":2,"text":"2 timer"}
{"verdict":"pass","steps":1,"lines":3}`
	t, err := trace.Read(strings.NewReader(file))
	fmt.Println(t.Header.Target, len(t.Records), t.Records[1].Step, err)
	_, err = trace.Read(strings.NewReader(strings.Replace(file, "timer", "alert", 1)))
	fmt.Println(err)
	// Output:
	// echo 2 timer node 2 <nil>
	// not a readable Lockstep trace: line 3: unknown kind of step "alert": one of deliver, drop, duplicate, replace, timer, crash, restart, request, cut, heal, wait, pause, jump
}

func ExampleNodes() {
	s := trace.NodesOf(3, 1).With(5)
	fmt.Println(s, s.Has(2), s.Len(), s.Without(3), s.First(), s.Nth(2), trace.Nodes(0), trace.AllNodes(4))
	for n := range s.All() {
		fmt.Print(n, " ")
	}
	// Output:
	// 1,3,5 false 3 1,5 1 5 none 1,2,3,4
	// 1 3 5
}

func ExampleTrace_Message() {
	t := trace.Trace{
		Records: []trace.Record{{Sent: []trace.Sent{{Message: trace.Message{ID: 1, From: 1, To: 2, Type: "Ping"}}}}},
	}
	m, ok := t.Message(1)
	fmt.Println(m.Message, ok)
	_, ok = t.Message(2)
	fmt.Println(ok)
	// Output:
	// 1->2 Ping true
	// false
}

func ExampleReadFile() {
	_, err := trace.ReadFile("nowhere.trace")
	fmt.Println(err)
	// Output: open nowhere.trace: no such file or directory
}

func ExamplePhases() {
	p := trace.Phases{Group: "height", Name: "round", Per: 100}
	fmt.Println(p, "|", p.Of(1), "|", p.Of(204))
	fmt.Println(trace.Phases{}, "|", trace.Phases{}.Of(204))
	// Output:
	// height and round | height 1, round 0 | height 3, round 3
	// phase | phase 204
}

// A file in an older version of the format is refused with one line that names both versions and says what to do. The
// rest of the file is a trace of that version, whose kinds of step were partly called differently.
func TestOlderVersion(t *testing.T) {
	for version := range trace.Version {
		file := fmt.Sprintf(`{"lockstep":%d,"tool":"0.1.0-dev","target":"t","strategy":"s","seed":1,"run":0,"nodes":1}
{"step":0,"do":"start"}
{"step":1,"do":"alarm","node":1,"text":"1 alarm"}
{"verdict":"pass","steps":1,"lines":3}
`, version)
		want := fmt.Sprintf("not a readable Lockstep trace: line 1: format version %d, this tool reads version %d: "+
			"record the run again with lockstep trace, or use the Lockstep that wrote it", version, trace.Version)
		_, err := trace.Read(strings.NewReader(file))
		if !errors.Is(err, trace.ErrFormat) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	current := fmt.Sprintf(`{"lockstep":%d,"tool":"0.1.0","target":"t","strategy":"s","seed":1,"run":0,"nodes":1}
{"step":0,"do":"start"}
{"step":1,"do":"timer","node":1,"text":"1 timer"}
{"verdict":"pass","steps":1,"lines":3}
`, trace.Version)
	if _, err := trace.Read(strings.NewReader(current)); err != nil {
		t.Errorf("the same run in this version: %v", err)
	}
}

func ExampleFinding_Terms() {
	f := trace.Finding{Text: "watch 9 of key a1 skipped revision 107 of 3", Values: []string{"x"}}
	fmt.Printf("%q\n", f.Terms())
	// Output: ["a1" "revision 107" "watch 9" "x"]
}
