package artifact

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// freshVariable is set in a process that reruns a run. Its value is the file for the recording.
const freshVariable = "LOCKSTEP_FRESH"

// Fresh reruns a stored run in a fresh process, if the system's determinism should be rechecked. The command replays
// the file in which the run is stored, and calls [Replayed]; nil disables the rerun. Fresh returns the result as text,
// and whether the run differed.
func Fresh(ctx context.Context, plan lockstep.Plan, t *trace.Trace, file string,
	command func(file string) []string) (text string, differs bool) {
	info, err := plan.System.Describe()
	if err != nil || info.Recheck == 0 || command == nil || file == "" || os.Getenv(freshVariable) != "" {
		return "", false
	}
	difference, err := again(ctx, t, command(file))
	switch {
	case err != nil:
		return fmt.Sprintf("it could not be rerun in a fresh process: %v", err), false
	case difference != "":
		return "rerun in a fresh process it was different: " + difference, true
	}
	return "rerun in a fresh process it was the same, byte for byte", false
}

// again runs a command that replays a trace, and compares its recording with the trace.
func again(ctx context.Context, t *trace.Trace, command []string) (difference string, err error) {
	dir, err := os.MkdirTemp("", "lockstep-fresh-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "again.trace")
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Env = append(os.Environ(), freshVariable+"="+file)
	out, failed := c.CombinedOutput() // an error is normal: the run fails again
	other, err := trace.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%w (%w)\n%s", err, failed, out)
	}
	var was, is bytes.Buffer
	if err := trace.Write(&was, withoutLogs(t)); err != nil {
		return "", err
	}
	if err := trace.Write(&is, withoutLogs(other)); err != nil {
		return "", err
	}
	if bytes.Equal(was.Bytes(), is.Bytes()) {
		return "", nil
	}
	if d := trace.Difference(t, other); d != "" {
		return d, nil
	}
	return "in what is not about steps", nil
}

// withoutLogs is a run without its log lines, which may name what differs between processes.
func withoutLogs(t *trace.Trace) *trace.Trace {
	bare := *t
	bare.Records = slices.Clone(t.Records)
	for i := range bare.Records {
		bare.Records[i].Logs = nil
	}
	return &bare
}

// Replayed must be called after a run was replayed. In a fresh process it passes the recording to the parent process.
func Replayed(t *trace.Trace) error {
	file := os.Getenv(freshVariable)
	if file == "" {
		return nil
	}
	if _, err := os.Lstat(file); err == nil { // the parent process created a new directory
		return fmt.Errorf("%s names %s, which already exists; the variable is reserved",
			freshVariable, file)
	}
	return WriteFile(file, func(w io.Writer) error { return trace.Write(w, t) })
}
