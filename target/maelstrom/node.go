package maelstrom

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/lockstep-go/lockstep/internal/child"
	"github.com/lockstep-go/lockstep/target/maelstrom/internal/asleep"
)

// packet is a message as Maelstrom writes it.
type packet struct {
	Src  string          `json:"src"`
	Dest string          `json:"dest"`
	Body json.RawMessage `json:"body"`
}

// head is the part of a body that the deployment needs.
type head struct {
	Type      string `json:"type"`
	MsgID     *int64 `json:"msg_id,omitempty"`
	InReplyTo *int64 `json:"in_reply_to,omitempty"`
	Code      int    `json:"code,omitempty"`
	Text      string `json:"text,omitempty"`
}

func headOf(body json.RawMessage) (head, error) {
	var h head
	if err := json.Unmarshal(body, &h); err != nil {
		return h, fmt.Errorf("a body that is not an object of JSON with a type: %.200q", body)
	}
	if h.Type == "" {
		return h, fmt.Errorf("a body without a type: %.200q", body)
	}
	return h, nil
}

// longestLine is the maximum length of a node's message.
const longestLine = 4 << 20

// program is a node that runs.
type program struct {
	*child.Spoken
	watcher *asleep.Watcher
	clock   *clock
	line    []byte // an incomplete line
}

// start starts the program of a node, with a clock that shows now.
func start(command, dir, shim string, now time.Duration, seed uint64) (*program, error) {
	words := strings.Fields(command)
	if strings.ContainsAny(words[0], "/\\") { // the path is not relative to the node's directory
		path, err := filepath.Abs(words[0])
		if err != nil {
			return nil, err
		}
		words[0] = path
	}
	for i, w := range words[1:] {
		if _, err := os.Stat(w); err == nil {
			if path, err := filepath.Abs(w); err == nil {
				words[i+1] = path
			}
		}
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = dir
	clock, err := newClock(cmd, shim, now, seed)
	if err != nil {
		return nil, err
	}
	c, err := child.Speak(cmd)
	clock.started()
	if err != nil {
		clock.close()
		return nil, err
	}
	return &program{Spoken: c, watcher: asleep.New(c.Pid()), clock: clock}, nil
}

// kill kills the program.
func (p *program) kill() {
	p.Kill()
	p.clock.close()
}

// write sends a message to the node.
func (p *program) write(m packet, timeout time.Duration) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := p.In.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	if _, err := p.In.Write(append(line, '\n')); err != nil {
		if errors.Is(err, syscall.EPIPE) {
			return nil // it ends, or has ended; await reports that, after its last output
		}
		return fmt.Errorf("it does not read: %w", err)
	}
	return nil
}

// silence is how long a node must print nothing to count as quiescent, if its threads cannot be observed.
const silence = 20 * time.Millisecond

// await waits until the node has processed its input, and passes its output to hear.
func (p *program) await(timeout time.Duration, hear func(packet) error) error {
	begin := time.Now()
	for last := begin; ; {
		heard, err := p.drain(hear)
		if err != nil {
			return err
		}
		now := time.Now()
		if now.Sub(begin) > timeout {
			return fmt.Errorf("it was not quiescent within %s", timeout)
		}
		if heard {
			last = now
			continue
		}
		select {
		case <-p.Done():
			if heard, err := p.drain(hear); heard || err != nil {
				return err
			}
			return fmt.Errorf("it ended: %s", p.Why())
		default:
		}
		switch {
		case asleep.Known && p.watcher.Asleep(p.hasRead):
			if n, err := asleep.Waiting(p.Out); err != nil || n == 0 {
				return err
			}
			continue
		case !asleep.Known && now.Sub(last) > silence:
			return nil
		}
		time.Sleep(20 * time.Microsecond)
	}
}

// hasRead reports whether the node has read all its input.
func (p *program) hasRead() bool {
	n, err := asleep.Waiting(p.In)
	return err == nil && n == 0
}

// drain reads the available output of the node, without waiting.
func (p *program) drain(hear func(packet) error) (heard bool, err error) {
	for {
		n, err := p.waiting()
		if n == 0 || err != nil {
			return heard, err
		}
		heard = true
		chunk := make([]byte, n)
		n, err = p.Out.Read(chunk)
		if err != nil {
			return heard, err
		}
		p.line = append(p.line, chunk[:n]...)
		for {
			line, rest, whole := bytes.Cut(p.line, []byte("\n"))
			if !whole {
				break
			}
			if len(bytes.TrimSpace(line)) > 0 {
				if err := p.parse(line, hear); err != nil {
					return heard, err
				}
			}
			p.line = append(p.line[:0], rest...)
		}
		if len(p.line) > longestLine {
			return heard, fmt.Errorf("a line of more than %d bytes", longestLine)
		}
	}
}

// waiting returns the number of unread bytes of the node's output.
func (p *program) waiting() (int, error) {
	if asleep.Known {
		return asleep.Waiting(p.Out)
	}
	if err := p.Out.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		return 0, err
	}
	one := make([]byte, 1)
	n, err := p.Out.Read(one)
	_ = p.Out.SetReadDeadline(time.Time{})
	if n == 1 {
		p.line = append(p.line, one[0])
		return 1, nil
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil
	}
	return 0, err
}

func (p *program) parse(line []byte, hear func(packet) error) error {
	var m packet
	if err := json.Unmarshal(line, &m); err != nil {
		return fmt.Errorf("a line that is not a message: %.200q", line)
	}
	m.Body = append(json.RawMessage(nil), m.Body...)
	return hear(m)
}

// lastWords returns the end of the node's standard error.
func (p *program) lastWords() string {
	if tail := strings.TrimSpace(p.Tail()); tail != "" {
		return "; its last words:\n" + tail
	}
	return ""
}
