package coverage_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/lockstep-go/lockstep/cover"
	"github.com/lockstep-go/lockstep/coverage"
)

// For any distribution of the runs over meters, the sum is the count of a single meter.
func TestSums(t *testing.T) {
	space := cover.Uniform(6, 2)
	watches := []coverage.Watch{
		must(coverage.WatchGoals(cover.Split{K: 2}, space)),
		must(coverage.WatchGoals(cover.Separate{K: 1, L: 3}, space)),
		{Name: "leader", Goals: []cover.Goal{cover.RoleGoal{Kind: cover.Isolates, A: "leader"}}, Often: true},
		{Name: "no node", Goals: []cover.Goal{cover.RoleGoal{Kind: cover.Isolates, A: "no node"}}, WhenMet: true},
	}
	rng := seeded(9)
	for range 40 {
		runs, whole := campaign(rng, space, 1+rng.IntN(60), watches...)
		part, sum := must(coverage.NewMeter(watches...)), coverage.Sum{}
		again := must(coverage.NewMeter(watches...))
		for i, run := range runs {
			part.Add(run)
			if rng.IntN(4) > 0 && i < len(runs)-1 {
				continue
			}
			text := must(json.Marshal(part.Take()))
			var sent coverage.Sum
			if err := json.Unmarshal(text, &sent); err != nil {
				t.Fatal(err)
			}
			if err := sum.Add(&sent); err != nil {
				t.Fatal(err)
			}
			if err := again.Put(sent); err != nil {
				t.Fatal(err)
			}
		}
		atOnce := must(coverage.NewMeter(watches...))
		if err := atOnce.Put(sum); err != nil {
			t.Fatal(err)
		}
		for _, m := range []*coverage.Meter{again, atOnce} {
			if !reflect.DeepEqual(m.Read(), whole.Read()) ||
				!reflect.DeepEqual(m.Missing(watches[1].Name), whole.Missing(watches[1].Name)) {
				t.Fatalf("%d runs:\n%+v\nin one piece:\n%+v", len(runs), m.Read(), whole.Read())
			}
		}
	}
}

// Sums that no meter with these watches can have counted are rejected, and change nothing.
func TestSumsRefuse(t *testing.T) {
	watch := must(coverage.WatchGoals(cover.Split{K: 2}, cover.Uniform(4, 2)))
	good := func() coverage.Sum {
		return coverage.Sum{
			Runs: 3,
			Watches: []coverage.Counted{
				{
					Tests: 5,
					News:  []coverage.News{{Run: 1, Tests: 2, Goals: []int{0, 3}}, {Run: 3, Tests: 5, Goals: []int{1}}},
				},
			},
		}
	}
	for name, corrupt := range map[string]func(*coverage.Sum){
		"watches":  func(s *coverage.Sum) { s.Watches = append(s.Watches, coverage.Counted{}) },
		"none":     func(s *coverage.Sum) { s.Watches = nil },
		"order":    func(s *coverage.Sum) { s.Watches[0].News[1].Run = 1 },
		"tests":    func(s *coverage.Sum) { s.Watches[0].News[1].Tests = 6 },
		"runs":     func(s *coverage.Sum) { s.Runs = 2 },
		"hits":     func(s *coverage.Sum) { s.Watches[0].Hits = 4 },
		"negative": func(s *coverage.Sum) { s.Watches[0].News[0].Goals[0] = -1 },
		"unsorted": func(s *coverage.Sum) { s.Watches[0].News[0].Goals = []int{3, 0} },
		"unknown":  func(s *coverage.Sum) { s.Watches[0].News[1].Goals[0] = 1000 },
	} {
		m := must(coverage.NewMeter(watch))
		bad := good()
		corrupt(&bad)
		if err := m.Put(bad); err == nil || m.Read()[0].Runs != 0 {
			t.Errorf("%s: %v", name, err)
		}
		if err := m.Put(good()); err != nil || m.Read()[0].Covered != 3 {
			t.Errorf("after %s: %v", name, err)
		}
	}
}

// The sum of runs measured in two places.
func ExampleMeter_Put() {
	watch, _ := coverage.WatchGoals(cover.Isolate{}, cover.Uniform(3, 2))
	here, _ := coverage.NewMeter(watch)
	there, _ := coverage.NewMeter(watch)
	cut := func(node int) []cover.Stage {
		p, _ := cover.ParsePartition(fmt.Sprintf("%d|%d,%d", node, node%3+1, (node+1)%3+1))
		return []cover.Stage{{Partition: p}}
	}
	here.Add(cut(1))
	there.Add(cut(1))
	there.Add(cut(2))
	err := here.Put(there.Take())
	r := here.Read()[0]
	fmt.Println(r.Runs, r.Covered, r.Goals, err)
	// Output: 3 2 3 <nil>
}
