package etcdserver

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// A draft has the operations of clients and of the operator, kills and restarts, in the order of the run and with its
// pauses. It says what a script cannot do.
func TestScript(t *testing.T) {
	const ms = 1_000_000
	run := &trace.Trace{Header: trace.Header{Target: "etcdserver", Nodes: 2, Options: map[string]string{"snapshots": "5"}},
		Records: []trace.Record{{}}}
	add := func(r trace.Record) {
		r.Number = len(run.Records)
		run.Records = append(run.Records, r)
	}
	add(trace.Record{Step: trace.Step{Kind: trace.Request, Node: 1, Request: 1}, Now: 100 * ms,
		Events: []trace.Event{{Type: spec.EventCall, Text: "c1 put a=3"}}})
	add(trace.Record{Step: trace.Step{Kind: trace.Wait, For: 1}, Now: 110 * ms,
		Events: []trace.Event{{Type: spec.EventReturn, Node: 1, Text: "c1 is 3"}}})
	add(trace.Record{Step: trace.Step{Kind: trace.Request, Node: 2, Request: 1}, Now: 400 * ms,
		Events: []trace.Event{{Type: spec.EventCall, Text: "c2 delete a"}},
		Logs: []trace.Log{
			{Source: trace.LogOperator, Node: 2, At: 400 * ms, Text: "Compact up to revision 8, waiting until it is done -> ok"},
			{Source: trace.LogClient, Node: 1, At: 400 * ms,
				Text: `Watch asks for a watch of all keys from "\x00" on from revision 3 on`},
			{Source: trace.LogServer, Node: 1, At: 400 * ms, Text: "Compact up to revision 9"}}})
	add(trace.Record{Step: trace.Step{Kind: trace.Crash, Node: 2}, Now: 410 * ms,
		Events: []trace.Event{{Type: "power-failure", Node: 2, Text: "1 write lost"}}})
	add(trace.Record{Step: trace.Step{Kind: trace.Restart, Node: 2}, Now: 420 * ms})
	run.Outcome.Finding = &trace.Finding{Property: "p", Text: "broken"}
	script := Script(run)
	last := 0
	for _, want := range []string{
		"--initial-cluster m1=http://127.0.0.1:12380,m2=http://127.0.0.1:22380 --snapshot-count=5",
		"start 1\nstart 2\n",
		"ctl 1 put a 3 # c1\nsleep 0.30\n",
		"ctl 2 del a & # c2, is not answered\n",
		"ctl 2 compact 8 --physical\nctl 1 watch --prefix '' --rev=3 &\n",
		"kill -9 \"$(cat member2.pid)\"\n# the kill above is a power failure, which a script cannot cause: 1 write lost\n",
		"start 2\n# expected: p: broken\nwait\n",
	} {
		at := strings.Index(script[last:], want)
		if at < 0 {
			t.Fatalf("no %q after byte %d in\n%s", want, last, script)
		}
		last += at
	}
}

// No text of a trace becomes a command, an option or a second line: the script runs with programs that do nothing, and
// whatever else a text could run would create a file.
func TestScriptOfHostileTrace(t *testing.T) {
	option := regexp.MustCompile(` ['"]?-`)
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	dir := t.TempDir()
	var texts []string
	for _, hostile := range []string{"$(X)", "`X`", "a;X", "a&X&", "a|X", "a\nX\n", "a\rX", "a\x00\nX\n", "'\nX\n'", "';X;'",
		"\";X;\"", "\\\nX\n", "# \nX\n", "a\u2028X", "-- X", "--", "--exec=X", "a >executed", "a <(X)"} {
		texts = append(texts, strings.ReplaceAll(hostile, "X", "touch "+filepath.Join(dir, "executed")))
	}
	run := &trace.Trace{Header: trace.Header{Target: "etcdserver", Nodes: 1, Options: map[string]string{}}}
	for i, x := range texts {
		add := func(r trace.Record) {
			r.Number = len(run.Records)
			run.Records = append(run.Records, r)
		}
		if i == 0 {
			add(trace.Record{})
		}
		for _, call := range []string{"c1 put " + x + "=3", "c1 put a=" + x, "c1 get " + x, "c1 delete " + x, "c1 cas " + x,
			"c1 other " + x, x + " put a=1", x} {
			add(trace.Record{Text: x, Step: trace.Step{Kind: trace.Request, Node: 1, Request: 1},
				Events: []trace.Event{{Type: spec.EventCall, Text: call}}})
		}
		add(trace.Record{Step: trace.Step{Kind: trace.Pause, Node: 1}, Text: x,
			Events: []trace.Event{{Type: "power-failure", Text: x}},
			Logs: []trace.Log{{Source: trace.LogOperator, Node: 1, Text: x},
				{Source: trace.LogOperator, Node: 1, Text: "Compact up to revision 8" + x},
				{Source: trace.LogClient, Node: 1, Text: "Watch asks for a watch of " + x + " from now on"},
				{Source: trace.LogClient, Node: 1, Text: "Watch asks for a watch of " + x + " from revision 3 on"}}})
		run.Header.Target, run.Header.Build, run.Header.Options["snapshots"] = x, x, x
		run.Outcome.Finding = &trace.Finding{Property: x, Text: x}
		script := Script(run)
		for _, line := range strings.Split(script, "\n") {
			command, _, _ := strings.Cut(line, " # ")
			command = strings.NewReplacer(" --rev=3 &", "", " --physical", "").Replace(command)
			if strings.HasPrefix(line, "ctl ") && option.MatchString(command) {
				t.Errorf("a text is an option: %s", line)
			}
		}
		file := filepath.Join(dir, "script.sh")
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(script, "sleep 3\n", "")), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(shell, file)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "ETCD=true", "ETCDCTL=true", "TMPDIR="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%q: %v\n%s\n%s", x, err, out, script)
		}
		found, err := filepath.Glob(filepath.Join(dir, "*", "executed"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "executed")); err == nil || len(found) > 0 {
			t.Fatalf("a text of the trace was executed:\n%s", script)
		}
	}
}
