package campaign

import "github.com/lockstep-go/lockstep/internal/exact"

// Rate bounds the probability that one run fails: at least Lower and at most Upper, each with the given confidence.
type Rate struct {
	Confidence float64 `json:"confidence"` // of each bound
	Lower      float64 `json:"lower"`      // lower bound of the probability
	Upper      float64 `json:"upper"`      // upper bound of the probability
}

// DefaultConfidence is the confidence of the bounds in reports.
const DefaultConfidence = 0.95

// FailureRate bounds the probability of failure by exact binomial confidence limits (Clopper and Pearson). Upper is the
// largest probability with which this number of failures, or fewer, still has a probability of at least 1 - confidence.
// Lower is defined likewise for this number or more. The runs must be independent draws; for a campaign that ends with
// its first finding, the bounds are conservative. Without runs the bounds are 0 and 1.
func FailureRate(runs, failures int, confidence float64) Rate {
	r := Rate{Confidence: confidence, Upper: 1}
	failures = min(max(failures, 0), max(runs, 0))
	if runs <= 0 || !(confidence > 0 && confidence < 1) {
		return r
	}
	r.Lower, r.Upper = exact.Limits(failures, runs, 1-confidence)
	return r
}
