package fleet

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A plan is untrusted input. It names what is registered and listed. Unless the user's own flags allow it, it starts no
// programs, builds no packages and writes no files elsewhere.
func TestPlanNames(t *testing.T) {
	dir := t.TempDir()
	evil := filepath.Join(dir, "evil.sh")
	if err := os.WriteFile(evil, []byte("#!/bin/sh\ntouch "+filepath.Join(dir, "executed")+"\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	hostile := filepath.Join(dir, "hostile.trace")
	if err := os.WriteFile(hostile, []byte(`{"lockstep":4,"tool":"x","target":"maelstrom","options":{"bin":"`+evil+`","workload":"echo","nodes":"3","topology":"grid"},"strategy":"s","seed":1,"run":0,"nodes":3}
{"step":0,"do":"start"}
{"verdict":"pass","steps":0,"lines":2}
`), 0o666); err != nil {
		t.Fatal(err)
	}
	start := "{target: maelstrom, runs: 1, set: [workload=echo, 'bin=" + evil + "']}"
	for _, c := range []struct {
		plan  string
		flags []string
		want  string
	}{
		{
			"campaigns: [{target: ./evil, runs: 1}]", nil,
			`the target "./evil" is a package, and a file may name only registered targets (smr, smr-bug, maelstrom): give --program ./evil`,
		},
		{"campaigns: [{target: ./evil, runs: 1}]", []string{"--program", "./other"}, "give --program ./evil"},
		{"campaigns: [{target: ./evil, runs: 1}]", []string{"--program", "./evil"}, "there is no package to build"},
		{"campaigns: [{target: '-toolexec=/bin/sh', runs: 1}]", nil, `campaigns[0]: "-toolexec=/bin/sh": allowed are`},
		{
			"campaigns: [{target: smr, runs: 1, strategies: ['--report=/tmp/x']}]", nil,
			`campaigns[0]: "--report=/tmp/x": allowed are`,
		},
		{"campaigns: [{target: smr, runs: 1, set: ['-x=1']}]", nil, `campaigns[0]: "-x=1": allowed are`},
		{
			"campaigns: [" + start + "]",
			nil,
			"bin=" + evil + " names a program to start, which a trace or plan must not choose: give --set bin=" + evil,
		},
		{"campaigns: [" + start + "]", []string{"--set", "bin=./other"}, "give --set bin=" + evil},
		{
			"regressions: [/dev/zero]\ncampaigns: [{target: smr, runs: 1}]", nil,
			"regressions: /dev/zero: /dev/zero is not a regular file",
		},
		{
			"baseline: /etc/evil.json\ncampaigns: [{target: smr, runs: 1}]", nil,
			"baseline is /etc/evil.json, allowed is a .json file below the working directory",
		},
		{"baseline: ../evil.json\ncampaigns: [{target: smr, runs: 1}]", nil, "give --baseline to write another"},
		{"baseline: .profile\ncampaigns: [{target: smr, runs: 1}]", nil, "give --baseline to write another"},
	} {
		file := planFile(t, "name: x\n"+c.plan+"\n")
		args := append([]string{"fleet", "run", file, "--fleet", "nats://user@127.0.0.1:1"}, c.flags...)
		cmd := command(t, args...)
		text, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(text), c.want) ||
			strings.Count(string(text), "\n") > 2 {
			t.Errorf("%s %q: status %d:\n%s", c.plan, c.flags, cmd.ProcessState.ExitCode(), text)
		}
	}
	f := newFixture(t, 1)
	cmd := command(t, "fleet", "run",
		planFile(t, "name: x\nregressions: ["+hostile+"]\ncampaigns: [{target: smr, runs: 1}]\n"), "--fleet", f.url,
		"--token-file", f.tokenFile())
	text, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(text), "give --set bin="+evil+" to allow it") {
		t.Errorf("the regression: status %d:\n%s", cmd.ProcessState.ExitCode(), text)
	}
	if _, err := os.Stat(filepath.Join(dir, "executed")); err == nil {
		t.Error("a program was started that a plan or its trace named")
	}
}

// measured reads a plan and returns the time and the memory that it took.
func measured(text string) (took time.Duration, allocated uint64, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	p, err := parsePlan(strings.NewReader(text))
	if err == nil {
		p.elsewhere()
	}
	runtime.ReadMemStats(&after)
	return time.Since(begin), after.TotalAlloc - before.TotalAlloc, err
}

// bomb returns a text whose aliases stand for as many values as there are atoms in the universe.
func bomb() string {
	text := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'i'; c++ {
		text += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.Repeat(fmt.Sprintf("*%c,", c-1), 10))
	}
	return text + "regressions: *h\n"
}

// hostilePlans returns plans that take much time or memory, or that no user means, with the error text.
func hostilePlans() map[string]string {
	good := "name: x\ncampaigns: [{target: smr, runs: 1}]\n"
	return map[string]string{
		strings.Repeat("[", 100_000):            "line 1: lists and maps are nested more than 16 deep",
		"\n\n" + strings.Repeat("{a: ", 25_000): "line 3: lists and maps are nested more than 16 deep",
		strings.Repeat("- ", 50_000):            "line 1: lists and maps are nested more than 16 deep",
		bomb():                                  "a plan has no anchors",
		"name: !!binary x\n":                    "a plan has no anchors",
		good + strings.Repeat("# x\n", 100_000): "a plan has at most 262144 bytes",
		"name: x\ncampaigns: [{target: smr, runs: 1, seeds: [" + strings.Repeat("1,", 1001) +
			"]}]": "there are more than 1000 campaigns",
		"name: x\nstop: {failure-rate: 1e-300}\ncampaigns: [{target: smr}]": "stop.failure-rate is 1e-300, " +
			"allowed is 0 (no rule), or 1e-09 and more",
		"name: x\ncampaigns: [{target: smr, runs: 9000000000000000000}]": "campaigns[0]: allowed are " +
			"2147483647 runs, 1000000 steps and 64 nodes",
		"name: x\ncampaigns: [{target: smr, runs: 1, steps: 9000000000000000000}]": "campaigns[0]: allowed are",
		"name: x\ncampaigns: [{target: " + strings.Repeat("s", 5000) +
			", runs: 1}]": "campaigns[0]: \"ssss",
		"name: x\ncampaigns: [{target: \"a\\e[2Jb\", runs: 1}]": "campaigns[0]: \"a\\x1b[2Jb\"",
		"name: x\nregressions: [" + strings.Repeat("a,", 1001) +
			"]\ncampaigns: [{target: smr, runs: 1}]": "regressions has 1001 patterns, allowed are 1000",
		"name: x\ncampaigns: [" + strings.Repeat("{target: smr, runs: -1},", 100) +
			"]": "90 things more are wrong",
	}
}

// Plans that are made to take memory and time are refused at once.
func TestHostilePlans(t *testing.T) {
	for text, want := range hostilePlans() {
		took, allocated, err := measured(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %.300v, want %q", text, err, want)
		}
		if took > 10*time.Second || allocated > 256<<20 {
			t.Errorf("%.60q: %v, %d MB", text, took, allocated>>20)
		}
	}
}

// FuzzPlan reads plans: none takes much time or memory, and an accepted plan can be given to a fleet.
func FuzzPlan(f *testing.F) {
	for text := range hostilePlans() {
		if len(text) < 10_000 {
			f.Add(text)
		}
	}
	f.Add(
		"name: nightly\nfor: 5h\nstop: {confidence: 0.95, failure-rate: 1e-6}\nbaseline: baseline.json\nregressions: " +
			"[\"traces/*.trace\"]\n" +
			"campaigns:\n  - {name: log, target: smr, strategies: [uniform, walk]}\n  - {name: etcd, target: etcdraft, " +
			"set: [version=v3.6.0], seeds: [1, 2], nodes: 3, steps: 10, runs: 7}\n",
	)
	f.Add("name: x\ncampaigns:\n- target: smr\n  runs: 1\n  set:\n  - a=b\n")
	f.Add(strings.Repeat("[", 1000))
	f.Fuzz(func(t *testing.T, text string) {
		took, allocated, err := measured(text)
		if took > 10*time.Second || allocated > 64<<20+1000*uint64(len(text)) {
			t.Fatalf("%d bytes took %v and %d MB", len(text), took, allocated>>20)
		}
		if err != nil {
			if err.Error() == "" || len(err.Error()) > 100_000 {
				t.Fatalf("the error has %d bytes", len(err.Error()))
			}
			return
		}
		p, _ := parsePlan(strings.NewReader(text))
		list, names := p.elsewhere()
		if len(list) == 0 || len(list) > maxPlanCampaigns || len(names) != len(list) {
			t.Fatalf("%d campaigns, %d names", len(list), len(names))
		}
		for _, x := range list {
			if strings.HasPrefix(x.Args[1], "-") || x.Args[1] != x.Target {
				t.Fatalf("%q", x.Args)
			}
		}
	})
}
