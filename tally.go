package lockstep

import (
	"unsafe"

	"github.com/lockstep-go/lockstep/internal/mix"
)

// tally counts what happened by name. The names are few, so that they are looked through.
type tally []Count

// mostNames bounds the names that a tally tells apart; what comes later counts as otherName.
const (
	mostNames = 64
	otherName = "(other)"
)

// add counts something n times, and returns where.
func (t *tally) add(name string, n int) int {
	at := t.find(name)
	if at < 0 && len(*t) >= mostNames {
		name = otherName
		at = t.find(name)
	}
	if at < 0 {
		at = len(*t)
		*t = append(*t, Count{Name: name})
	}
	(*t)[at].N += n
	return at
}

func (t *tally) find(name string) int {
	for i := range *t {
		if (*t)[i].Name == name {
			return i
		}
	}
	return -1
}

// happenings counts the events of a run by type.
type happenings struct {
	tally
	known places // of the types
}

// count counts an event of a type and returns the hash of that, which the digest needs.
func (h *happenings) count(name string) uint64 {
	p := h.known.of(name)
	if !p.is(name) || p.number == 0 {
		p.learn(name)
		p.number = 1 + h.add(name, 0)
	}
	h.tally[p.number-1].N++
	return p.hash
}

// places find what is known of a name again by where the name is in memory: nearly all names are
// constants of a system, so that this is quicker than to look at their letters.
type places [256]place

type place struct {
	name   string
	hash   uint64
	number int // in a tally, from 1
}

// of is where a name is kept, or another one that it takes the place of.
func (l *places) of(name string) *place {
	return &l[mix.Number(uint64(uintptr(unsafe.Pointer(unsafe.StringData(name)))))>>(64-8)]
}

// is reports whether it is that name that is kept there: the same letters elsewhere do not count.
func (p *place) is(name string) bool {
	return unsafe.StringData(p.name) == unsafe.StringData(name) && len(p.name) == len(name)
}

// learn keeps a name.
//
//go:noinline
func (p *place) learn(name string) { p.name, p.hash, p.number = name, mix.Text(name), 0 }

// addAll adds the counts of another tally.
func (t *tally) addAll(more tally) {
	for i := range more {
		if more[i].N > 0 {
			t.add(more[i].Name, more[i].N)
		}
	}
}

// reset begins anew. The names stay, because they will come again.
func (t tally) reset() {
	for i := range t {
		t[i].N = 0
	}
}
