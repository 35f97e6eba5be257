// Command tables generates the tables of docs/evidence/strategies.md, in Markdown:
//
//	go run ./internal/tables [-nodes 3] [-sizes n,r,k,d,w]
//
// With -sizes it prints only Table 1 of the paper. The sizes are the number of nodes, of rounds, of rounds of a period
// and of isolations, and the width of the partial order.
//
// It uses fixed seeds, so that its output is deterministic.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/compare"
	"github.com/lockstep-go/lockstep/lockstepform"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/pbft"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

const (
	runs = 5000 // of each row
	// runsLate is the number of runs of each row of the table about lateness.
	runsLate = 1500
	repeat   = 20
	atMost   = 2000
	// atMostOther bounds the runs of the campaigns with other bugs, ten with each strategy.
	atMostOther = 400
	seed        = 1
	heading     = "strategy"
)

func main() {
	nodes := flag.Int("nodes", 3, "number of nodes")
	only := flag.String("sizes", "", "nodes, rounds, period, bound and width, for Table 1 alone")
	flag.Parse()
	var err error
	if *only != "" {
		err = table1(os.Stdout, *only)
	} else {
		err = (bench{*nodes}).tables(context.Background(), os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tables:", err)
		os.Exit(1)
	}
}

// bench makes tables for this number of nodes.
type bench struct{ nodes int }

// steps returns the length of four phases without loss: a timer, and n Prepares, n Acks, n Proposes and n*n Promises.
func (b bench) steps() int { return 4 * (1 + 3*b.nodes + b.nodes*b.nodes) }

// plan returns the common plan of all rows: the papers' bug.
func (b bench) plan() lockstep.Plan {
	return lockstep.Plan{System: smr.Cluster{Nodes: b.nodes, Bug: true}, Spec: smr.Prefix, Runs: runs, Seed: seed}
}

// table1 writes Table 1 of the paper for the given numbers.
func table1(w io.Writer, numbers string) error {
	var n, r, k, d, width int
	if read, err := fmt.Sscanf(numbers, "%d,%d,%d,%d,%d", &n, &r, &k, &d, &width); err != nil || read != 5 {
		return fmt.Errorf("sizes are %q, want five numbers: nodes,rounds,period,bound,width", numbers)
	}
	sizes, err := strategy.SpaceSizes(n, r, k, d, width)
	if err != nil {
		return err
	}
	fmt.Fprintf(
		w,
		"### Executions of %d nodes and %d rounds, k = %d, d = %d, w = %d\n\n| set of executions | Table 1 | exactly "+
			"|\n|---|--:|--:|\n",
		n,
		r,
		k,
		d,
		width,
	)
	for _, s := range sizes {
		exact := "-"
		if s.Exact != nil {
			exact = number(s.Exact)
		}
		fmt.Fprintf(w, "| %s | %s | %s |\n", s.Set, number(s.Paper), exact)
	}
	fmt.Fprintln(w)
	return nil
}

// number writes small numbers in full and large ones as a power of ten.
func number(n *big.Int) string {
	if n.BitLen() <= 53 {
		return n.String()
	}
	return new(big.Float).SetInt(n).Text('e', 2)
}

// shapes writes the shapes of the system's rounds.
func (b bench) shapes(ctx context.Context, w io.Writer) error {
	p := b.plan()
	p.Strategy = strategy.DefaultLossy
	s, err := lockstepform.ShapesOf(ctx, p, 1000)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "### Senders and receivers\n\n| round | one-to-all | all-to-one | other |\n|---|--:|--:|--:|\n")
	for _, r := range s.Rounds {
		fmt.Fprintf(w, "| %s | %d | %d | %d |\n", r.Name, r.OneToAll, r.AllToOne, r.Other)
	}
	advice := strings.ReplaceAll(s.Advice(), ". ", ".\n") // lines of at most 120 columns
	_, err = fmt.Fprintf(w, "\nIn %d runs of `%s`: %s.\n\n", s.Runs, p.Strategy, advice)
	return err
}

// lateness writes how many runs of pctcp find a bug, by the number of times that an event may be overtaken.
func (b bench) lateness(ctx context.Context, w io.Writer) error {
	fmt.Fprintf(
		w,
		"### How late an event may be\n\n| strategy | smr-bug | pbft, 2f a quorum | pbft, a view forgets |\n"+
			"|---|--:|--:|--:|\n",
	)
	for _, late := range []int{0, 5, 10, 20, 30, 50, 100, strategy.Unbounded} {
		p := b.plan()
		p.Strategy = strategy.PCTCP{Depth: 5, Late: late, Steps: 300}
		p.Runs, p.KeepGoing, p.Keep = runsLate, true, 1
		fmt.Fprintf(w, "| `late=%d` |", late)
		for _, system := range []lockstep.System{
			p.System,
			pbft.Cluster{SmallQuorum: true},
			pbft.Cluster{Forgetful: true},
		} {
			if p.System = system; system != b.plan().System {
				p.Spec = pbft.Agreement
			}
			result, err := lockstep.Explore(ctx, p)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, " %d |", result.Verdicts[trace.Fail])
		}
		fmt.Fprintln(w)
	}
	_, err := fmt.Fprintf(w, "\nBuggy runs of %d of `pctcp:depth=5,steps=300`.\n\n", runsLate)
	return err
}

// tables writes all tables.
func (b bench) tables(ctx context.Context, w io.Writer) error {
	if err := table1(w, fmt.Sprintf("%d,16,4,4,%d", b.nodes, b.nodes)); err != nil {
		return err
	}
	if err := b.shapes(ctx, w); err != nil {
		return err
	}
	for _, table := range []struct {
		title      string
		strategies []lockstep.Strategy
	}{
		{"Isolated nodes return after k rounds, d = 8", periods()},
		{"d isolations, k = 4", bounds()},
		{"Equal budget", b.budget()},
	} {
		var rows []compare.Profile
		for _, s := range table.strategies {
			p := b.plan()
			p.Strategy = s
			row, err := compare.ProfileOf(ctx, p, smr.Output)
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
		fmt.Fprintf(w, "### %s\n\n", table.title)
		if err := compare.WriteProfiles(w, heading, rows); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	if err := b.lateness(ctx, w); err != nil {
		return err
	}
	if err := b.every(ctx, w); err != nil {
		return err
	}
	if err := comparison(ctx, w, "Runs to the first finding", compare.Comparison{
		Plan:       b.plan(),
		Repeat:     repeat,
		Strategies: b.budget(),
	}, atMost); err != nil {
		return err
	}
	for _, bug := range []struct {
		title   string
		cluster pbft.Cluster
	}{
		{"PBFT in which 2f nodes make a quorum", pbft.Cluster{SmallQuorum: true}},
		{"PBFT in which a new view forgets", pbft.Cluster{Forgetful: true}},
	} {
		c := compare.Comparison{Plan: b.plan(), Strategies: defaults()}
		c.Plan.System, c.Plan.Spec = bug.cluster, pbft.Agreement
		if err := comparison(ctx, w, bug.title, c, atMostOther); err != nil {
			return err
		}
	}
	return nil
}

// every makes all uniform executions of four phases with at most three isolations.
func (b bench) every(ctx context.Context, w io.Writer) error {
	p := b.plan()
	p.Strategy = strategy.Uniform{Period: 4, Isolations: 3, Rounds: 16, Sampler: strategy.Every}
	p.Runs, p.KeepGoing, p.Keep = math.MaxInt, true, 1
	result, err := lockstep.Explore(ctx, p)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "### Every uniform execution\n\n`%s`:\n%s,\nof which %d are buggy.\n\n",
		result.Strategy, result.Reached, result.Verdicts[trace.Fail])
	return err
}

// periods returns strategies with varying k, as in the left half of Table 2.
func periods() (list []lockstep.Strategy) {
	for _, k := range []int{1, 2, 4, 6, 8, 10} {
		list = append(list, strategy.Uniform{Period: k, Isolations: 8, Rounds: 24, Sampler: strategy.Paper})
	}
	return list
}

// bounds returns strategies with varying d, as in the right half of Table 2. A phase has four rounds here and six
// there.
func bounds() (list []lockstep.Strategy) {
	for _, d := range []int{3, 4, 5, 6, 8, 10} {
		list = append(list, strategy.Uniform{Period: 4, Isolations: d, Rounds: 24, Sampler: strategy.Paper})
	}
	return list
}

// budget returns one strategy of each kind, with runs of about four phases.
func (b bench) budget() []lockstep.Strategy {
	steps := b.steps()
	delay, shadow, walk := strategy.DefaultDelay, strategy.DefaultQueues, strategy.DefaultWalk
	delay.Steps, shadow.Steps, walk.Steps = steps, steps, steps
	return []lockstep.Strategy{
		strategy.DefaultUniform,
		strategy.DefaultLossy,
		strategy.Lossy{Rounds: 16, Loss: 0.5},
		strategy.Baseline{Drop: 0.125, Steps: steps},
		strategy.Baseline{Drop: 0.25, Steps: steps},
		strategy.Baseline{Drop: 0.5, Steps: steps},
		strategy.PCTCP{Depth: 3, Steps: steps},
		strategy.PCTCP{Depth: 5, Steps: steps},
		strategy.PCTCP{Depth: 5, Races: true, Steps: steps},
		strategy.POS{Steps: steps},
		shadow,
		delay,
		walk,
		strategy.Guided{Inner: strategy.Inner{Strategy: strategy.DefaultUniform}, Fresh: 0.25, Keep: 1000},
		strategy.Guided{Inner: strategy.Inner{Strategy: strategy.POS{Steps: steps}}, Fresh: 0.25, Keep: 1000},
	}
}

// defaults returns one strategy of each kind with its default options. Runs in rounds are as long as the others, about
// 300 steps.
func defaults() []lockstep.Strategy {
	walk := strategy.DefaultWalk
	walk.Steps = 300
	return []lockstep.Strategy{
		strategy.Uniform{Period: 4, Isolations: 16, Rounds: 64},
		strategy.Lossy{Rounds: 64, Loss: 0.2},
		strategy.Baseline{Drop: 0.25, Steps: 300},
		strategy.PCTCP{Depth: 3, Steps: 300},
		strategy.DefaultPCTCP,
		strategy.PCTCP{Depth: 10, Steps: 300},
		strategy.DefaultPOS,
		strategy.DefaultQueues,
		strategy.DefaultDelay,
		walk,
		strategy.DefaultGuided,
	}
}

// comparison writes how many runs the strategies need, as lockstep compare does.
func comparison(ctx context.Context, w io.Writer, title string, c compare.Comparison, atMost int) error {
	c.Plan.Runs = atMost
	result, err := compare.Strategies(ctx, c)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "### %s\n\n```\n", title)
	if err := result.WriteText(w); err != nil {
		return err
	}
	_, err = fmt.Fprint(w, "```\n\n")
	return err
}
