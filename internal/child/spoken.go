//go:build unix

package child

import (
	"errors"
	"os"
	"os/exec"
)

// Spoken is a child that gets requests on its standard input, and answers on its standard output.
type Spoken struct {
	*Child
	In, Out *os.File
}

// Speak starts a command as such a child.
func Speak(cmd *exec.Cmd) (*Spoken, error) {
	read, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, write, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, read.Close(), in.Close())
	}
	cmd.Stdin, cmd.Stdout = read, write
	c, err := Start(cmd)
	_, _ = read.Close(), write.Close()
	if err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	return &Spoken{c, in, out}, nil
}

// Kill kills the child at once, with all processes that it started, and closes its input and output.
func (s *Spoken) Kill() {
	s.Child.Kill()
	_, _ = s.In.Close(), s.Out.Close()
}
