package calls

// Turns puts what arrives in any order into the order of its numbers, which begin with 0.
type Turns[T any] struct {
	next  int
	early map[int]T
}

// Put takes in what has arrived. What comes twice counts once.
func (t *Turns[T]) Put(number int, what T) {
	if number < t.next {
		return
	}
	if t.early == nil {
		t.early = map[int]T{}
	}
	t.early[number] = what
}

// Next hands out what is next, if it has arrived.
func (t *Turns[T]) Next() (what T, arrived bool) {
	what, arrived = t.early[t.next]
	if arrived {
		delete(t.early, t.next)
		t.next++
	}
	return what, arrived
}
