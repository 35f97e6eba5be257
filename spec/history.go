package spec

import (
	"fmt"
)

// The events by which a system tells of its clients' operations.
const (
	EventCall   = "call"   // a client began an operation: *Call
	EventReturn = "return" // a client got its answer: *Return
)

// Call is the value of an event in which a client begins an operation.
type Call struct {
	Client int // from 1
	ID     int // of the operation, unique in the run
	Input  any // what is asked for; valid until the end of the run
}

// String is the input.
func (c *Call) String() string { return fmt.Sprint(c.Input) }

// Return is the value of an event in which a client gets its answer.
type Return struct {
	Client, ID int
	Output     any // valid until the end of the run
}

// String is the output.
func (r *Return) String() string { return fmt.Sprintf("c%d %v", r.Client, r.Output) }
