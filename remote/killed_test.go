package remote_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/artifact"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	self "github.com/lockstep-go/lockstep/internal/testkit/processes"
	"github.com/lockstep-go/lockstep/trace"
)

const markVariable = "LOCKSTEP_TEST_MARK"

// campaign produces a finding, stores it, and continues indefinitely.
func campaign() {
	plan := lockstep.Plan{
		System:   processes("elector"),
		Spec:     oneLeader,
		Strategy: crashes,
		Runs:     500,
		Steps:    60,
		Workers:  2,
	}
	result, err := lockstep.Explore(context.Background(), plan)
	if err != nil {
		panic(err)
	}
	k, err := artifact.Run(context.Background(), plan, result.First().Trace,
		artifact.Options{Dir: os.Getenv(markVariable), NoShrink: true})
	if err != nil {
		panic(err)
	}
	fmt.Println(k.File)
	plan.KeepGoing, plan.Runs = true, 1_000_000_000
	_, _ = lockstep.Explore(context.Background(), plan)
}

// marked returns the processes that have a mark in their environment.
func marked(mark string) (pids []int) {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range environments {
		b, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(b, []byte(markVariable+"="+mark+"\x00")) {
			continue
		}
		if pid, err := strconv.Atoi(strings.Split(file, "/")[2]); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// A tester that is killed in the middle of a campaign leaves no replica running, and its findings are stored.
func TestKilledTester(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are looked for in /proc")
	}
	mark := t.TempDir()
	program := self.Begin(t, replicaVariable+"=campaign", markVariable+"="+mark)
	file := program.Line()
	self.Until(func() bool { return len(marked(mark)) >= 7 }) // two workers' replicas, and the tester
	program.Kill()
	self.Until(func() bool { return len(marked(mark)) == 0 })
	found, err := trace.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	plan := lockstep.Plan{System: processes("elector"), Spec: oneLeader, Strategy: crashes, Steps: 60}
	enginetest.FailsAgain(t, plan, found)
}
