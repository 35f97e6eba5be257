package keep

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// freshVariable tells a process that it is one in which a run is made again, and the file where the
// recording is to go.
const freshVariable = "LOCKSTEP_FRESH"

// fresh makes the stored run again in a process of its own, where the system's repetition had
// better be checked, and says what came of it, and whether it was different.
func (k *Kept) fresh(ctx context.Context, plan lockstep.Plan, o Options) (text string, differs bool) {
	info, err := plan.System.Describe()
	if err != nil || info.Recheck == 0 || o.Fresh == nil || k.File == "" || os.Getenv(freshVariable) != "" {
		return "", false
	}
	difference, err := again(ctx, k.Trace, o.Fresh(k.File))
	switch {
	case err != nil:
		return fmt.Sprintf("it could not be made again in a fresh process: %v", err), false
	case difference != "":
		return "made again in a fresh process it was different: " + difference, true
	}
	return "made again in a fresh process it was the same, byte for byte", false
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
	out, failed := c.CombinedOutput() // as a rule: the run fails again
	other, err := trace.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%w (%w)\n%s", err, failed, out)
	}
	var was, is bytes.Buffer
	if err := trace.Write(&was, t); err != nil {
		return "", err
	}
	if err := trace.Write(&is, other); err != nil {
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

// Replayed is to be called by whoever replayed a run. In a fresh process it hands the recording
// over to the one that started it.
func Replayed(t *trace.Trace) error {
	file := os.Getenv(freshVariable)
	if file == "" {
		return nil
	}
	if _, err := os.Lstat(file); err == nil { // the one that started this process made a new folder
		return fmt.Errorf("%s names %s, which is there already; the variable is for the program's own use", freshVariable, file)
	}
	return WriteFile(file, func(w io.Writer) error { return trace.Write(w, t) })
}
