package process

import (
	"testing"
	"time"
)

// The times of runs are added up, with their parts.
func TestTimes(t *testing.T) {
	var times Times
	if got, want := times.String(), "0s a run in the mean of 0, starting 0 %, waiting 0 %, working 0 %"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	times.Add(Spent{Starting: 3 * time.Second, Waiting: time.Second})
	times.Add(Spent{Starting: 3 * time.Second, Working: time.Second})
	if got, want := times.String(), "4s a run in the mean of 2, starting 75 %, waiting 13 %, working 13 %"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
