// Package processes starts the program of a test again: in several processes, to check that they produce the same
// result, or as another program, to be killed.
package processes

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// The environment variables of a process that Same starts, and the variable that sets the number of processes.
const (
	child   = "LOCKSTEP_PROCESS"
	howMany = "LOCKSTEP_PROCESSES"
	times   = "LOCKSTEP_TIMES"
)

// usual is the default number of processes.
const usual = 4

// mark begins the lines that are compared.
const mark = "same> "

// Same runs the test that calls it in several processes at once, which puts load on the machine. The lines that lines
// returns must be the same in all of them. lines gets the number of its process, from 1.
func Same(t *testing.T, lines func(process int) []string) {
	t.Helper()
	if number, err := strconv.Atoi(os.Getenv(child)); err == nil {
		for _, line := range lines(number) {
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
			t.Fatalf("process %d printed nothing:\n%s", i, out)
		case i == 0:
			first = text
		case text != first:
			t.Errorf("process %d:\n%sprocess 0:\n%s", i, text, first)
		}
	}
	t.Logf("%d processes:\n%s", count(), first)
}

// count returns the number of processes.
func count() int {
	if n, err := strconv.Atoi(os.Getenv(howMany)); err == nil && n > 0 {
		return n
	}
	return usual
}

// Times returns how often each process makes the runs that are compared. The default is once; LOCKSTEP_TIMES overrides
// it.
func Times() int {
	if n, err := strconv.Atoi(os.Getenv(times)); err == nil && n > 0 {
		return n
	}
	return 1
}

// run starts the processes, waits for all, and returns their output.
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

// Passes runs the test that calls it in another process, logs its output, and reports whether it passes there.
func Passes(t *testing.T) bool {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.count=1").
		CombinedOutput()
	t.Logf("in another process: %s", out)
	return err == nil
}
