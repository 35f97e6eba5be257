package cover

import (
	"math/big"
	"math/rand/v2"
)

// A Sampler draws partitions of a space uniformly at random. It holds the tables
// that drawing needs and no state: the same generator gives the same partitions.
type Sampler struct {
	space Space
	exact [][]*big.Int // Stirling numbers of n and k at [n][k]
	small [][]uint64   // the same where they fit, 0 where they do not
}

// NewSampler prepares drawing from a space.
func NewSampler(space Space) (*Sampler, error) {
	if err := space.check(); err != nil {
		return nil, err
	}
	s := &Sampler{space: space}
	if space.Sizes != nil {
		return s, nil
	}
	nodes, blocks := space.Nodes-max(space.Bridge, 0), space.Blocks
	if space.Bridge == AnyBridge {
		blocks++
	}
	row := stirlingRow(blocks, 0)
	for range nodes + 1 {
		exact, small := make([]*big.Int, len(row)), make([]uint64, len(row))
		for k, number := range row {
			exact[k] = new(big.Int).Set(number)
			if number.IsUint64() {
				small[k] = number.Uint64()
			}
		}
		s.exact, s.small = append(s.exact, exact), append(s.small, small)
		nextStirlingRow(row)
	}
	return s, nil
}

// Draw returns a partition; each one of the space has the same probability.
func (s *Sampler) Draw(rng *rand.Rand) Partition {
	labels := make([]byte, s.space.Nodes)
	switch {
	case s.space.Bridge == AnyBridge:
		s.divide(rng, labels, s.space.Blocks+1)
		bridge := byte(rng.IntN(s.space.Blocks + 1))
		for i, l := range labels {
			if l == bridge {
				labels[i] = onBridge
			}
		}
	case s.space.Sizes == nil && s.space.Bridge == 0:
		s.divide(rng, labels, s.space.Blocks)
	default:
		s.deal(rng, labels)
	}
	return canonical(labels)
}

// deal puts a fixed number of nodes on the bridge and divides the others. The
// labels are written in order and then shuffled over the nodes.
func (s *Sampler) deal(rng *rand.Rand, labels []byte) {
	rest := labels[s.space.Bridge:]
	for i := range s.space.Bridge {
		labels[i] = onBridge
	}
	if s.space.Sizes == nil {
		s.divide(rng, rest, s.space.Blocks)
	}
	for l, size := range s.space.Sizes {
		for range size {
			rest[0], rest = byte(l), rest[1:]
		}
	}
	rng.Shuffle(len(labels), func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
}

// divide writes a uniform k-partition by the recurrence (1): the last node is a
// block of its own with the probability (2) of the paper, or else in any block of a
// partition of the nodes before it.
func (s *Sampler) divide(rng *rand.Rand, labels []byte, k int) {
	for n := len(labels); n > 0; n-- {
		if s.alone(rng, n, k) {
			k--
			labels[n-1] = byte(k)
		} else {
			labels[n-1] = byte(rng.IntN(k))
		}
	}
}

// alone decides whether node n is a block of its own in a k-partition of n nodes.
func (s *Sampler) alone(rng *rand.Rand, n, k int) bool {
	if all := s.small[n][k]; all > 0 {
		return rng.Uint64N(all) < s.small[n-1][k-1]
	}
	return below(rng, s.exact[n][k]).Cmp(s.exact[n-1][k-1]) < 0
}

// below draws an integer from 0 to limit-1, by rejection of longer ones.
func below(rng *rand.Rand, limit *big.Int) *big.Int {
	bits := uint(limit.BitLen())
	for {
		number := new(big.Int)
		word := new(big.Int)
		for have := uint(0); have < bits; have += 64 {
			drawn := rng.Uint64()
			if bits-have < 64 {
				drawn >>= 64 - (bits - have)
			}
			number.Or(number, word.Lsh(word.SetUint64(drawn), have))
		}
		if number.Cmp(limit) < 0 {
			return number
		}
	}
}
