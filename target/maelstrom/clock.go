package maelstrom

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/lockstep-go/lockstep/target/maelstrom/internal/asleep"
)

// shim is the Python module that gives a program the clock. Python imports a module of this name before the program.
//
//go:embed python/sitecustomize.py
var shim []byte

const shimName = "sitecustomize.py"

// clock is the tester's end of a program's clock. Programs that do not import the shim keep the clock of the machine.
type clock struct {
	times, answers *os.File // what the tester writes and reads
	program        []*os.File
	taken          bool // the program has the clock
}

// What the shim writes: that the program has the clock, that its time is the one that it was given, and that one of
// the program's sleepers continues before that.
const (
	answerTaken  = '!'
	answerAt     = '.'
	answerBefore = '+'
)

// newClock hands a program a clock that shows now. The draws of the program follow from seed.
func newClock(cmd *exec.Cmd, dir string, now time.Duration, seed uint64) (*clock, error) {
	if !asleep.Known { // whether the program has taken the clock is seen when it sleeps
		return &clock{}, nil
	}
	shown, times, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	answers, answered, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, shown.Close(), times.Close())
	}
	cmd.ExtraFiles = []*os.File{shown, answered} // descriptors 3 and 4
	path := dir
	if more := os.Getenv("PYTHONPATH"); more != "" {
		path += string(filepath.ListSeparator) + more
	}
	cmd.Env = append(os.Environ(), "PYTHONPATH="+path, "PYTHONHASHSEED=0",
		fmt.Sprintf("LOCKSTEP_CLOCK=3,4,%d,%d", seed, now.Nanoseconds()))
	return &clock{times: times, answers: answers, program: cmd.ExtraFiles}, nil
}

// started closes the program's ends.
func (c *clock) started() {
	for _, f := range c.program {
		_ = f.Close()
	}
}

func (c *clock) close() {
	if c.times != nil {
		_, _ = c.times.Close(), c.answers.Close()
	}
}

// probe finds out whether a program that waits for input has taken the clock.
func (c *clock) probe() error {
	if c.times == nil || c.taken {
		return nil
	}
	if n, err := asleep.Waiting(c.answers); n == 0 || err != nil {
		return err
	}
	answer, err := c.answer(time.Second)
	c.taken = answer == answerTaken
	return err
}

func (c *clock) answer(timeout time.Duration) (byte, error) {
	var b [1]byte
	if err := c.answers.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return 0, err
	}
	_, err := c.answers.Read(b[:])
	return b[0], err
}

// advance moves the program's clock to a time, or to the deadline of one sleeper before it. Then the caller must call
// it again, when the program is quiescent.
func (c *clock) advance(to, timeout time.Duration) (there bool, err error) {
	if _, err := fmt.Fprintln(c.times, to.Nanoseconds()); err != nil {
		return false, fmt.Errorf("it does not follow the clock: %w", err)
	}
	switch answer, err := c.answer(timeout); {
	case errors.Is(err, io.EOF):
		return true, nil // it ends, or has ended; await reports that
	case err != nil:
		return false, fmt.Errorf("it does not follow the clock: %w", err)
	case answer == answerAt || answer == answerBefore:
		return answer == answerAt, nil
	default:
		return false, fmt.Errorf("its clock answers %q", answer)
	}
}

// seedOf is the seed of the draws of a node's incarnation.
func seedOf(run uint64, node, incarnation int) uint64 {
	return rand.New(rand.NewPCG(run, uint64(node)<<32|uint64(incarnation))).Uint64() >> 1
}

// writeShim writes the shim to a directory.
func writeShim(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, shimName), shim, 0o600)
}

// takesClock reports whether all programs that run have taken the clock.
func (d *deployment) takesClock() bool {
	for _, p := range d.nodes {
		if p != nil && !p.clock.taken {
			return false
		}
	}
	return true
}
