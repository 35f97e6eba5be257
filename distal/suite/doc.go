// Package suite makes tests of an implementation out of a model: schedules of rounds that together cover what the model
// can do, written to files, and a strategy that executes them.
//
// [Generate] writes a directory. Its file model.distal is the model, suite.txt says what is covered and what is not,
// and every test is a file of its own, 001.test and so on. [Read] reads a directory and checks every test against the
// model, so that a test is a behavior of it.
//
// # Format
//
// A test is text. Blank lines, and lines that begin with #, mean nothing. The header comes first:
//
//	suite 1
//	protocol ReplicatedLog
//	param n=3
//
// Then come the rounds in their order, each with what happens in it:
//
//	round 1 Prepare
//	timeout 1: upon timeout (line 27)
//	hear 1: 1
//	hear 2: 1
//	state 1: stage=1 ballot=1 last=0 log=[]
//
// A timeout names the node and the rule that fires as the round begins; request instead of timeout says that a client's
// request makes the rule fire. After hear come a receiver and the senders
// whose messages of this round it receives; all other messages of the round are lost. After state come a node and its
// state at the end of the round; a node without this line has the state that it had before.
package suite

// Version is the version of the format.
const Version = 1

// Names of files.
const (
	ModelFile   = "model.distal"
	SummaryFile = "suite.txt"
	extension   = ".test"
)
