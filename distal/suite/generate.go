package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/explore"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/distal/sequential"
	"github.com/lockstep-go/lockstep/internal/words"
)

// Options say which tests are made.
type Options struct {
	Instance distal.Options
	Cover    explore.Cover
	Rounds   int
	States   int // states of a round after which the search ends; 0: explore.DefaultCoverStates
	// Requests are the lines of the rules that are requests of clients: timeouts in the model
	Requests []int
	_        struct{}
}

// Suite is a generated suite.
type Suite struct {
	// Files are the texts of the files by name.
	Files map[string]string
	// Tests is the number of tests, and Items that of what they cover together.
	Tests, Items int
	// Summary says what the tests cover, and what no run of so many rounds reaches.
	Summary string
}

// Generate makes a suite from the text of a model.
func Generate(ctx context.Context, src string, o Options) (*Suite, distal.Remarks, error) {
	m, _, remarks := distal.NewModel(src, o.Instance)
	if m == nil {
		return nil, remarks, nil
	}
	if err := errors.Join(fits(m), requests(m, o.Requests)); err != nil {
		return nil, remarks, err
	}
	found, err := explore.CoverPaths(ctx, m, explore.CoverOptions{Cover: o.Cover, Rounds: o.Rounds, States: o.States})
	if err != nil {
		return nil, remarks, err
	}
	out := &Suite{Files: map[string]string{ModelFile: src}, Tests: len(found.Paths), Items: found.Items}
	head := header(m)
	for i, p := range found.Paths {
		out.Files[fmt.Sprintf("%03d%s", i+1, extension)] = head + testText(m, &p, o.Requests)
	}
	out.Summary = summary(m, o, found)
	out.Files[SummaryFile] = out.Summary
	return out, remarks, nil
}

// fits refuses models whose runs are no schedules of rounds.
func fits(m *sequential.Model) error {
	if m.Source == nil {
		return fmt.Errorf("protocol %s is in lock-step; a suite needs a program that has rules", m.Program.Core.Name)
	}
	for _, r := range m.Source.Core.Rules {
		if _, waits := r.Trigger.(core.OnRoundTimeout); waits {
			return fmt.Errorf("%s: %s waits for the end of a round; a suite needs timeouts without a round", r.Body.Pos,
				r.Label(m.Source.Core))
		}
	}
	return nil
}

// requests reports a line that has no rule for a request.
func requests(m *sequential.Model, lines []int) error {
	if m.Source == nil {
		return nil
	}
	var allowed []string
	for _, r := range m.Source.Core.Rules {
		if _, plain := r.Trigger.(core.OnTimeout); plain {
			allowed = append(allowed, strconv.Itoa(r.Body.Pos.Line))
		}
	}
	for _, line := range lines {
		if !slices.Contains(allowed, strconv.Itoa(line)) {
			return fmt.Errorf("line %d has no timeout that can be a request; allowed: %s", line, strings.Join(allowed, ", "))
		}
	}
	return nil
}

// header begins a test.
func header(m *sequential.Model) string {
	var b strings.Builder
	fmt.Fprintf(&b, "suite %d\nprotocol %s\n", Version, m.Program.Core.Name)
	params := m.Program.Params()
	for _, name := range slices.Sorted(maps.Keys(params)) {
		fmt.Fprintf(&b, "param %s=%d\n", name, params[name])
	}
	return b.String()
}

// testText writes a path as the rounds of a test.
func testText(m *sequential.Model, p *explore.Path, requests []int) string {
	var b strings.Builder
	for _, what := range p.New {
		fmt.Fprintf(&b, "# covers %s\n", what)
	}
	before := make([]string, len(p.Start))
	for i, s := range p.Start {
		before[i] = m.Program.FormatState(s)
	}
	for k, row := range p.Rows {
		fmt.Fprintf(&b, "\nround %d %s\n", k+1, m.Program.Round(row.Tag))
		for i, c := range row.Nodes {
			if c.Began == nil {
				continue
			}
			word := "timeout"
			if slices.Contains(requests, c.Began.Rule.Body.Pos.Line) {
				word = "request"
			}
			fmt.Fprintf(&b, "%s %d: %s\n", word, i+1, ruleText(m, c.Began))
		}
		for i, c := range row.Nodes {
			if c.Received != 0 {
				fmt.Fprintf(&b, "hear %d: %s\n", i+1, nodesText(c.Received))
			}
		}
		for i, c := range row.Nodes {
			if now := m.Program.FormatState(c.State); now != before[i] {
				fmt.Fprintf(&b, "state %d: %s\n", i+1, now)
				before[i] = now
			}
		}
	}
	return b.String()
}

// ruleText names the rule of an action.
func ruleText(m *sequential.Model, a *core.Action) string {
	return machine.RuleText(m.Program.Core, a.Rule)
}

// nodesText lists nodes by number.
func nodesText(set uint64) string {
	var parts []string
	for i := range core.MaxNodes {
		if set>>i&1 != 0 {
			parts = append(parts, fmt.Sprint(i+1))
		}
	}
	return strings.Join(parts, " ")
}

// summary says what the tests cover.
func summary(m *sequential.Model, o Options, found *explore.CoverResult) string {
	var b strings.Builder
	what := string(o.Cover)
	switch o.Cover {
	case explore.CoverKinds:
		what = "transitions between kinds of states"
	case explore.CoverPairs:
		what = "pairs of transitions between kinds of states"
	}
	fmt.Fprintf(&b, "%s of %s with %d nodes cover all %d %s that %d searched states of %s reach\n",
		words.Count(len(found.Paths), "test"), m.Program.Core.Name, m.Program.N, found.Items, what, found.States,
		words.Count(found.Rounds, "round"))
	if found.Rounds < o.Rounds {
		fmt.Fprintf(&b, "not reached: rounds %d to %d, because there are too many states, or nothing more can happen\n",
			found.Rounds+1, o.Rounds)
	}
	for _, r := range m.Source.Core.Rules {
		if !slices.Contains(found.Reached, r.Index) {
			fmt.Fprintf(&b, "not reached: %s\n", machine.RuleText(m.Source.Core, r))
		}
	}
	return b.String()
}

// Write writes the files with a function that writes one.
func (s *Suite) Write(write func(name string, content func(io.Writer) error) error) error {
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		err := write(name, func(w io.Writer) error {
			_, err := io.WriteString(w, s.Files[name])
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
