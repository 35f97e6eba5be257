package hashicorpraft

import (
	"strconv"

	"github.com/hashicorp/raft"
)

// text puts messages and states into words. Runs that repeat only roughly are recorded as
// they happen, so that this is done for every message; fmt would take as long as the rest.
type text struct{ b []byte }

// newText begins a text, with room for one of the usual length.
func newText(begin string) text { return text{append(make([]byte, 0, 96), begin...)} }

func (t *text) word(key string) *text {
	if len(t.b) > 0 {
		t.b = append(t.b, ' ')
	}
	t.b = append(append(t.b, key...), '=')
	return t
}

func (t *text) number(key string, n uint64) *text {
	t.word(key).b = strconv.AppendUint(t.b, n, 10)
	return t
}

func (t *text) pair(key string, a, b uint64) *text {
	t.number(key, a)
	t.b = strconv.AppendUint(append(t.b, '/'), b, 10)
	return t
}

func (t *text) flag(key string, is bool) { t.word(key).b = strconv.AppendBool(t.b, is) }

func (t *text) entry(l *raft.Log) {
	t.b = append(t.b, " ["...)
	t.place(l.Term, l.Index, entryData(l))
}

// place is "3/4 put a=1]".
func (t *text) place(term, index uint64, data string) {
	t.b = append(strconv.AppendUint(t.b, term, 10), '/')
	t.b = append(strconv.AppendUint(t.b, index, 10), ' ')
	t.b = append(append(t.b, data...), ']')
}
