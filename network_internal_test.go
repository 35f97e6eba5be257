package lockstep

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep/internal/mix"
	"github.com/lockstep-go/lockstep/trace"
)

// TestInFlight compares the list of messages in flight with one that is rebuilt from the fates of all messages.
// Meanwhile messages are sent singly and to all, held and released, and taken from the front and from the middle, few
// and many at a time. It does the same for the messages that have the tag of the last.
func TestInFlight(t *testing.T) {
	const nodes = 3
	for seed := range uint64(200) {
		source := rand.New(rand.NewPCG(seed, 0))
		r := &newTurn(Info{Nodes: nodes, FIFO: seed%4 == 3, Supports: trace.KindsOf(trace.Deliver, trace.Drop)},
			math.MaxInt, math.MaxInt64).Run
		r.reset()
		if seed%3 > 0 { // so that it must be shifted and grow
			r.flying = nil
		}
		most := 1 + source.IntN(80) // approximate number of messages in flight
		for range 600 {
			flying := r.FreeMessages()
			switch k := source.IntN(10); {
			case len(flying) == 0 || k < 4 && len(flying) < most:
				if source.IntN(2) == 0 {
					r.out.Broadcast(Node(1+source.IntN(nodes)), "all", trace.Tag{Round: int32(source.IntN(2))})
				} else {
					r.out.Send(Node(1+source.IntN(nodes)), Node(1+source.IntN(nodes)), "one",
						trace.Tag{Round: int32(source.IntN(2))})
				}
			case k == 6 && seed%2 == 1:
				r.out.Retype(flying[source.IntN(len(flying))], "other", trace.Tag{Round: int32(source.IntN(2))})
			case k == 4:
				r.hold(flying[source.IntN(len(flying))])
			case k == 5:
				if held := slices.IndexFunc(r.messages,
					func(m trace.Message) bool { return m.Fate == trace.Held }); held >= 0 {
					r.release(trace.ID(held + 1))
				}
			default:
				at := 0
				if source.IntN(2) == 0 {
					at = source.IntN(len(flying))
				}
				r.takeOut(flying[at], trace.Delivered)
			}
			same := trace.ID(len(r.messages) + 1)
			for same > 1 && r.messages[same-2].Tag == r.messages[len(r.messages)-1].Tag {
				same--
			}
			if r.SameTag() < same || seed%2 == 0 && r.SameTag() != same { // a message with another tag may hide others
				t.Fatalf("seed %d: messages have the same tag from %d on, want %d", seed, r.SameTag(), same)
			}
			var want []trace.ID
			for i := range r.messages {
				if r.messages[i].ID != trace.ID(i+1) {
					t.Fatalf("message %d has the number %d", i+1, r.messages[i].ID)
				}
				if r.messages[i].Fate == trace.InFlight {
					want = append(want, trace.ID(i+1))
				}
			}
			if !slices.Equal(r.FreeMessages(), want) {
				t.Fatalf("seed %d: in flight are %v, want %v", seed, r.FreeMessages(), want)
			}
		}
	}
}

// TestHappenings counts events of more types than a tally distinguishes.
func TestHappenings(t *testing.T) {
	var h happenings
	for turn := range 3 {
		for i := range mostNames + 10 {
			if name := string(rune('A' + i)); h.count(name) != mix.Text(name) {
				t.Fatalf("turn %d: %s has another hash", turn, name)
			}
		}
		for i, c := range h.tally {
			want := turn + 1
			if c.Name == otherName {
				want *= 10
			}
			if i < mostNames && c.Name != string(rune('A'+i)) || c.N != want {
				t.Fatalf("turn %d: %v", turn, h.tally)
			}
		}
	}
	if len(h.tally) != mostNames+1 {
		t.Errorf("%d names", len(h.tally))
	}
}
