package offers_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep/internal/offers"
	"github.com/lockstep-go/lockstep/trace"
)

// queue records the offered requests.
type queue struct{ all []string }

func (q *queue) Offer(p trace.Pending) {
	q.all = append(q.all, fmt.Sprint(p.ID, p.Text, p.To))
}

// Every request is offered as often as configured, under new numbers, whichever is given first.
func TestList(t *testing.T) {
	for _, c := range []struct {
		repeat int
		want   []string
	}{
		{0, []string{"1a1,2", "2b1,2"}},
		{1, []string{"1a1,2", "2b1,2"}},
		{3, []string{"1a1,2", "2b1,2", "4b1,2", "6b1,2", "3a1,2", "5a1,2"}},
	} {
		var d queue
		l := offers.List{Nodes: 2, Texts: []string{"a", "b"}, Repeat: c.repeat}
		l.Begin(&d)
		for _, id := range []int32{2, 4, 6, 1, 3, 5}[:2*max(1, c.repeat)] {
			if id > int32(2*max(1, c.repeat)) {
				continue
			}
			want := "a"
			if id%2 == 0 {
				want = "b"
			}
			if got := l.Given(&d, id); got != want {
				t.Errorf("request %d asks for %q, want %q", id, got, want)
			}
		}
		if !slices.Equal(d.all, c.want) {
			t.Errorf("repeat=%d: offered %q, want %q", c.repeat, d.all, c.want)
		}
	}
}
