// Package novelty estimates the probability that the next run of a campaign reaches something new, from which runs
// reached what so far.
package novelty

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/lockstep-go/lockstep/internal/exact"
)

// Set is what the runs of a campaign reached, as a set of features: numbers that stand for something a run can
// reach, such as a statement of the system. It keeps which runs reached the rare features, which is enough to estimate
// the probability that the next run reaches something new. Parts of a campaign can be merged. The zero value is empty.
type Set struct {
	runs    int
	reached map[uint64]reachers
}

// reachers are the runs that reached a feature.
type reachers struct {
	first, second int // run numbers
	n             int // of runs; manyRuns means that many or more, and then first and second do not count
}

// manyRuns is the number of runs from which on a feature is not rare.
const manyRuns = 3

// maxFeatures bounds the memory of a campaign; later features are not counted.
const maxFeatures = 1 << 20

// Add adds a run with the features that it reached, each at most once.
func (s *Set) Add(run int, features []uint64) {
	s.runs++
	if s.reached == nil && len(features) > 0 {
		s.reached = map[uint64]reachers{}
	}
	for _, f := range features {
		s.add(f, reachers{first: run, n: 1})
	}
}

// Merge adds other runs.
func (s *Set) Merge(other Set) {
	s.runs += other.runs
	if s.reached == nil && len(other.reached) > 0 {
		s.reached = make(map[uint64]reachers, len(other.reached))
	}
	// The order matters only beyond maxFeatures.
	for _, f := range slices.Sorted(maps.Keys(other.reached)) {
		s.add(f, other.reached[f])
	}
}

// add adds the runs that reached a feature.
func (s *Set) add(f uint64, by reachers) {
	was, ok := s.reached[f]
	if was.n == manyRuns || !ok && len(s.reached) >= maxFeatures {
		return
	}
	switch {
	case was.n+by.n >= manyRuns:
		by = reachers{n: manyRuns}
	case was.n == 1: // and by.n is 1, too
		by = reachers{first: min(was.first, by.first), second: max(was.first, by.first), n: 2}
	case was.n > 0:
		return // unreachable: by.n is at least 1
	}
	s.reached[f] = by
}

// Clone returns a copy that does not change with the set.
func (s *Set) Clone() Set { return Set{s.runs, maps.Clone(s.reached)} }

// Runs is the number of runs.
func (s *Set) Runs() int { return s.runs }

// Has reports whether a run reached a feature.
func (s *Set) Has(feature uint64) bool { return s.reached[feature].n > 0 }

// Equal reports whether both are the same.
func (s Set) Equal(other Set) bool {
	return s.runs == other.runs && maps.Equal(s.reached, other.reached)
}

// Last is the greatest feature that a run reached, if there is one.
func (s *Set) Last() (feature uint64, ok bool) {
	//lockstep:unordered the greatest is the same in any order
	for f := range s.reached {
		feature, ok = max(feature, f), true
	}
	return feature, ok
}

// Mapped is the same with other features: a run has reached a new feature if it reached one that as maps to it.
func (s *Set) Mapped(as func(uint64) uint64) Set {
	out := Set{runs: s.runs, reached: make(map[uint64]reachers, len(s.reached))}
	for _, f := range slices.Sorted(maps.Keys(s.reached)) {
		for _, run := range s.reached[f].runs() {
			out.addOnce(as(f), run)
		}
	}
	return out
}

// runs lists the runs, of which a feature that is not rare has unknown ones: noRun.
func (r reachers) runs() []int {
	switch r.n {
	case 1:
		return []int{r.first}
	case 2:
		return []int{r.first, r.second}
	default:
		return []int{noRun}
	}
}

const noRun = -1

// addOnce adds a run to those that reached a feature, unless it is among them.
func (s *Set) addOnce(f uint64, run int) {
	was := s.reached[f]
	switch {
	case was.n == manyRuns || was.n > 0 && run != noRun && slices.Contains(was.runs(), run):
	case run == noRun || was.n == manyRuns-1:
		s.reached[f] = reachers{n: manyRuns}
	default:
		s.add(f, reachers{first: run, n: 1})
	}
}

// Estimate is what a campaign says about its next run.
type Estimate struct {
	// Criterion says what counts as something new.
	Criterion string `json:"criterion"`
	// Runs is the number of runs that the estimate rests on. A fast campaign measures only some of its runs.
	Runs int `json:"runs"`
	// Reached is the number of different things that they reached.
	Reached int `json:"reached"`
	// Only is the number of runs that reached something that no other run reached.
	Only int `json:"only"`
	// Probability is the estimated probability that the next run reaches something that no run reached.
	Probability float64 `json:"probability"`
	// Lower is the lower limit of the probability. The limits assume that runs are independent draws.
	Lower float64 `json:"lower"`
	// Upper is the upper limit of the probability.
	Upper float64 `json:"upper"`
	// Confidence is that of both limits together.
	Confidence float64 `json:"confidence"`
}

// confidence is the confidence of both limits together.
const confidence = 0.95

// quantile is the distance of its limits in standard deviations of a normal distribution.
const quantile = 1.96

// Estimate estimates the probability that the next run reaches something new, after Good and Turing (I. J. Good, The
// population frequencies of species and the estimation of population parameters, Biometrika 40, 1953). With features
// that exclude each other it is the share of features that one run reached. In general it is the share of runs that
// reached something that no other run reached.
//
// The limits use the variance of W. W. Esty (A normal limit law for a nonparametric estimator of the coverage of a
// random sample, Annals of Statistics 11, 1983). Its second term counts pairs of runs that alone share a feature. The
// lower limit is the normal one: it is often 0, because a campaign can have reached everything. The upper limit is the
// exact one of a binomial with the same variance, which has fewer runs, because the numbers are often small.
func (s *Set) Estimate() Estimate {
	e := Estimate{Runs: s.runs, Reached: len(s.reached), Confidence: confidence, Upper: 1}
	if s.runs == 0 {
		return e
	}
	only, pairs := s.rare()
	runs := float64(s.runs)
	e.Only = only
	e.Probability = float64(only) / runs
	variance := float64(only) * (1 - e.Probability)
	e.Lower = max(0, e.Probability-quantile*math.Sqrt(variance+float64(pairs))/runs)
	less := 1 + float64(pairs)/max(variance, 1)
	_, e.Upper = exact.RealLimits(float64(only)/less, runs/less, (1-confidence)/2)
	return e
}

// rare counts the runs that reached something that no other run reached, and the ordered pairs of another run and one
// without which it would be among them.
func (s *Set) rare() (only, pairs int) {
	runs, both := map[int]bool{}, map[[2]int]bool{}
	//lockstep:unordered numbers are counted
	for _, by := range s.reached {
		if by.n == 1 {
			runs[by.first] = true
		}
	}
	//lockstep:unordered numbers are counted
	for _, by := range s.reached {
		if by.n != 2 {
			continue
		}
		for _, p := range [][2]int{{by.first, by.second}, {by.second, by.first}} {
			if !runs[p[0]] {
				both[p] = true
			}
		}
	}
	return len(runs), len(both)
}

// packedSet is the form of a Set in JSON.
type packedSet struct {
	Runs    int    `json:"runs"`
	Reached []byte `json:"reached,omitempty"`
}

// MarshalJSON packs the features: differences between sorted ones, each with its runs.
func (s Set) MarshalJSON() ([]byte, error) {
	p := packedSet{Runs: s.runs}
	if len(s.reached) > 0 {
		var text []byte
		last := uint64(0)
		for _, f := range slices.Sorted(maps.Keys(s.reached)) {
			by := s.reached[f]
			text = binary.AppendUvarint(text, f-last)
			text = append(text, byte(by.n))
			if by.n < manyRuns {
				text = binary.AppendUvarint(text, uint64(by.first))
			}
			if by.n == 2 {
				text = binary.AppendUvarint(text, uint64(by.second-by.first))
			}
			last = f
		}
		var b bytes.Buffer
		w, err := flate.NewWriter(&b, flate.BestSpeed)
		if err != nil {
			return nil, err
		}
		if _, err = w.Write(text); err == nil {
			err = w.Close()
		}
		if err != nil {
			return nil, err
		}
		p.Reached = b.Bytes()
	}
	return json.Marshal(p)
}

var errForm = errors.New("what the runs reached is not in the form that Lockstep writes")

// maxText bounds the unpacked form.
const maxText = maxFeatures * (2*binary.MaxVarintLen64 + 2)

// UnmarshalJSON unpacks the features. The text may come from another machine.
func (s *Set) UnmarshalJSON(text []byte) error {
	var p packedSet
	if err := json.Unmarshal(text, &p); err != nil {
		return err
	}
	*s = Set{runs: p.Runs}
	if len(p.Reached) == 0 {
		return s.check()
	}
	r := io.LimitReader(flate.NewReader(bytes.NewReader(p.Reached)), maxText)
	list, err := io.ReadAll(r)
	if err != nil {
		return errForm
	}
	s.reached = map[uint64]reachers{}
	for last := uint64(0); len(list) > 0; {
		if last, list, err = s.unpack(last, list); err != nil {
			return err
		}
	}
	return s.check()
}

// unpack reads the next feature.
func (s *Set) unpack(last uint64, list []byte) (feature uint64, rest []byte, err error) {
	more, size := binary.Uvarint(list)
	if size <= 0 || len(list) == size || more == 0 && len(s.reached) > 0 || more > math.MaxUint64-last ||
		len(s.reached) >= maxFeatures {
		return 0, nil, errForm
	}
	by := reachers{n: int(list[size])}
	list = list[size+1:]
	if by.n < 1 || by.n > manyRuns {
		return 0, nil, errForm
	}
	var numbers [2]uint64
	for i := range numbers[:by.n%manyRuns] {
		numbers[i], size = binary.Uvarint(list)
		if size <= 0 || numbers[i] > math.MaxInt32 {
			return 0, nil, errForm
		}
		list = list[size:]
	}
	if by.first = int(numbers[0]); by.n == 2 {
		by.second = by.first + int(numbers[1])
	}
	s.reached[last+more] = by
	return last + more, list, nil
}

// check reports numbers that no campaign has.
func (s *Set) check() error {
	if s.runs < 0 || s.runs == 0 && len(s.reached) > 0 {
		return errForm
	}
	return nil
}

// Check reports why this cannot be what runs from first up to, not including, end reached.
func (s *Set) Check(first, end int) error {
	if s.runs > end-first {
		return fmt.Errorf("features of %d runs, where there are %d", s.runs, end-first)
	}
	for _, f := range slices.Sorted(maps.Keys(s.reached)) {
		by := s.reached[f]
		last := cmp.Or(by.second, by.first)
		if by.n < manyRuns && (by.first < first || last >= end) || by.n == 2 && by.first == by.second {
			return fmt.Errorf("a feature of the runs %d and %d, where there are %d to %d", by.first, by.second, first, end-1)
		}
		if min(by.n, manyRuns) > s.runs {
			return fmt.Errorf("a feature of %d runs, where %d are measured", by.n, s.runs)
		}
	}
	return nil
}
