// Package processes starts the program of a test again: in several processes, to see that
// something comes out alike in all of them, or as another program, to be killed.
package processes

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// The environment of a process that is started by Same, and the number of processes that it
// starts where that is not the usual one.
const (
	child   = "LOCKSTEP_PROCESS"
	howMany = "LOCKSTEP_PROCESSES"
	times   = "LOCKSTEP_TIMES"
)

// usual is the number of processes.
const usual = 4

// mark begins the lines that are compared.
const mark = "same> "

// Same runs the test that calls it in several processes at once, which is some load for the
// machine, and wants the lines that tell returns to be the same in all of them. It is told the
// number of its process, from 1.
func Same(t *testing.T, tell func(process int) []string) {
	t.Helper()
	if number, err := strconv.Atoi(os.Getenv(child)); err == nil {
		for _, line := range tell(number) {
			fmt.Println(mark + line)
		}
		return
	}
	first := ""
	for i, out := range run(t) {
		var lines strings.Builder
		for line := range strings.Lines(out) {
			if text, ok := strings.CutPrefix(line, mark); ok {
				lines.WriteString(text)
			}
		}
		switch text := lines.String(); {
		case text == "":
			t.Fatalf("process %d told nothing:\n%s", i, out)
		case i == 0:
			first = text
		case text != first:
			t.Errorf("process %d:\n%sprocess 0:\n%s", i, text, first)
		}
	}
	t.Logf("%d processes:\n%s", count(), first)
}

// count is the number of processes.
func count() int {
	if n, err := strconv.Atoi(os.Getenv(howMany)); err == nil && n > 0 {
		return n
	}
	return usual
}

// Times is how often each process is to make the runs that are compared: once, unless LOCKSTEP_TIMES says more.
func Times() int {
	if n, err := strconv.Atoi(os.Getenv(times)); err == nil && n > 0 {
		return n
	}
	return 1
}

// run starts the processes, waits for all, and returns what they printed.
func run(t *testing.T) []string {
	t.Helper()
	commands, outputs := make([]*exec.Cmd, count()), make([]strings.Builder, count())
	for i := range commands {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.count=1")
		c.Env = append(os.Environ(), fmt.Sprint(child, "=", i+1))
		c.Stdout, c.Stderr = &outputs[i], &outputs[i]
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		commands[i] = c
	}
	texts := make([]string, len(commands))
	for i, c := range commands {
		if err := c.Wait(); err != nil {
			t.Errorf("process %d: %v", i, err)
		}
		texts[i] = outputs[i].String()
	}
	return texts
}

// Passes runs the test that calls it in another process, logs what it prints, and reports whether
// it passes there.
func Passes(t *testing.T) bool {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.count=1").
		CombinedOutput()
	t.Logf("in another process: %s", out)
	return err == nil
}
