package stretch

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

// Program is a program that serves stretches.
type Program struct {
	Hello Hello
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	said  tail
	// Taught is the first run of a strategy with several lineages of which the program was not told what was learned.
	Taught int

	once sync.Once
	end  error // how it ended
}

// mostOfLine bounds what a program may write in a line: results with the traces of many findings.
const mostOfLine = 256 << 20

// grace is the time that a program has to end by itself when nobody wants more: it has folders to remove.
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

// Make has a stretch made, by a program that learns before what it was not told until now. An error is that of a
// program that broke down or of one that failed; it is not to be used again.
func (p *Program) Make(ask Ask, lessons ...Lesson) (*Made, error) {
	made, err := p.order(order{Ask: ask, Lessons: lessons})
	if err != nil {
		return nil, err
	}
	if made.Error == "" && made.Result == nil || made.Ask != ask {
		return nil, p.ended(fmt.Errorf("it was asked for runs %d to %d and told of others", ask.First, ask.End-1))
	}
	return made, nil
}

// WarmUp has the program warm its process up. Where that fails, the first stretch says why.
func (p *Program) WarmUp() error {
	_, err := p.order(order{Warm: true})
	return err
}

// order writes what the program is to do, and reads what came of it.
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

// Close ends the program, whatever it is doing.
func (p *Program) Close() {
	_ = p.in.Close()
	late := time.AfterFunc(grace, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	p.wait()
}

// wait waits until the program has ended.
func (p *Program) wait() { p.once.Do(func() { p.end = p.cmd.Wait() }) }

// ended ends the program and says why, in its own words where it had any.
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

// tail keeps the beginning and the end of what a program says.
type tail struct{ first, text []byte }

func (t *tail) Write(b []byte) (int, error) {
	t.first = append(t.first, b[:min(len(b), 4<<10-len(t.first))]...)
	t.text = append(t.text, b...)
	if len(t.text) > 8<<10 {
		t.text = t.text[len(t.text)-4<<10:]
	}
	return len(b), nil
}

// last is the last line, or, of a program that broke down, the one that says why: the stacks of its goroutines follow.
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
