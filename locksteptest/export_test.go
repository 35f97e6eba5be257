package locksteptest

import (
	"io"
	"time"
)

// WriteProgress lets tests set the output and the interval of shrinking progress; it returns a function that restores
// both.
func WriteProgress(out io.Writer, every time.Duration) func() {
	wasOut, wasEvery := progressOut, progressEvery
	progressOut, progressEvery = out, every
	return func() { progressOut, progressEvery = wasOut, wasEvery }
}
