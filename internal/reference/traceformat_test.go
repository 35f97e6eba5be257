package reference_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/reference"
	"github.com/lockstep-go/lockstep/trace"
)

// The page about traces has every key of the format, and states its version and limits.
func TestReferenceOfTraces(t *testing.T) {
	const page = docs + "trace.md"
	keys, err := reference.TraceFormat("../../trace")
	if err != nil {
		t.Fatal(err)
	}
	if err := reference.Check(page, "keys", keys); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		fmt.Sprintf("This is version %d,", trace.Version),
		"| bytes of a file | " + thousands(trace.MaxBytes) + " |",
		"| steps | " + thousands(trace.MaxSteps) + " |",
		"| steps, rounds, effects and draws together | " + thousands(trace.MaxEntries) + " |",
		"| effects of one step | " + thousands(trace.MaxEffects) + " |",
		"| lock-step rounds | " + thousands(trace.MaxRounds) + " |",
		"| nodes | " + thousands(trace.MaxNodes) + " |",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s does not say %q", page, want)
		}
	}
	for kind := trace.Start; ; kind++ {
		word, err := kind.MarshalText()
		if err != nil {
			break
		}
		if !strings.Contains(string(text), "`"+string(word)+"`") {
			t.Errorf("%s has no action %s", page, word)
		}
	}
}

// Every key of every stored trace is on the page, and the lines that the page shows are those of a stored trace.
func TestStoredTracesFitThePage(t *testing.T) {
	text, err := os.ReadFile(docs + "trace.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../target/*/testdata/*.trace")
	if err != nil || len(files) == 0 {
		t.Fatal("no stored traces", err)
	}
	stored := map[string]bool{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for number, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
			stored[line] = true
			var keys map[string]any
			if err := json.Unmarshal([]byte(line), &keys); err != nil {
				t.Fatalf("%s:%d: %v", file, number+1, err)
			}
			for k := range keys {
				if !strings.Contains(string(text), "\n| `"+k+"` | ") {
					t.Errorf("%s:%d: the page has no key %q", file, number+1, k)
				}
			}
		}
	}
	_, example, _ := strings.Cut(string(text), "```json\n")
	example, _, _ = strings.Cut(example, "\n```")
	for _, line := range strings.Split(example, "\n") {
		if !stored[line] {
			t.Errorf("no stored trace has the line that the page shows: %s", line)
		}
	}
}

// thousands writes a number with commas.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
