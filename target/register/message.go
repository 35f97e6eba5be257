package register

import "fmt"

// The kinds of message.
const (
	vote    = iota // a candidate asks for a vote
	granted        // a node grants its vote
	propose        // the leader's last entry, and the committed one
	accept         // a node has an entry at least as recent
	ask            // an operation for the leader
	answer         // the result of an operation
)

var typeNames = [...]string{"Vote", "Granted", "Propose", "Accept", "Ask", "Answer"}

// entry is the state after an operation, with its position in the total order.
type entry struct {
	term, index int32
	value       int32
}

// before reports whether an entry is older than another.
func (e entry) before(other entry) bool {
	return e.term < other.term || e.term == other.term && e.index < other.index
}

// message is a message of any kind.
type message struct {
	kind   int8
	term   int32 // of the sender; ask: of the intended leader
	entry  entry // vote: the candidate's; propose: the leader's; accept: the one accepted
	commit entry // propose: the last committed
	id     int32 // ask, answer: of the operation
	op     Op    // ask
	result int32 // answer
}

func (m message) text() string {
	switch m.kind {
	case vote:
		return fmt.Sprintf("term=%d last=%d/%d", m.term, m.entry.term, m.entry.index)
	case granted:
		return fmt.Sprintf("term=%d", m.term)
	case propose:
		return fmt.Sprintf("term=%d entry=%d value=%d commit=%d", m.term, m.entry.index, m.entry.value, m.commit.index)
	case accept:
		return fmt.Sprintf("term=%d entry=%d", m.term, m.entry.index)
	case ask:
		return fmt.Sprintf("term=%d %v", m.term, m.op)
	default:
		return fmt.Sprintf("is %d", m.result)
	}
}
