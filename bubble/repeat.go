package bubble

import (
	"bytes"
	"context"
	"errors"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Repeated says how often runs repeated themselves.
type Repeated struct {
	Same, Of int
	First    int // the number of the first run that did not, or -1
}

// Repetition makes each of the first runs of a plan twice, from its seed, and compares the
// recordings byte for byte.
func Repetition(ctx context.Context, plan lockstep.Plan, runs int) (r Repeated, err error) {
	bench, err := lockstep.NewBench(plan)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, bench.Close()) }()
	r.First = -1
	for number := range runs {
		var texts [2][]byte
		for i := range texts {
			t, err := bench.Record(ctx, number, nil)
			if err != nil {
				return r, err
			}
			var b bytes.Buffer
			if err := trace.Write(&b, t); err != nil {
				return r, err
			}
			texts[i] = b.Bytes()
		}
		r.Of++
		if bytes.Equal(texts[0], texts[1]) {
			r.Same++
		} else if r.First < 0 {
			r.First = number
		}
	}
	return r, nil
}
