package hashicorpraft

import (
	"strconv"

	"github.com/hashicorp/raft"
)

// text formats messages and states as text. Best-effort runs are recorded live, so every message needs its text; fmt
// would take as long as everything else.
type text struct{ b []byte }

// newText begins a text, with capacity for a typical length.
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

// place is a position, for example "3/4 put a=1]".
func (t *text) place(term, index uint64, data string) {
	t.b = append(strconv.AppendUint(t.b, term, 10), '/')
	t.b = append(strconv.AppendUint(t.b, index, 10), ' ')
	t.b = append(append(t.b, data...), ']')
}
