package timers

import "testing"

// The timer that is due first fires first. Of two equal ones the one that was set first fires first. Setting a timer
// again moves it to the end.
func TestOrder(t *testing.T) {
	var s Timers
	s.Set("late", 9)
	s.Set("a", 5)
	s.Set("b", 5)
	s.Set("gone", 1)
	s.Stop("gone")
	s.Stop("never set")
	s.Set("a", 5)
	got := ""
	for len(s) > 0 {
		got += s.Fire() + " "
	}
	if got != "b a late " || s.Has("a") {
		t.Errorf("%s", got)
	}
	s.Set("x", 1)
	if s.Clear(); s.Has("x") {
		t.Error("x is still set")
	}
}
