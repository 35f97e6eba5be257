package script_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/kit/script"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

func ExampleWriter() {
	var w script.Writer
	w.Text("#!/bin/sh\n")
	w.Line(100e6, "put %s", script.Argument("it's"))
	w.Line(110e6, "kill -9 \"$pid\"")
	w.Line(400e6, "put %s", script.Argument("b"))
	w.End(&trace.Trace{Outcome: trace.Outcome{Finding: &trace.Finding{Property: "stay", Text: "b is\nmissing"}}})
	fmt.Print(w.String())
	// Output:
	// #!/bin/sh
	// put 'it'\''s'
	// kill -9 "$pid"
	// sleep 0.29
	// put b
	// # expected: stay: b is?missing
	// wait
}

// An argument stays one argument, whatever it has, and its characters are those of the text.
func TestArgument(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	for _, text := range []string{"", "a", "a b", "$(echo x)", "`echo x`", "a;b", "a&b", "a|b", `a\`, "'", `"`, "a'b'c", "*",
		"#", "~", "a>b", "!!", "{a,b}", "$HOME", "é", "a\tb"} {
		out, err := exec.Command(shell, "-c", "printf '%s\\n' "+script.Argument(text)+" end").Output()
		if want := strings.ReplaceAll(text, "\t", "?") + "\nend\n"; err != nil || string(out) != want {
			t.Errorf("%q became %q: %v", text, out, err)
		}
	}
	if strings.Contains(script.Argument("a\nb"), "\n") {
		t.Error("a text became two lines")
	}
}

func TestIsFlag(t *testing.T) {
	if !script.IsFlag("--exec=x") || !script.IsFlag("-") || script.IsFlag("a-b") || script.IsFlag("") {
		t.Error("options are not recognized")
	}
}

// An operation is answered if its client's next return follows; the last call of a client may stay open.
func TestAnswered(t *testing.T) {
	run := &trace.Trace{}
	for _, e := range []trace.Event{
		{},
		{Type: spec.EventCall, Text: "c1 put a=1"},
		{Type: spec.EventCall, Text: "c2 get a"},
		{Type: spec.EventReturn, Text: "c1 is 1"},
		{Type: spec.EventCall, Text: "c1 put a=2"},
	} {
		run.Records = append(run.Records, trace.Record{Events: []trace.Event{e}})
	}
	if got := script.Answered(run); !got[1] || got[2] || got[4] {
		t.Errorf("%v", got)
	}
}
