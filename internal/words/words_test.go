package words_test

import (
	"testing"

	"github.com/lockstep-go/lockstep/internal/words"
)

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n    int
		what string
		want string
	}{{0, "step", "0 steps"}, {1, "step", "1 step"}, {2, "step", "2 steps"}, {1, "message lost", "1 message lost"},
		{3, "message lost", "3 messages lost"}, {2, "delivery that changed nothing", "2 deliveries that changed nothing"}} {
		if got := words.Count(c.n, c.what); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	for n, want := range []string{"runs these 0 runs 0 runs were them", "run this run 1 run was it", "runs these 2 runs 2 runs were them"} {
		if got := words.Plural(n, "run") + " " + words.These(n, "run") + " " + words.Were(n, "run") + " " + words.Them(n); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
