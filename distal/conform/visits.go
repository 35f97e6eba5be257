package conform

import (
	"fmt"
	"sync"

	"github.com/lockstep-go/lockstep/distal/core"
)

// visits counts what passing runs exercised of a model. Monitors of several workers share it.
type visits struct {
	mutex sync.Mutex
	runs  int
	rules map[int]int // runs by the rules of their first behavior
}

func newVisits() *visits { return &visits{rules: map[int]int{}} }

// add adds a run: the first of the behaviors that explain it.
func (v *visits) add(s *search) {
	seen := map[int]bool{}
	for e := s.worlds[0].past; e != nil; e = e.before {
		seen[e.rule] = true
	}
	v.mutex.Lock()
	defer v.mutex.Unlock()
	v.runs++
	for rule := range seen { //lockstep:unordered it adds up
		v.rules[rule]++
	}
}

// notes says which rules of a program the runs exercised.
func (v *visits) notes(p *core.Program) []string {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if v.runs == 0 {
		return nil
	}
	exercised, never := 0, []string(nil)
	for _, r := range p.Rules {
		if v.rules[r.Index] > 0 {
			exercised++
			continue
		}
		never = append(never, fmt.Sprintf("never: %s (line %d)", r.Label(p), r.Body.Pos.Line))
	}
	return append([]string{fmt.Sprintf("model %s: %d of %d rules exercised in %d passing runs", p.Name, exercised,
		len(p.Rules), v.runs)}, never...)
}
