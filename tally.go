package lockstep

import (
	"unsafe"

	"github.com/lockstep-go/lockstep/internal/mix"
)

// tally counts by name. The names are few, so that add searches them linearly.
type tally []Count

// mostNames bounds the names that a tally distinguishes; later names count as otherName.
const (
	mostNames = 64
	otherName = "(other)"
)

// add adds n to the count of a name, and returns its place.
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

// count counts an event of a type and returns the hash of the type, which the digest needs.
func (h *happenings) count(name string) uint64 {
	p := h.known.of(name)
	if !p.is(name) || p.number == 0 {
		p.learn(name)
		p.number = 1 + h.add(name, 0)
	}
	h.tally[p.number-1].N++
	return p.hash
}

// places is a cache of names by their address in memory. Nearly all names are constants of a system, so that this is
// faster than comparing their letters.
type places [256]place

type place struct {
	name   string
	hash   uint64
	number int // in a tally, from 1
}

// of is the slot of a name in the cache; another name may occupy it.
func (p *places) of(name string) *place {
	return &p[mix.Number(uint64(uintptr(unsafe.Pointer(unsafe.StringData(name)))))>>(64-8)]
}

// is reports whether the slot has this name: the same letters at another address do not count.
func (p *place) is(name string) bool {
	return unsafe.StringData(p.name) == unsafe.StringData(name) && len(p.name) == len(name)
}

// learn stores a name.
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

// reset sets all counts to zero. The names stay, because they will recur.
func (t tally) reset() {
	for i := range t {
		t[i].N = 0
	}
}
