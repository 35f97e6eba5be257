// Command properties prints a table of how many runs of a campaign with default options check each property of a
// target. It exits with status 1 if fewer than half of the runs check a property.
//
//	go run ./internal/properties -lockstep bin/lockstep -runs 100 hashicorpraft etcdraft
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/lockstep-go/lockstep/report/campaign"
)

// least is the share of runs that must check a property.
const least = 0.5

func main() {
	command := flag.String("lockstep", "bin/lockstep", "the lockstep command")
	runs := flag.Int("runs", 100, "runs of each campaign")
	flag.Parse()
	low, err := table(os.Stdout, flag.Args(), func(target string) (*campaign.Document, error) {
		return measure(*command, target, *runs)
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "properties:", err)
		os.Exit(2)
	}
	if len(low) > 0 {
		fmt.Fprintln(os.Stderr, "properties: checked in less than half of the runs:", strings.Join(low, ", "))
		os.Exit(1)
	}
}

// measure runs a campaign with default options and reads its result.
func measure(command, target string, runs int) (*campaign.Document, error) {
	out, err := os.MkdirTemp("", "lockstep-properties-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(out)
	cmd := exec.Command(command, "run", "--runs", strconv.Itoa(runs), "--seed", "1", "--keep-going", "--no-shrink",
		"--out", out, "--json", "--", target)
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, os.Stderr
	failed := cmd.Run() // a finding results in status 1
	var d campaign.Document
	if err := json.Unmarshal(text.Bytes(), &d); err != nil {
		return nil, fmt.Errorf("%s: %w", target, errors.Join(failed, err))
	}
	return &d, nil
}

// table writes a row for each target, and returns the properties that few runs check.
func table(w io.Writer, targets []string,
	measure func(target string) (*campaign.Document, error)) (low []string, err error) {
	fmt.Fprint(w,
		"| target | strategy | determinism | runs | share of runs that check a property |\n|---|---|---|--:|---|\n")
	for _, target := range targets {
		d, err := measure(target)
		if err != nil {
			return low, err
		}
		var cells []string
		for name, n := range d.CheckedRuns {
			share := float64(n) / float64(max(d.Runs, 1))
			cells = append(cells, fmt.Sprintf("%s %.0f %%", name, 100*share))
			if share < least {
				low = append(low, target+" "+name)
			}
		}
		slices.Sort(cells)
		slices.Sort(low)
		fmt.Fprintf(
			w,
			"| `%s` | `%s` | %s | %d | %s |\n",
			target,
			d.Strategy,
			d.Determinism,
			d.Runs,
			strings.Join(cells, ", "),
		)
	}
	return low, nil
}
