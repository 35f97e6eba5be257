package artifact_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/artifact"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/replay"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// buggy is a plan with a finding.
var buggy = lockstep.Plan{System: smr.Cluster{Nodes: 3, Bug: true}, Strategy: strategy.DefaultWalk, Spec: smr.Prefix}

// found is the first finding of the plan.
func found(t *testing.T) *trace.Trace {
	t.Helper()
	result, err := lockstep.Explore(t.Context(), buggy)
	if err != nil || result.First() == nil {
		t.Fatal(result, err)
	}
	return result.First().Trace
}

// All stored files are usable: the traces replay, and the page shows all three views and the command.
func TestRun(t *testing.T) {
	tier.NotShort(t)
	dir := filepath.Join(t.TempDir(), "not", "there")
	run := found(t)
	k, err := artifact.Run(t.Context(), buggy, run,
		artifact.Options{Dir: dir, Found: true, Replay: func(file string) string { return "replay " + file }})
	if err != nil || k.Shrunk == nil || k.Form == nil || len(k.Form.Rounds) == 0 ||
		len(k.Trace.Records) >= len(run.Records) {
		t.Fatalf("%+v, %v", k, err)
	}
	base := filepath.Join(dir, "smr-bug-prefix-seed0-run"+fmt.Sprint(run.Header.Run))
	for _, file := range []string{base + ".trace", base + ".found.trace"} {
		stored, err := trace.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := replay.Run(t.Context(), buggy, stored); err != nil || again.Difference != "" ||
			again.Trace.Outcome.Verdict != trace.Fail {
			t.Errorf("%s: %+v, %v", file, again, err)
		}
	}
	page, err := os.ReadFile(k.Page)
	for _, want := range []string{"lock-step form", "shrunk", "replay " + base + ".trace"} {
		if err != nil || !strings.Contains(string(page), want) {
			t.Errorf("%q is not on the page %s: %v", want, k.Page, err)
		}
	}
}

// Run reports what cannot be stored, and still returns the rest.
func TestCannotStore(t *testing.T) {
	tier.NotShort(t)
	full := errors.New("disk full")
	for _, c := range []struct{ what, fails string }{
		{"trace", ".trace"},
		{"page", ".html"},
		{"the found run", ".found.trace"},
	} {
		var stored []string
		k, err := artifact.Run(
			t.Context(),
			buggy,
			found(t),
			artifact.Options{Dir: "d", Name: "n", Found: true, Write: func(file string, _ func(io.Writer) error) error {
				if file == filepath.Join("d", "n"+c.fails) {
					return full
				}
				stored = append(stored, file)
				return nil
			}},
		)
		if !errors.Is(err, full) || k.Trace == nil || k.Form == nil {
			t.Errorf("%s: %v", c.what, err)
		}
		if (k.File == "") != (c.fails == ".trace") || (k.Page == "") != (c.fails != ".found.trace") ||
			slices.Contains(stored, "d/n"+c.fails) {
			t.Errorf("%s: file %q, page %q, stored %q", c.what, k.File, k.Page, stored)
		}
	}
}

// A run that does not fail again is kept unchanged, with the reason.
func TestNotShrunk(t *testing.T) {
	plan := buggy
	plan.Spec = nil
	k, err := artifact.Run(t.Context(), plan, found(t), artifact.Options{Dir: t.TempDir()})
	if err != nil || k.NotShrunk == nil || k.Shrunk != nil || k.File == "" {
		t.Errorf("%+v, %v", k, err)
	}
}

// A file is complete under its name or does not exist.
func TestWriteFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write := func(text string, fails error) error {
		return artifact.WriteFile(file, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return errors.Join(err, fails)
		})
	}
	broken := errors.New("broken")
	if err := write("first", nil); err != nil {
		t.Fatal(err)
	}
	if err := write("half of the sec", broken); !errors.Is(err, broken) {
		t.Error(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "first" {
		t.Errorf("%q, %v", text, err)
	}
	if left, _ := os.ReadDir(filepath.Dir(file)); len(left) != 1 {
		t.Errorf("%d files are left", len(left))
	}
}

func ExampleMakeDir() {
	dir, _ := os.MkdirTemp("", "keep-*")
	defer os.RemoveAll(dir)
	fmt.Println(artifact.MakeDir(filepath.Join(dir, "a", "b")))
	// Output: <nil>
}

func ExampleRun() {
	result, _ := lockstep.Explore(context.Background(), buggy)
	dir, _ := os.MkdirTemp("", "keep-*")
	defer os.RemoveAll(dir)
	k, err := artifact.Run(context.Background(), buggy, result.First().Trace, artifact.Options{Dir: dir})
	fmt.Println(filepath.Base(k.File), filepath.Base(k.Page), err)
	fmt.Println("from", k.Shrunk.Was)
	fmt.Println("to", k.Shrunk.Is)
	// Output:
	// smr-bug-prefix-seed0-run12.trace smr-bug-prefix-seed0-run12.html <nil>
	// from 198 steps, 20 messages lost
	// to 20 steps, 0 messages lost
}

func ExampleForm() {
	result, _ := lockstep.Explore(context.Background(), buggy)
	form, note := artifact.Form(context.Background(), buggy, result.First().Trace)
	fmt.Println(len(form.Rounds) > 0, note)
	// Output: true equivalent lock-step form, 55 deliveries that changed nothing shown as lost
}

func ExampleTrace() {
	t := &trace.Trace{
		Header:   trace.Header{Nodes: 1},
		Outcome:  trace.Outcome{Verdict: trace.Pass},
		Pictures: []trace.Picture{{Name: "history.html"}},
	}
	err := artifact.Trace(func(file string, _ func(io.Writer) error) error { fmt.Println(file); return nil },
		"run.trace", t)
	fmt.Println(err)
	// Output:
	// run.trace
	// run-history.html
	// <nil>
}

func ExampleNameOf() {
	t := &trace.Trace{Header: trace.Header{Target: "my raft", Seed: 7, Run: 12},
		Outcome: trace.Outcome{Finding: &trace.Finding{Property: "log matching"}}}
	fmt.Println(artifact.NameOf(t))
	// Output: my_raft-log_matching-seed7-run12
}

func ExampleSafeName() {
	fmt.Println(artifact.SafeName("a/b: c*"))
	// Output: a_b__c_
}

func ExampleWriteFile() {
	dir, _ := os.MkdirTemp("", "keep-*")
	defer os.RemoveAll(dir)
	err := artifact.WriteFile(filepath.Join(dir, "note"), func(w io.Writer) error {
		_, err := fmt.Fprintln(w, "hello")
		return err
	})
	text, _ := os.ReadFile(filepath.Join(dir, "note"))
	fmt.Print(string(text), err)
	// Output:
	// hello
	// <nil>
}

func ExampleNameOfRun() {
	t := &trace.Trace{Header: trace.Header{Target: "smr", Seed: 7}}
	fmt.Println(artifact.NameOfRun(t, 41))
	// Output: smr-pass-seed7-run41
}

// Findings of other versions, scenarios, options or strategies do not overwrite each other's files; the same finding
// does.
func TestUniqueNames(t *testing.T) {
	dir, names := t.TempDir(), map[string]bool{}
	store := func(h trace.Header) string {
		h.Target, h.Nodes = "zookeeper", 3
		found := &trace.Trace{
			Header:  h,
			Outcome: trace.Outcome{Verdict: trace.Fail, Finding: &trace.Finding{Property: "equal-data"}},
		}
		k, err := artifact.Run(t.Context(), buggy, found, artifact.Options{Dir: dir, NoShrink: true})
		if err != nil {
			t.Fatal(err)
		}
		return filepath.Base(k.File)
	}
	headers := []trace.Header{
		{Options: map[string]string{"version": "3.5.8"}},
		{Options: map[string]string{"version": "3.9.5"}},
		{Options: map[string]string{"version": "3.9.5"}, Scenario: "divergence"},
		{Options: map[string]string{"version": "3.9.5", "warm": "true"}},
		{Options: map[string]string{"version": "3.9.5"}, Strategy: "walk"},
		{Options: map[string]string{"version": "3.9.5"}, Build: "v2"},
	}
	for range 2 {
		for _, h := range headers {
			names[store(h)] = true
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.trace"))
	if err != nil || len(files) != len(headers) || len(names) != len(headers) {
		t.Errorf("%d findings are in %q, %v", len(headers), files, err)
	}
	for _, want := range []string{
		"zookeeper-3.5.8-equal-data-seed0-run0.trace",
		"zookeeper-3.9.5-divergence-equal-data-seed0-run0.trace",
	} {
		if !names[want] {
			t.Errorf("%s is not in %v", want, names)
		}
	}
}

func ExampleNameIn() {
	dir, _ := os.MkdirTemp("", "keep-*")
	defer os.RemoveAll(dir)
	t := &trace.Trace{
		Header:  trace.Header{Target: "raft", Nodes: 3, Strategy: "walk"},
		Outcome: trace.Outcome{Verdict: trace.Pass},
	}
	fmt.Println(artifact.NameIn(dir, t, 41))
	_ = artifact.Trace(artifact.WriteFile, filepath.Join(dir, artifact.NameIn(dir, t, 41)+".trace"), t)
	t.Header.Strategy = "pctcp"
	fmt.Println(artifact.NameIn(dir, t, 41))
	// Output:
	// raft-pass-seed0-run41
	// raft-pass-seed0-run41-4ca3
}

// The page links the pictures of the spec, which are stored beside it.
func TestPageLinksPictures(t *testing.T) {
	run := found(t)
	run.Pictures = []trace.Picture{{Name: "history.html", Data: []byte("a history")}}
	k, err := artifact.Run(t.Context(), buggy, run, artifact.Options{Dir: t.TempDir(), Name: "run", NoShrink: true})
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(k.Page)
	if err != nil || !strings.Contains(string(page), `<a href="./run-history.html">`) {
		t.Errorf("the page does not link the history: %v", err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(k.Page), "run-history.html")); err != nil {
		t.Error(err)
	}
}

// A picture is stored beside its trace, whatever its name is.
func TestPictureNames(t *testing.T) {
	for _, name := range []string{"/../../../evil", "../evil", `..\evil`, "/etc/evil", "a\nb", ""} {
		root := t.TempDir()
		dir := filepath.Join(root, "one", "two", "three", "out")
		run := found(t)
		run.Pictures = []trace.Picture{{Name: name, Data: []byte("evil")}}
		k, err := artifact.Run(t.Context(), buggy, run, artifact.Options{Dir: dir, Name: "run", NoShrink: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(k.Pictures) != 1 || filepath.Dir(k.Pictures[0]) != dir {
			t.Errorf("%q is stored as %q", name, k.Pictures)
		}
		for at := dir; at != root; at = filepath.Dir(at) {
			if list, err := os.ReadDir(filepath.Dir(at)); err != nil || len(list) != 1 {
				t.Errorf("%q: %v in %s, %v", name, list, filepath.Dir(at), err)
			}
		}
	}
}

// The original run is stored before shrinking starts, whatever happens later. When the time limit expires, the smallest
// run so far is used.
func TestStoredBefore(t *testing.T) {
	run := found(t)
	var first *trace.Trace
	_, err := artifact.Run(t.Context(), buggy, run, artifact.Options{Dir: t.TempDir(), Name: "run", ShrinkFor: 1,
		Write: func(file string, content func(io.Writer) error) error {
			err := artifact.WriteFile(file, content)
			if first == nil && err == nil {
				first, err = trace.ReadFile(file)
			}
			return err
		}})
	if err != nil {
		t.Fatal(err)
	}
	if first == nil || len(first.Records) != len(run.Records) {
		t.Errorf("stored first: %v", first)
	}
}

func ExampleShrink() {
	result, err := lockstep.Explore(context.Background(), buggy)
	if err != nil {
		fmt.Println(err)
		return
	}
	small, err := artifact.Shrink(context.Background(), buggy, result.First().Trace, shrink.Options{}, time.Minute)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(small.Trace.Records) < len(result.First().Trace.Records))
	// Output: true
}

// For any name of a run, its file names are valid in every file system, and different runs have different names.
func TestNamesAreBounded(t *testing.T) {
	long := strings.Repeat("é/", 300)
	dir := t.TempDir()
	seen := map[string]bool{}
	for _, property := range []string{"p", long + "a", long + "b", "-rf", "..", "\x1b[2J", "\xff"} {
		run := &trace.Trace{
			Header:  trace.Header{Target: long[:50] + property, Nodes: 1},
			Outcome: trace.Outcome{Verdict: trace.Fail, Finding: &trace.Finding{Property: property}},
			Pictures: []trace.Picture{
				{Name: "../../" + property + ".html"},
				{Name: long + ".html"},
				{Name: "x." + long},
			},
		}
		name := artifact.NameOf(run)
		if len(name) > artifact.MaxName || !utf8.ValidString(name) || seen[name] || strings.ContainsAny(name, "/\x1b") {
			t.Errorf("%q: the name %q of %d bytes", property, name, len(name))
		}
		seen[name] = true
		var files []string
		err := artifact.Trace(func(file string, _ func(io.Writer) error) error {
			files = append(files, file)
			return os.WriteFile(file, nil, 0o666)
		}, filepath.Join(dir, name+".trace"), run)
		if err != nil || len(files) != 4 {
			t.Fatalf("%q: %v", files, err)
		}
		for _, file := range files {
			if filepath.Dir(file) != dir || len(filepath.Base(file)) > 200 {
				t.Errorf("%q has %d bytes", file, len(filepath.Base(file)))
			}
		}
	}
	for text, want := range map[string]string{"-rf": "_rf", "..": "_.", "a b": "a_b"} {
		if got := artifact.SafeName(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
