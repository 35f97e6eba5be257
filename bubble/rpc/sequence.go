package rpc

// Sequence restores the order of items that arrive in any order, by their numbers, which begin with 0.
type Sequence[T any] struct {
	next  int
	early map[int]T
}

// Put stores an item that has arrived. It ignores duplicates.
func (t *Sequence[T]) Put(number int, what T) {
	if number < t.next {
		return
	}
	if t.early == nil {
		t.early = map[int]T{}
	}
	t.early[number] = what
}

// Next returns the next item in order, if it has arrived.
func (t *Sequence[T]) Next() (what T, arrived bool) {
	what, arrived = t.early[t.next]
	if arrived {
		delete(t.early, t.next)
		t.next++
	}
	return what, arrived
}
