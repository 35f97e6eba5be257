package sequential

import "github.com/lockstep-go/lockstep/distal/machine"

// Row is one round of a run: what each node did in it.
type Row struct {
	Tag   machine.Tag
	Nodes []Cell
}

// Cell is one node's part in a round.
type Cell struct {
	TimedOut bool            // a plain timeout fired as the round began
	SentTo   uint64          // the receivers, bit i-1 for node i; 0: nothing sent
	Sent     machine.Message // the message, if any
	Received uint64          // the senders of the messages that the node received and used
	Rule     *machine.Rule   // the rule that fired; nil when none did
	Outputs  []machine.Value // what it output
	State    *machine.State  // at the end of the round
}
