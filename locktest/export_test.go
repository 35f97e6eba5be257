package locktest

import (
	"io"
	"time"
)

// WriteProgress lets tests see what is told about shrinking, and how often; it returns what undoes that.
func WriteProgress(out io.Writer, every time.Duration) func() {
	wasOut, wasEvery := progressOut, progressEvery
	progressOut, progressEvery = out, every
	return func() { progressOut, progressEvery = wasOut, wasEvery }
}
