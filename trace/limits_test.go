package trace_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/trace"
)

// repeated is a text repeated so many times, without storing all of it.
func repeated(text string, times int) io.Reader {
	var parts []io.Reader
	block := strings.Repeat(text, 1000)
	for ; times >= 1000; times -= 1000 {
		parts = append(parts, strings.NewReader(block))
	}
	return io.MultiReader(append(parts, strings.NewReader(strings.Repeat(text, times)))...)
}

// Every number, text and list of a trace has a limit, and the error has the line.
func TestLimits(t *testing.T) {
	tier.NotShort(t)
	header := func(more string) string {
		return `{"lockstep":4,"tool":"x","target":"t","strategy":"s","seed":1,"run":0,"nodes":3` + more + "}\n"
	}
	start := `{"step":0,"do":"start"}` + "\n"
	name, value := strings.Repeat("n", trace.MaxName+1), strings.Repeat("v", trace.MaxValue+1)
	list := `"` + strings.Repeat(`x","`, trace.MaxNames) + `x"`
	fail := func(finding string) string {
		return header("") + start + `{"verdict":"fail","finding":{"property":"p","text":"t","step":0` +
			finding + `},"steps":0,"lines":2}`
	}
	for _, c := range []struct{ name, file, want string }{
		{"settle", header(`,"settle":1000000000000000`), "line 1: settle is 1000000000000000, allowed are 0..50000"},
		{"settle below", header(`,"settle":-1`), "line 1: settle is -1"},
		{
			"run",
			strings.Replace(header(""), `"run":0`, `"run":9000000000000000000`, 1),
			"line 1: run is 9000000000000000000",
		},
		{"run below", strings.Replace(header(""), `"run":0`, `"run":-1`, 1), "line 1: run is -1"},
		{"nodes", strings.Replace(header(""), `"nodes":3`, `"nodes":65`, 1), "line 1: nodes is 65"},
		{"per", header(`,"phases":{"per":-1}`), "line 1: phases.per is -1"},
		{
			"target",
			strings.Replace(header(""), `"target":"t"`, `"target":"`+name+`"`, 1),
			"line 1: target has 4353 bytes, allowed are 4352",
		},
		{"scenario", header(`,"scenario":"` + name + `"`), "line 1: scenario has 4353 bytes"},
		{"key", header(`,"options":{"` + name + `":""}`), "line 1: a key has 4353 bytes"},
		{"value", header(`,"options":{"a":"` + value + `"}`), "line 1: a value has 65537 bytes"},
		{"rounds", header(`,"rounds":[` + list + `]`), "line 1: there are 1001 names of rounds, allowed are 1000"},
		{"round name", header(`,"rounds":["` + name + `"]`), "line 1: a name has 4353 bytes"},
		{
			"at",
			header("") + start + `{"step":1,"do":"timer","node":1,"at":9000000000000000000}`,
			"line 3: at is 9000000000000000000",
		},
		{"at below", header("") + start + `{"step":1,"do":"timer","node":1,"at":-1}`, "line 3: at is -1"},
		{
			"wait",
			header("") + start + `{"step":1,"do":"wait","for":9000000000000000000}`,
			"line 3: for is 9000000000000000000, allowed are 0..3600000000000",
		},
		{
			"text",
			header("") + `{"step":0,"do":"start","text":"` + value + `"}`,
			"line 2: the text has 65537 bytes, allowed are 4352",
		},
		{
			"body",
			header("") + `{"step":0,"do":"start","body":"` + strings.Repeat("b", trace.MaxBody+1) + `"}`,
			"line 2: the body has 1048577 bytes",
		},
		{
			"draws",
			header("") + `{"step":0,"do":"start","draws":[` + strings.Repeat("1,", trace.MaxEffects) + `1]}`,
			"line 2: there are 100001 draws, allowed are 100000",
		},
		{
			"message type",
			header("") + start + `{"sent":1,"from":1,"to":2,"type":"` + name + `"}`,
			"line 3: the type has 4353 bytes",
		},
		{"message time", header("") + start + `{"sent":1,"from":1,"to":2,"type":"x","at":-1}`, "line 3: at is -1"},
		{"event type", header("") + start + `{"event":"` + name + `","node":1}`, "line 3: the type has 4353 bytes"},
		{"state", header("") + start + `{"state":1,"text":"` + value + `"}`, "line 3: the text has 65537 bytes"},
		{"log time", header("") + start + `{"log":"server","node":1,"at":-1}`, "line 3: at is -1"},
		{"log source", header("") + start + `{"log":"` + name + `","node":1}`, "line 3: the source has 4353 bytes"},
		{"log level", header("") + start + `{"log":"server","level":"` + name + `"}`, "line 3: the level has 4353 bytes"},
		{"log text", header("") + start + `{"log":"server","text":"` + name + `"}`, "line 3: the text has 4353 bytes"},
		{"now", header("") + start + `{"step":1,"do":"timer","node":1,"now":9000000000000000000}`,
			"line 3: now is 9000000000000000000"},
		{"now below", header("") + start + `{"step":1,"do":"timer","node":1,"now":-1}`, "line 3: now is -1"},
		{
			"phase",
			header("") + `{"round":1,"phase":9000000000000000000,"kernel":[1]}`,
			"line 2: phase is 9000000000000000000",
		},
		{"finding", fail(`,"values":[` + list + `]`), "line 3: there are 1001 values, allowed are 1000"},
		{
			"finding's step",
			strings.Replace(fail(""), `"step":0}`, `"step":7}`, 1),
			"line 3: the finding's step is 7, allowed are 0..1",
		},
		{"about", fail(`,"about":[7]`), "line 3: a step that the finding is about is 7"},
		{
			"reason",
			header("") + start + `{"verdict":"unknown","reason":"` + value + `","steps":0,"lines":2}`,
			"line 3: the reason has 65537 bytes",
		},
		{"nesting", header(`,"options":` + strings.Repeat("[", 100_000)), "not a readable Lockstep trace: line 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := trace.Read(strings.NewReader(c.file))
			if !errors.Is(err, trace.ErrFormat) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %.300v, want ...%s...", err, c.want)
			}
		})
	}
	for _, c := range []struct {
		name string
		file io.Reader
		want string
	}{
		{
			"effects",
			io.MultiReader(strings.NewReader(header("")+start), repeated(`{"event":"x","node":1}`+"\n", 1_500_000)),
			"line 100003: step 0 has more than 100000 effects",
		},
		{
			"bytes",
			io.MultiReader(strings.NewReader(header("")+start), repeated(strings.Repeat(" ", 1<<20)+"\n", 300)),
			"line 258: the file has more than 268435456 bytes",
		},
		{"no end", repeated(strings.Repeat("[", 1<<20), 100), "line 1 is longer than 8388608 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			begin := time.Now()
			_, err := trace.Read(c.file)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, trace.ErrFormat) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %.300v, want ...%s...", err, c.want)
			}
			if took := time.Since(begin); took > 2*time.Minute || after.HeapAlloc > before.HeapAlloc+2<<30 {
				t.Errorf("it took %v and %d MB", took, (after.HeapAlloc-before.HeapAlloc)>>20)
			}
		})
	}
}

// Values beyond a limit are not written either: every stored trace can be read.
func TestLimitsOfWriting(t *testing.T) {
	name, value := strings.Repeat("n", trace.MaxName+1), strings.Repeat("v", trace.MaxValue+1)
	for want, change := range map[string]func(*trace.Trace){
		"line 1 could not be read again: settle is": func(t *trace.Trace) {
			t.Header.Settle = trace.MaxSettle + 1
		},
		"line 1 could not be read again: target has":   func(t *trace.Trace) { t.Header.Target = name },
		"line 2 could not be read again: the text has": func(t *trace.Trace) { t.Records[0].Text = value },
		"line 2 could not be read again: for is": func(t *trace.Trace) {
			t.Records[0].Step.For = trace.MaxWait + 1
		},
		"there are 100001 draws": func(t *trace.Trace) {
			t.Records[0].Draws = make([]trace.Draw, trace.MaxEffects+1)
		},
		"there are 100001 effects of a step": func(t *trace.Trace) {
			t.Records[0].Gone = make([]trace.ID, trace.MaxEffects+1)
		},
		"line 3 could not be read again: the type has": func(t *trace.Trace) {
			t.Records[0].Events = []trace.Event{{Type: name}}
		},
		"line 3 could not be read again: the text has": func(t *trace.Trace) {
			t.Records[0].States = []trace.State{{Node: 1, Text: value}}
		},
		"line 3 could not be read again: at is": func(t *trace.Trace) {
			t.Records[0].Sent = []trace.Sent{{Message: trace.Message{ID: 1, At: -1}}}
		},
		"line 3 could not be read again: the level has": func(t *trace.Trace) {
			t.Records[0].Logs = []trace.Log{{Source: trace.LogServer, Level: name}}
		},
		"line 2 could not be read again: now is": func(t *trace.Trace) { t.Records[0].Now = -1 },
		"line 3 could not be read again: phase is": func(t *trace.Trace) {
			t.Rounds = []trace.Round{{Number: 1, Phase: -1}}
		},
		"line 3 could not be read again: the reason has": func(t *trace.Trace) { t.Outcome.Reason = value },
	} {
		tr := &trace.Trace{
			Header:  trace.Header{Nodes: 1},
			Records: []trace.Record{{}},
			Outcome: trace.Outcome{Verdict: trace.Pass},
		}
		change(tr)
		if err := trace.Write(&bytes.Buffer{}, tr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.200v, want ...%s...", err, want)
		}
	}
}
