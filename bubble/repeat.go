package bubble

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// Repeated is the result of [Repetition].
type Repeated struct {
	// Of is the number of runs that were made twice. Same is how many of them gave the same bytes both times.
	Same, Of int
	// First is the number of the first run that differed, or -1.
	First int
}

// Repetition performs each of the first runs of a plan twice, from its seed, and compares the recordings byte for byte.
func Repetition(ctx context.Context, plan lockstep.Plan, runs int) (r Repeated, err error) {
	bench, err := lockstep.NewRunner(plan)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, bench.Close()) }()
	r.First = -1
	for number := range runs {
		var texts [2][]byte
		for i := range texts {
			if texts[i], err = recording(ctx, bench, number); err != nil {
				return r, err
			}
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

// Digests are hashes of the recordings of the first runs of a plan. If runs are deterministic, the digests are the same
// in every process.
func Digests(ctx context.Context, plan lockstep.Plan, runs int) (digests []string, err error) {
	bench, err := lockstep.NewRunner(plan)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bench.Close()) }()
	for number := range runs {
		text, err := recording(ctx, bench, number)
		if err != nil {
			return nil, err
		}
		digests = append(digests, digestOf(text))
	}
	return digests, nil
}

func digestOf(recording []byte) string {
	sum := sha256.Sum256(recording)
	return hex.EncodeToString(sum[:16])
}

// recording is the trace of a run in the format of its file.
func recording(ctx context.Context, bench *lockstep.Runner, number int) ([]byte, error) {
	t, err := bench.Record(ctx, number, nil)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = trace.Write(&b, t)
	return b.Bytes(), err
}
