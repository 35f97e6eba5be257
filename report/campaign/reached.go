package campaign

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/coverage/code"
	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/novelty"
)

// reached says what the runs executed, package by package, and what the next run may reach.
func (c *Campaign) reached() (lines []string) {
	if r := c.Code; r != nil {
		lines = append(lines, "statements executed in "+words.Count(r.Runs, "run")+":")
		width := 0
		for _, p := range r.Packages {
			width = max(width, len(p.Package))
		}
		for _, p := range append(r.Packages[:len(r.Packages):len(r.Packages)], r.Total) {
			lines = append(lines, fmt.Sprintf("  %-*s  %s", width, p.Package, executed(p)))
		}
	}
	if c.Suite != nil {
		lines = append(lines, c.Suite.Lines()...)
	}
	if c.Model != nil {
		lines = append(lines, c.Model.Lines()...)
	}
	if next := c.next(); next != nil {
		lines = append(lines, "next run: "+nextRun(*next))
	}
	return lines
}

// next is what the campaign says about its next run, or nil.
func (c *Campaign) next() *novelty.Estimate {
	e, ok := c.Result.NextRun()
	switch {
	case !ok || c.Suite != nil: // the runs of a suite are no draws
		return nil
	case c.Next != nil:
		return c.Next
	default:
		return &e
	}
}

// executed describes how many statements were executed.
func executed(c code.Count) string {
	name := ""
	if c.Package == "" {
		name = "in all: "
	}
	text := fmt.Sprintf("%s%s of %d", name, share(c.Executed, c.Statements), c.Statements)
	if c.UnderFaults > 0 {
		text += fmt.Sprintf(", %s only under faults", share(c.UnderFaults, c.Statements))
	}
	return text
}

// share formats a share of statements in per cent.
func share(part, of int) string { return fmt.Sprintf("%5.1f%%", 100*float64(part)/float64(max(of, 1))) }

// nextRun says what a campaign says about its next run.
func nextRun(e novelty.Estimate) string {
	return fmt.Sprintf("reaches something new with probability %s (%.0f%% confidence: %s to %s); "+
		"%d of %s reached something that no other run did: %s", percent(e.Probability), 100*e.Confidence,
		percent(e.Lower), percent(e.Upper), e.Only, words.Count(e.Runs, "run"), e.Criterion)
}

// probability is the probability that the next run reaches something new, with its limits.
func probability(e novelty.Estimate) string {
	return fmt.Sprintf("%s (%s to %s)", percent(e.Probability), percent(e.Lower), percent(e.Upper))
}

// NextRun says how likely the next run of a campaign reaches something new, if there is an estimate.
func NextRun(r *lockstep.Result) (lines []string) {
	if e, ok := r.NextRun(); ok {
		lines = append(lines, "next run: "+nextRun(e))
	}
	return lines
}
