package model

import "fmt"

// Suite is what the runs of a campaign did with the tests of a suite.
type Suite struct {
	// Dir is the directory of the suite.
	Dir string `json:"dir"`
	// States reports that what nodes show was compared with their states in the model, not their messages alone.
	States bool `json:"states"`
	// Tests is the number of tests, and Realized that of those that ran as they are written. Ended of them ended before
	// their last round without a divergence, mostly by a finding, and NotRun did not run.
	Tests    int `json:"tests"`
	Realized int `json:"realized"`
	Ended    int `json:"ended"`
	NotRun   int `json:"not_run"`
	// Diverged are the first divergences of the others.
	Diverged []Divergence `json:"diverged"`
}

// Divergence is where a run differs from its test.
type Divergence struct {
	Test string `json:"test"`
	// Round is the number of the round, from 1, and Name its name. Node is the node.
	Round int    `json:"round"`
	Name  string `json:"name"`
	Node  int    `json:"node"`
	// Expected is what the test says, and Observed what the node did.
	Expected string `json:"expected"`
	Observed string `json:"observed"`
}

// String is the divergence as text.
func (d *Divergence) String() string {
	return fmt.Sprintf("test %s diverges in round %d (%s) at node %d: expected %s, observed %s", d.Test, d.Round, d.Name,
		d.Node, d.Expected, d.Observed)
}

// Lines is the result as text.
func (s *Suite) Lines() []string {
	lines := []string{fmt.Sprintf("suite %s: %d of %d tests realized as written, %d diverged", s.Dir, s.Realized, s.Tests,
		len(s.Diverged))}
	if s.Ended > 0 {
		lines[0] += fmt.Sprintf(", %d ended early", s.Ended)
	}
	if s.NotRun > 0 {
		lines[0] += fmt.Sprintf(", %d not run", s.NotRun)
	}
	if !s.States {
		lines[0] += "; only messages were compared, because no mapping fits the system's events"
	}
	for i := range s.Diverged {
		lines = append(lines, "  "+s.Diverged[i].String())
	}
	return lines
}
