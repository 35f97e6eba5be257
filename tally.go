package lockstep

import "github.com/lockstep-go/lockstep/internal/mix"

// tally counts what happened by name. The names are few, so that they are looked through.
type tally []Count

// mostNames bounds the names that a tally tells apart; what comes later counts as otherName.
const (
	mostNames = 64
	otherName = "(other)"
)

// add counts something n times.
func (t *tally) add(name string, n int) {
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
}

func (t *tally) find(name string) int {
	for i := range *t {
		if (*t)[i].Name == name {
			return i
		}
	}
	return -1
}

// happenings counts the events of a run by type, and keeps the hash of each type, which the
// digest needs.
type happenings struct {
	tally
	hashes []uint64 // of the names, as far as they are told apart
}

// count counts an event of a type and returns the hash of that.
func (h *happenings) count(name string) uint64 {
	for i := range h.hashes {
		if h.tally[i].Name == name {
			h.tally[i].N++
			return h.hashes[i]
		}
	}
	h.add(name, 1)
	is := mix.Text(name)
	if len(h.hashes) < min(len(h.tally), mostNames) {
		h.hashes = append(h.hashes, is)
	}
	return is
}

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
