//go:build unix

package child

import (
	"errors"
	"os"
	"os/exec"
)

// Spoken is a child that is spoken to by its standard input, and answers by its standard output.
type Spoken struct {
	*Child
	In, Out *os.File
}

// Speak starts a command as a child that is spoken to.
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

// Kill ends the child at once, with all that it started, and closes what it was spoken to by.
func (s *Spoken) Kill() {
	s.Child.Kill()
	_, _ = s.In.Close(), s.Out.Close()
}
