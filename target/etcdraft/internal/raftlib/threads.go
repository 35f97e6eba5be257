package raftlib

import "slices"

// Threads is the work that the library gives its two storage threads with asynchronous writes: messages with the
// responses to send when the work is done. M is the version's message.
type Threads[M any] struct {
	Lib ThreadFunctions[M]

	appends, applies []M // in the order in which the library issued them
	work             M   // in progress
	others           []M // buffer for messages to other nodes
}

// ThreadFunctions are the version's own operations on its messages.
type ThreadFunctions[M any] struct {
	Append, Apply uint64 // the names of the two threads
	To            func(M) uint64
	Vote          func(M) bool // it asks for a vote
	Responses     func(M) []M
	// Hold adds messages to the responses of another.
	Hold func(to *M, messages []M)
}

// Reset begins an incarnation of the node.
func (t *Threads[M]) Reset() { t.appends, t.applies = t.appends[:0], t.applies[:0] }

// Sort queues the work of the threads and returns the messages for other nodes, which are valid until the next call.
// With hold, requests for votes wait for the write of the term, the vote and the log that they refer to, as responses
// do in the library.
func (t *Threads[M]) Sort(messages []M, hold bool) []M {
	before := len(t.appends)
	t.others = t.others[:0]
	for _, m := range messages {
		switch t.Lib.To(m) {
		case t.Lib.Append:
			t.appends = append(t.appends, m)
		case t.Lib.Apply:
			t.applies = append(t.applies, m)
		default:
			t.others = append(t.others, m)
		}
	}
	if hold && len(t.appends) > before {
		var votes []M
		t.others = slices.DeleteFunc(t.others, func(m M) bool {
			vote := t.Lib.Vote(m)
			if vote {
				votes = append(votes, m)
			}
			return vote
		})
		t.Lib.Hold(&t.appends[before], votes)
	}
	return t.others
}

// NextAppend takes the next write.
func (t *Threads[M]) NextAppend() (M, bool) { return t.next(&t.appends) }

// NextApply takes the next entries to apply.
func (t *Threads[M]) NextApply() (M, bool) { return t.next(&t.applies) }

func (t *Threads[M]) next(queue *[]M) (first M, ok bool) {
	if len(*queue) == 0 {
		return first, false
	}
	t.work = (*queue)[0]
	*queue = (*queue)[:copy(*queue, (*queue)[1:])]
	return t.work, true
}

// Done passes the responses of the finished work that are for the node itself to a function, and returns the others.
func (t *Threads[M]) Done(self uint64, step func(M)) []M {
	t.others = t.others[:0]
	for _, m := range t.Lib.Responses(t.work) {
		if t.Lib.To(m) == self {
			step(m)
		} else {
			t.others = append(t.others, m)
		}
	}
	return t.others
}
