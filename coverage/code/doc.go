// Package code measures which statements of a system the runs of a campaign execute.
//
// The program must be built with counters of its statements, as the go command adds them (go build -cover); the
// lockstep command builds such programs on demand. A [Meter] reads and clears the counters between the steps of a run,
// so that a run counts only what it executes itself. The counters change no choice of the run.
//
// The counters belong to the process, so that the process makes one run at a time.
package code
