package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/distal/system"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/maelstrom"
	"github.com/lockstep-go/lockstep/target/pbft"
	"github.com/lockstep-go/lockstep/target/raft"
	"github.com/lockstep-go/lockstep/target/register"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// fuzzApp has targets that are linked in; two of them start programs or read files.
var fuzzApp = App{
	Targets: slices.Concat(smr.Targets, raft.Targets, pbft.Targets, []target.Target{register.Target, maelstrom.Target,
		target.Of("distal", "a protocol written in Distal", system.Program{}, system.Properties)}),
}

// The limits of a command that reads a trace of a few kilobytes.
const (
	fuzzTime   = 20 * time.Second
	fuzzMemory = 2 << 30 // allocated in total, not at once
	fuzzInput  = 64 << 10
	fuzzSettle = 2000 // a trace may ask for more steps, and the formatting functions of the systems then take long
)

// recordedRuns returns traces of real runs.
func recordedRuns(t testing.TB) [][]byte {
	var list [][]byte
	for _, tg := range fuzzApp.Targets {
		if tg.Name == "maelstrom" || tg.Name == "distal" {
			continue
		}
		s, err := tg.Build(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{
			"walk:steps=25,crash=1,restart=2,cut=1,heal=2,duplicate=1", "uniform:period=2,isolations=1,rounds=4",
		} {
			by, err := strategy.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			plan := lockstep.Plan{System: s, Spec: tg.Spec, Strategy: by, Settle: min(tg.Settle, 5), Runs: 300}
			tr, err := lockstep.Record(t.Context(), plan, 0)
			if err != nil {
				continue // the strategy does not fit the system
			}
			traces := []*trace.Trace{tr}
			if result, err := lockstep.Explore(t.Context(), plan); err == nil && result.First() != nil {
				traces = append(traces, result.First().Trace)
			}
			for _, tr := range traces {
				var file bytes.Buffer
				if err := trace.Write(&file, tr); err != nil {
					t.Fatal(err)
				}
				list = append(list, file.Bytes())
			}
		}
	}
	return list
}

// hostileTraces name what a trace must not name, and numbers that would keep a reader busy.
func hostileTraces() []string {
	trace := func(header string, lines ...string) string {
		text := `{"lockstep":4,"tool":"x",` + header + `,"strategy":"s","seed":1,"run":0,"nodes":3}` + "\n" +
			`{"step":0,"do":"start"}` + "\n"
		for _, line := range lines {
			text += line + "\n"
		}
		return text + fmt.Sprintf(
			`{"verdict":"fail","finding":{"property":"prefix","text":"t","step":0},"steps":%d,"lines":%d}`,
			strings.Count(text, `"step"`)-1,
			strings.Count(text, "\n"),
		) + "\n"
	}
	smr := `"target":"smr-bug","options":{"nodes":"3"}`
	many := strings.Repeat("x", 1000)
	return []string{
		trace(`"target":"./evil"`),
		trace(`"target":"-toolexec=/bin/sh -c 'touch executed'"`),
		trace(
			`"target":"maelstrom","options":{"bin":"touch executed","workload":"echo","nodes":"3","topology":"grid"}`,
		),
		trace(`"target":"distal","options":{"file":"/dev/zero","nodes":"3"}`),
		trace(`"target":"raft","build":"example.com/evil@v0.0.1"`),
		trace(smr + `,"settle":1000000000000000`),
		trace(smr + `,"settle":2000`),
		trace(smr, `{"step":1,"do":"wait","for":9000000000000000000}`),
		trace(smr, `{"step":1,"do":"timer","node":1,"at":9000000000000000000}`),
		trace(
			smr,
			`{"sent":1,"from":1,"to":2,"type":"`+many+`","tag":{"phase":2147483647,"round":-2147483648}}`,
			`{"step":1,"do":"deliver","msg":1,"draws":[18446744073709551615,[3,0]]}`,
		),
		trace(
			smr,
			`{"round":1,"phase":2147483647,"kernel":[1]}`,
			`{"step":1,"do":"cut","from":[1],"to":[2,3]}`,
			`{"step":2,"do":"crash","node":1}`,
		),
		trace(
			smr+`,"rounds":["a","b"],"phases":{"group":"g","name":"n","per":2147483647}`,
			`{"sent":1,"from":1,"to":2,"type":"x","tag":{"phase":1,"round":1}}`,
		),
		trace(`"target":"smr","options":{"nodes":"64"}`),
		trace(`"target":"register","options":{"nodes":"999999999999"}`),
		`{"lockstep":4,"options":` + strings.Repeat("[", 20_000),
		trace("\"target\":\"\\u001b[2J\\u202e\""),
		trace(
			smr,
			`{"log":"server","node":1,"at":9000000000000000,"level":"\u001b[2J","text":"\u202ex"}`,
			`{"log":"operator","node":2,"at":1,"text":"Compact up to revision 8\ntouch executed"}`,
			`{"step":1,"do":"timer","node":1,"now":9000000000000000}`,
			`{"log":"\u001b[2J","node":3,"at":0,"text":"$(touch executed)"}`,
			`{"state":1,"text":"|<script>`+"`touch executed`"+`"}`,
			`{"event":"call","node":1,"text":"c1 put a=$(touch executed)"}`,
		),
		trace(
			smr,
			`{"sent":1,"from":1,"to":2,"type":"\u001b[2J","text":"\u202ex"}`,
			`{"event":"\u001b[2J","node":1,"text":"\u001b]0;x\u0007"}`,
			`{"state":1,"text":"\u001b[2J"}`,
			`{"step":1,"do":"deliver","msg":1,"text":"\u001b[2J\u202e"}`,
		),
	}
}

// settleOf returns the length of the settling stage that a file asks for.
func settleOf(file []byte) int {
	line, _, _ := bytes.Cut(bytes.TrimLeft(file, " \t\r\n"), []byte("\n"))
	var h trace.Header
	_ = json.Unmarshal(line, &h) // the readable part of it
	return h.Settle
}

var stepText = regexp.MustCompile(`(?m)^(\{"step":.*"text":")`)

var lastNumbers = regexp.MustCompile(`"(steps|lines)":-?\d+`)

// repaired returns a trace whose last line has the correct number of lines and steps. More of the fuzzer's inputs then
// pass the reader.
func repaired(file []byte) []byte {
	file = bytes.TrimRight(file, "\n")
	at := bytes.LastIndexByte(file, '\n') + 1
	body, last := file[:at], file[at:]
	if !bytes.Contains(last, []byte(`"verdict"`)) {
		return file
	}
	lines, steps := 0, -1
	for line := range bytes.Lines(body) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		lines++
		var s struct {
			Step *json.RawMessage `json:"step"`
		}
		if json.Unmarshal(line, &s) == nil && s.Step != nil {
			steps++
		}
	}
	last = lastNumbers.ReplaceAllFunc(last, func(found []byte) []byte {
		if bytes.Contains(found, []byte("steps")) {
			return fmt.Appendf(nil, `"steps":%d`, max(steps, 0))
		}
		return fmt.Appendf(nil, `"lines":%d`, lines)
	})
	return append(slices.Clone(body), last...)
}

// limited counts the bytes written and keeps the beginning.
type limited struct {
	bytes.Buffer
	n int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.n += len(p); l.Len() < 1<<16 {
		l.Buffer.Write(p)
	}
	return len(p), nil
}

// open opens a trace with a command and reports every violation of the command's contract.
func open(file string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), fuzzTime)
	defer cancel()
	var out, errOut limited
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	status := fuzzApp.execute(ctx, "lockstep", append(args, file), &out, &errOut)
	took := time.Since(begin)
	runtime.ReadMemStats(&after)
	said := errOut.String()
	switch {
	case took > fuzzTime || ctx.Err() != nil:
		return fmt.Errorf("it took %v: %s", took, said)
	case after.TotalAlloc-before.TotalAlloc > fuzzMemory:
		return fmt.Errorf("it allocated %d MB", (after.TotalAlloc-before.TotalAlloc)>>20)
	case status != statusClean && status != statusFinding && status != statusFailure:
		return fmt.Errorf("status %d: %s", status, said)
	case status == statusFailure && (strings.Count(said, "\n") != 1 || !strings.HasPrefix(said, prefix)):
		return fmt.Errorf("the error is not one line: %q", said)
	case strings.ContainsAny(said+out.String(), "\x1b\u202e"):
		return fmt.Errorf("it prints commands for a terminal: %q %q", said, out.String())
	}
	return nil
}

// FuzzTrace draws, replays and shrinks traces. Whatever the file contains, each command ends soon, takes little memory,
// starts no program, and reports in one line what is wrong.
func FuzzTrace(f *testing.F) {
	tier.NotShort(f)
	for _, file := range recordedRuns(f) {
		f.Add(file)
		f.Add(stepText.ReplaceAll(file, []byte(`$1\u001b[2J\u202e`))) // control characters for a terminal
	}
	for _, text := range hostileTraces() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if settle := settleOf(file); len(file) > fuzzInput || settle > fuzzSettle && settle <= trace.MaxSettle {
			t.Skip()
		}
		dir := t.TempDir()
		t.Chdir(dir)
		name := filepath.Join(dir, "x.trace")
		if err := os.WriteFile(name, repaired(file), 0o666); err != nil {
			t.Fatal(err)
		}
		commands := [][]string{
			{"explain", "--html", filepath.Join(dir, "x.html"), "--shiviz", filepath.Join(dir, "x.log"),
				"--markdown", filepath.Join(dir, "x.md")},
			{"replay"},
			{"replay", "--log", "1"},
			{"replay", "--state", "1"},
			{"replay", "--until", "1"},
			{"replay", "--script", filepath.Join(dir, "x.sh")},
			{"shrink", "--attempts", "30", "--for", "5s", "--out", filepath.Join(dir, "small.trace")},
		}
		if _, err := trace.ReadFile(name); err != nil { // all commands report this error alike
			commands = commands[len(file)%len(commands):][:1]
		}
		for _, args := range commands {
			if err := open(name, args...); err != nil {
				t.Errorf("%s: %v", args[0], err)
			}
		}
		if _, err := os.Stat("executed"); err == nil {
			t.Error("a program was started")
		}
	})
}

// Traces within all limits that are large and made to be slow: each command still ends soon.
func TestLargeTraces(t *testing.T) {
	tier.NotShort(t)
	header := `{"lockstep":4,"tool":"x","target":"smr-bug","options":{"nodes":"3"},"strategy":"s","seed":1,"run":0,"nodes":3}` + "\n" + `{"step":0,"do":"start"}` + "\n"
	values := make([]string, 1000)
	for i := range values {
		values[i] = strings.Repeat("a", 2000+i)
	}
	list, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	steps := func(n int) (text string, about string) {
		var b, numbers strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `{"step":%d,"do":"timer","node":%d}`+"\n", i+1, i%3+1)
			fmt.Fprintf(&numbers, "%d,", i)
		}
		return b.String(), "[" + numbers.String() + "0]"
	}
	long, about := steps(tier.Pick(30_000, 90_000))
	for name, c := range map[string][2]string{
		"values that are almost valid": {header +
			strings.Repeat(`{"event":"x","node":1,"text":"`+strings.Repeat("a", 4000)+`b"}`+"\n", 2000),
			`,"nodes":[1],"values":` + string(list)},
		"about every step": {header + long, `,"about":` + about},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			text := c[0] + `{"verdict":"fail","finding":{"property":"prefix","text":"t","step":0` + c[1] +
				`},"steps":0,"lines":0}`
			if err := os.WriteFile("x.trace", repaired([]byte(text)), 0o666); err != nil {
				t.Fatal(err)
			}
			if _, err := trace.ReadFile("x.trace"); err != nil {
				t.Fatalf("%.300v", err)
			}
			for _, args := range [][]string{{"explain", "--html", "x.html"}, {"replay"}, {"shrink"}} {
				if err := open("x.trace", args...); err != nil {
					t.Errorf("%s: %v", args[0], err)
				}
			}
		})
	}
}
