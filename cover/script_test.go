package cover_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/lockstep-go/lockstep/cover"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// TestScripts runs the golden scripts under testdata; -rewrite writes them again.
func TestScripts(t *testing.T) {
	tier.NotShort(t)
	for _, path := range must(filepath.Glob("testdata/*.txt")) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				switch d.Cmd {
				case "plan":
					return plan(d)
				case "smallest":
					return smallest(t, d)
				}
				return "unknown command " + d.Cmd
			})
		})
	}
}

// plan split nodes=5 k=2 confidence=0.95 json
//
// The first argument is the criterion, the others are the fields of Params.
func plan(d *datadriven.TestData) string {
	var p cover.Params
	asJSON := false
	for i, arg := range d.CmdArgs {
		if i == 0 {
			p.Criterion = arg.Key
			continue
		}
		value := ""
		if len(arg.Vals) > 0 {
			value = arg.Vals[0]
		}
		number, _ := strconv.ParseFloat(value, 64)
		switch arg.Key {
		case "nodes":
			p.Nodes = int(number)
		case "k":
			p.K = int(number)
		case "l":
			p.L = int(number)
		case "balanced":
			p.Balanced = true
		case "bridge":
			p.Bridge = int(number)
		case "operations":
			p.Operations = int(number)
		case "targets":
			p.Targets = int(number)
		case "confidence":
			p.Confidence = number
		case "tests":
			p.Tests = int(number)
		case "json":
			asJSON = true
		default:
			return "unknown argument " + arg.Key
		}
	}
	answer, err := cover.Plan(p)
	switch {
	case err != nil:
		return "error: " + err.Error()
	case asJSON:
		return string(must(json.Marshal(answer)))
	}
	return answer.String()
}

// smallest k=3 nodes=4-9 budget=1000
//
// prints a row for each number of nodes: the size of the smallest family known for
// (k,l)-separation, for k-splitting if there is no l, for isolation if there is
// neither. With "show" the family follows. Every family is checked.
func smallest(t *testing.T, d *datadriven.TestData) string {
	var k, l, low, high, budget int
	d.MaybeScanArgs(t, "k", &k)
	d.MaybeScanArgs(t, "l", &l)
	budget = 200_000
	d.MaybeScanArgs(t, "budget", &budget)
	var nodes string
	d.ScanArgs(t, "nodes", &nodes)
	if _, err := fmt.Sscanf(nodes, "%d-%d", &low, &high); err != nil {
		return "error: nodes=" + nodes
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%5s %7s %9s %7s %22s %7s %9s\n", "nodes", "goals", "smallest", "proved", "method", "exists",
		"random80")
	for n := low; n <= high; n++ {
		criterion, space := cover.Criterion(cover.Isolate{}), cover.Uniform(n, 2)
		switch {
		case l > 0:
			criterion = cover.Separate{K: k, L: l}
		case k > 0:
			criterion, space = cover.Split{K: k}, cover.Uniform(n, k)
		}
		family, err := cover.Smallest(criterion, space, budget)
		if err != nil {
			return "error: " + err.Error()
		}
		if err := cover.Check(criterion, space, family.Partitions); err != nil {
			t.Errorf("%v over %v: %v", criterion, space, err)
		}
		probability := must(cover.ProbabilityOf(criterion, space))
		size, proved := len(family.Partitions), "yes"
		if size > family.Lower {
			proved = fmt.Sprintf(">= %d", family.Lower)
		}
		theorem := must(cover.Theorem31(probability.Bound, probability.Goals))
		fmt.Fprintf(&b, "%5d %7v %9d %7s %22s %7d %9d\n", n, probability.Goals, size, proved, family.Method,
			must(theorem.Exists()), must(probability.Union().Enough(0.8)))
		if d.HasArg("show") {
			fmt.Fprintf(&b, "      %v\n", family.Partitions)
		}
	}
	return b.String()
}
