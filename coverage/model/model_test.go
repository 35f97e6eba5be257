package model_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/coverage/model"
)

// Visits of several processes add up to those of one, in any order, and the report lists what is left.
func TestReport(t *testing.T) {
	at := func(rule, before, after string) model.Transition {
		return model.Transition{Rule: rule, Before: before, After: after}
	}
	a := &model.Visits{Runs: 2, Transitions: []model.Transition{at("r", "0", "1"), at("s", "1", "1")}}
	b := &model.Visits{Runs: 3, Transitions: []model.Transition{at("r", "0", "1"), at("r", "5", "6")}}
	var sum, other model.Visits
	for _, v := range []*model.Visits{a, b} {
		sum.Add(v)
	}
	for _, v := range []*model.Visits{b, a} {
		other.Add(v)
	}
	if sum.Runs != 5 || len(sum.Transitions) != 3 || !slices.Equal(sum.Transitions, other.Transitions) {
		t.Fatalf("%v and %v", sum, other)
	}
	r := model.Of(&sum, &model.Reach{Model: "M", Bound: "2 phases", Incomplete: "a limit", Rules: []string{"r", "s", "u"},
		Transitions: []model.Transition{at("r", "0", "1"), at("r", "1", "2"), at("r", "2", "3"), at("r", "3", "4"),
			at("s", "1", "1"), at("u", "1", "1")}})
	if want := (model.Share{Visited: 2, Of: 6}); r.Transitions != want || r.Beyond != 1 || len(r.Never) != 4 {
		t.Errorf("%+v", r)
	}
	const text = `model M: 2 of 3 rules exercised in 5 passing runs
model M: 2 of 6 (33.3%) transitions (rule, kind of state before and after) of a search to 2 phases
  the search is not complete: a limit
  and 1 transition that this search does not reach
never: u
never: r: 1 -> 2
never: r: 2 -> 3
never: r: and 1 more`
	if got := strings.Join(r.Lines(), "\n"); got != text {
		t.Errorf("%s", got)
	}
}

func TestSuite(t *testing.T) {
	s := model.Suite{Dir: "d", Tests: 4, Realized: 1, Ended: 1, NotRun: 1, Diverged: []model.Divergence{
		{Test: "007", Round: 2, Name: "Ack", Node: 3, Expected: "Ack to 1", Observed: "no Ack"}}}
	const text = `suite d: 1 of 4 tests realized as written, 1 diverged, 1 ended early, 1 not run` +
		`; only messages were compared, because no mapping fits the system's events
  test 007 diverges in round 2 (Ack) at node 3: expected Ack to 1, observed no Ack`
	if got := strings.Join(s.Lines(), "\n"); got != text {
		t.Errorf("%s", got)
	}
}
