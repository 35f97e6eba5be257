package levels

// Oracle is what the search has to know about a program, in numbers: nothing here knows what a local state or a message
// is. Rounds count from 0, nodes from 0; message 0 is none. Answers depend on the question alone, and their order does
// not depend on how local states and messages were numbered: they may be numbered in another order in every run. All
// methods may be called by several goroutines at once.
type Oracle interface {
	// Nodes is the number of nodes: the length of a global state.
	Nodes() int
	// Modes is the number of joint choices that the network makes in a round before single nodes receive.
	Modes() int
	// Initial lists the local states in which a node can start. A problem other than 0 ends the search at once.
	Initial(node int) (locals []uint32, problem int)
	// Begin lists the ways in which the node of a local state can begin a round; there is at least one.
	Begin(round int, local uint32) []Beginning
	// End lists the ways in which the node of a local state can end a round, given the message sent to it by each node;
	// there is at least one.
	End(round, mode int, local uint32, sent []uint32) []Ending
	// Check says what is wrong with a global state; 0 is nothing.
	Check(locals []uint32) int
	// Local describes a local state: a hash of what it is, not of its number, and its class. Local states of one class are
	// the same to Check.
	Local(local uint32) (hash uint64, class uint32)
	// Bytes is about the memory in use.
	Bytes() int64
}

// Beginning is a way in which a node can begin a round.
type Beginning struct {
	After   uint32   // the local state once its messages are handed over
	Sent    []uint32 // by receiver
	Changed bool     // Check may see a difference
	Problem int      // what is wrong with this step; 0 is nothing
}

// Ending is a way in which a node can end a round.
type Ending struct {
	Local   uint32
	Acted   bool // the node did something
	Changed bool // Check may see a difference
	Problem int  // what is wrong with this step; 0 is nothing
}
