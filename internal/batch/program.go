package batch

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Program is a program that serves batches.
type Program struct {
	Hello Hello
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	said  tail
	// Taught is the first run whose lessons the program does not have, for a strategy with several lineages.
	Taught int

	once sync.Once
	end  error // its exit status
}

// mostOfLine bounds a line of a program's output: results with the traces of many findings.
const mostOfLine = 256 << 20

// grace is the time in which a program must end on its own after its input ends, because it has directories to remove.
const grace = 3 * time.Second

// Start starts a program, which ends with the context.
func Start(ctx context.Context, file string, args []string, env ...string) (*Program, error) {
	p := &Program{cmd: exec.CommandContext(ctx, file, args...)}
	p.cmd.Env = append(p.cmd.Environ(), env...)
	p.cmd.Stderr = &p.said
	apart(p.cmd)
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out = in, bufio.NewReaderSize(out, 1<<16)
	p.cmd.Cancel, p.cmd.WaitDelay = in.Close, grace
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	if err := p.read(&p.Hello); err != nil {
		return nil, p.ended(err)
	}
	return p, nil
}

// Make lets the program make a batch, after it has learned the given lessons. An error means that the program broke
// down or failed; the caller must not use it again.
func (p *Program) Make(ask Ask, lessons ...Lesson) (*Made, error) {
	made, err := p.order(order{Ask: ask, Lessons: lessons})
	if err != nil {
		return nil, err
	}
	if made.Error == "" && made.Result == nil || made.Ask != ask {
		return nil, p.ended(fmt.Errorf("it was asked for runs %d to %d and reports others", ask.First, ask.End-1))
	}
	return made, nil
}

// WarmUp lets the program warm its process up. If that fails, the first batch reports the reason.
func (p *Program) WarmUp() error {
	_, err := p.order(order{Warm: true})
	return err
}

// order writes a request, and reads its result.
func (p *Program) order(o order) (*Made, error) {
	line, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return nil, p.ended(err)
	}
	for _, l := range o.Lessons {
		p.Taught = max(p.Taught, l.First+p.Hello.Epoch)
	}
	made := &Made{}
	if err := p.read(made); err != nil {
		return nil, p.ended(err)
	}
	return made, nil
}

// read reads a line.
func (p *Program) read(v any) error {
	var line []byte
	for {
		piece, err := p.out.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case err == nil:
			return json.Unmarshal(line, v)
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		case len(line) > mostOfLine:
			return fmt.Errorf("a line of more than %d bytes", mostOfLine)
		}
	}
}

// Close ends the program, even during a batch.
func (p *Program) Close() {
	_ = p.in.Close()
	late := time.AfterFunc(grace, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	p.wait()
}

// wait waits until the program has ended.
func (p *Program) wait() { p.once.Do(func() { p.end = p.cmd.Wait() }) }

// ended ends the program and returns the reason, from the program's own output if it has any.
func (p *Program) ended(err error) error {
	_ = p.in.Close()
	if !errors.Is(err, io.EOF) {
		_ = p.cmd.Process.Kill()
	}
	p.wait()
	if p.end != nil {
		err = p.end
	}
	if said := p.said.last(); said != "" {
		return errors.New(strings.TrimPrefix(said, "lockstep: "))
	}
	return fmt.Errorf("%s ended: %w", p.cmd.Path, err)
}

// tail keeps the beginning and the end of a program's output.
type tail struct{ first, text []byte }

func (t *tail) Write(b []byte) (int, error) {
	t.first = append(t.first, b[:min(len(b), 4<<10-len(t.first))]...)
	t.text = append(t.text, b...)
	if len(t.text) > 8<<10 {
		t.text = t.text[len(t.text)-4<<10:]
	}
	return len(b), nil
}

// last returns the last line. For a program that broke down, it returns the line with the reason, which the stacks of
// its goroutines follow.
func (t *tail) last() string {
	for line := range strings.Lines(string(t.first)) {
		if strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "panic: ") ||
			strings.HasPrefix(line, "SIG") {
			return strings.TrimSpace(line)
		}
	}
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	return lines[len(lines)-1]
}
