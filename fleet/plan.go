package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/lockstep-go/lockstep/cli"
)

// Plan is a file with many campaigns, which share the fleet's time.
type Plan struct {
	Name string `yaml:"name"`
	// For is the most time that the plan may take.
	For string `yaml:"for"`
	// Stop ends a campaign when so much is known.
	Stop Stop `yaml:"stop"`
	// Regressions are the files of traces, by patterns, that are replayed first.
	Regressions []string `yaml:"regressions"`
	// Baseline is the file with what was found the last times.
	Baseline  string     `yaml:"baseline"`
	Campaigns []Campaign `yaml:"campaigns"`
}

// Stop is a rule: with this confidence, a run fails with a probability below this.
type Stop struct {
	Confidence  float64 `yaml:"confidence"`
	FailureRate float64 `yaml:"failure-rate"`
}

// Campaign stands for one campaign of each of its strategies with each of its seeds.
type Campaign struct {
	Name       string   `yaml:"name"`
	Target     string   `yaml:"target"`
	Nodes      int      `yaml:"nodes"`
	Set        []string `yaml:"set"`
	Strategies []string `yaml:"strategies"`
	Scenario   string   `yaml:"scenario"`
	Seeds      []uint64 `yaml:"seeds"`
	Runs       int      `yaml:"runs"`
	Steps      int      `yaml:"steps"`
	KeepGoing  bool     `yaml:"keep-going"`
}

// ReadPlan reads a plan and reports what is wrong with it.
func ReadPlan(file string) (*Plan, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	p := &Plan{Stop: Stop{Confidence: 0.95}}
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(p); err != nil {
		return nil, fmt.Errorf("%s: %s", file, yaml.FormatError(err, false, false))
	}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// check reports everything that is wrong with a plan.
func (p *Plan) check() error {
	var wrong []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	refuse(!plain(p.Name), "name is %q, allowed are letters, digits and -", p.Name)
	_, err := p.limit()
	refuse(err != nil, "for is %q, allowed is a time such as 8h or 30m", p.For)
	refuse(!(p.Stop.Confidence > 0 && p.Stop.Confidence < 1), "stop.confidence is %g, allowed is more than 0 and less than 1", p.Stop.Confidence)
	refuse(!(p.Stop.FailureRate >= 0 && p.Stop.FailureRate < 1), "stop.failure-rate is %g, allowed is 0 (no rule) and more, less than 1", p.Stop.FailureRate)
	refuse(len(p.Campaigns) == 0, "campaigns is empty: a plan needs one")
	for i, c := range p.Campaigns {
		refuse(c.Target == "", "campaigns[%d].target is missing", i)
		refuse(c.Runs < 0 || c.Steps < 0 || c.Nodes < 0, "campaigns[%d]: runs, steps and nodes must not be negative", i)
		refuse(c.Runs == 0 && p.Stop.FailureRate == 0 && p.For == "", "campaigns[%d].runs is missing, and so is a rule to stop by: stop.failure-rate or for", i)
	}
	return errors.Join(wrong...)
}

// plain reports whether a name can be part of others.
func plain(name string) bool {
	for _, r := range name {
		if subjectRune(r) != r {
			return false
		}
	}
	return name != "" && len(name) <= mostName
}

// mostName is the length of a name, at most.
const mostName = 50

func (p *Plan) limit() (time.Duration, error) {
	if p.For == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(p.For)
	if err == nil && d <= 0 {
		err = errors.New("it is not positive")
	}
	return d, err
}

// Runs is the number of runs without a failure after which the rule is fulfilled; 0: there is no rule.
func (s Stop) Runs() int {
	if s.FailureRate <= 0 {
		return 0
	}
	return int(math.Ceil(math.Log1p(-s.Confidence) / math.Log1p(-s.FailureRate)))
}

// elsewhere are the campaigns of a plan, as the command line would give them.
func (p *Plan) elsewhere() (list []cli.Elsewhere, names []string) {
	limit, _ := p.limit() // it was checked
	for _, c := range p.Campaigns {
		for _, strategy := range orOne(c.Strategies, "") {
			for _, seed := range orOne(c.Seeds, 0) {
				args := []string{"run", c.Target}
				add := func(flag, value string, given bool) {
					if given {
						args = append(args, flag, value)
					}
				}
				add("--strategy", strategy, strategy != "")
				add("--scenario", c.Scenario, c.Scenario != "")
				add("--nodes", strconv.Itoa(c.Nodes), c.Nodes > 0)
				for _, pair := range c.Set {
					add("--set", pair, true)
				}
				add("--steps", strconv.Itoa(c.Steps), c.Steps > 0)
				runs := c.Runs
				if n := p.Stop.Runs(); runs == 0 || n > 0 && n < runs && !c.KeepGoing { // as long as nothing is found
					runs = n
				}
				add("--runs", strconv.Itoa(runs), runs > 0)
				add("--for", limit.String(), runs == 0)
				if c.KeepGoing {
					args = append(args, "--keep-going")
				}
				args = append(args, "--seed", strconv.FormatUint(seed, 10), "--stretches")
				list = append(list, cli.Elsewhere{Target: c.Target, Set: c.Set, Args: args, For: limit})
				names = append(names, c.Name)
			}
		}
	}
	return list, names
}

// orOne is a list, or where it is empty one value.
func orOne[T any](list []T, one T) []T {
	if len(list) == 0 {
		return []T{one}
	}
	return list
}

// regressions are the traces that are replayed first.
func (p *Plan) regressions() (files []string, err error) {
	for _, pattern := range p.Regressions {
		list, wrong := filepath.Glob(pattern)
		if wrong == nil && len(list) == 0 {
			wrong = errors.New("there is no such file")
		}
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("regressions: %s: %w", pattern, wrong))
		}
		files = append(files, list...)
	}
	return files, err
}
