package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/trace"
)

// Plan is a file with many campaigns, which share the fleet's time.
type Plan struct {
	Name string `yaml:"name"`
	// For is the longest time that the plan may take.
	For string `yaml:"for"`
	// Stop is the rule that ends a campaign.
	Stop Stop `yaml:"stop"`
	// Regressions are patterns of the trace files that are replayed first.
	Regressions []string `yaml:"regressions"`
	// Baseline is the file with the findings of earlier executions.
	Baseline  string     `yaml:"baseline"`
	Campaigns []Campaign `yaml:"campaigns"`
}

// Stop is a rule: a campaign ends when, with this confidence, a run fails with a probability below this one.
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

// ReadPlan reads a plan and reports its errors.
func ReadPlan(file string) (*Plan, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := parsePlan(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// parsePlan reads a plan, which is untrusted input.
func parsePlan(from io.Reader) (*Plan, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxPlanBytes+1))
	if err != nil {
		return nil, err
	}
	if err := checkYAML(text); err != nil {
		return nil, err
	}
	p := &Plan{Stop: Stop{Confidence: 0.95}}
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(p); err != nil {
		return nil, errors.New(yaml.FormatError(err, false, false))
	}
	return p, p.check()
}

// The limits of a plan. The parser's time and memory grow with the square of the nesting, and without bound with
// aliases.
const (
	maxPlanBytes     = 256 << 10
	maxPlanDepth     = 16
	maxPlanCampaigns = 1000 // with all strategies and seeds
	maxPlanTraces    = 1000 // replayed first
	maxPlanText      = 4 << 10
	maxPlanRuns      = math.MaxInt32
	maxPlanSteps     = trace.MaxSteps
	minFailureRate   = 1e-9
	maxPlanComplaint = 10 // errors reported
)

// checkYAML rejects constructs that no plan needs, before the text is parsed.
func checkYAML(text []byte) error {
	if len(text) > maxPlanBytes {
		return fmt.Errorf("a plan has at most %d bytes", maxPlanBytes)
	}
	flow, entries, line := 0, 0, 0 // open brackets; dashes on the line
	for _, t := range lexer.Tokenize(string(text)) {
		if t.Position.Line != line {
			entries, line = 0, t.Position.Line
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType:
			entries++
		case token.AnchorType, token.AliasType, token.MergeKeyType, token.TagType, token.DirectiveType:
			return fmt.Errorf("line %d: %s: a plan has no anchors, aliases, merge keys, tags and directives", line,
				clip(t.Value))
		}
		if flow > maxPlanDepth || entries > maxPlanDepth {
			return fmt.Errorf("line %d: lists and maps are nested more than %d deep", line, maxPlanDepth)
		}
	}
	return nil
}

// clip returns the beginning of a text for an error.
func clip(text string) string {
	const most = 40
	if len(text) > most {
		text = text[:most] + "..."
	}
	return strconv.Quote(text)
}

// check reports the errors of a plan.
func (p *Plan) check() error {
	var wrong []error
	more := 0
	refuse := func(bad bool, format string, args ...any) {
		switch {
		case bad && len(wrong) < maxPlanComplaint:
			wrong = append(wrong, fmt.Errorf(format, args...))
		case bad:
			more++
		}
	}
	refuse(!plain(p.Name), "name is %q, allowed are letters, digits and -", p.Name)
	_, err := p.limit()
	refuse(err != nil, "for is %q, allowed is a time such as 8h or 30m", p.For)
	refuse(!(p.Stop.Confidence > 0 && p.Stop.Confidence < 1),
		"stop.confidence is %g, allowed is more than 0 and less than 1", p.Stop.Confidence)
	refuse(!(p.Stop.FailureRate == 0 || p.Stop.FailureRate >= minFailureRate && p.Stop.FailureRate < 1),
		"stop.failure-rate is %g, allowed is 0 (no rule), or %g and more, less than 1", p.Stop.FailureRate,
		minFailureRate)
	refuse(len(p.Campaigns) == 0, "campaigns is empty: a plan needs one")
	refuse(p.size() > maxPlanCampaigns, "there are more than %d campaigns, counted with their strategies and seeds",
		maxPlanCampaigns)
	refuse(len(p.Regressions) > maxPlanTraces, "regressions has %d patterns, allowed are %d", len(p.Regressions),
		maxPlanTraces)
	for _, text := range append([]string{p.Baseline}, p.Regressions...) {
		refuse(!isText(text), "%s is not a file name", clip(text))
	}
	for i, c := range p.Campaigns {
		refuse(c.Target == "", "campaigns[%d].target is missing", i)
		refuse(c.Runs < 0 || c.Steps < 0 || c.Nodes < 0, "campaigns[%d]: runs, steps and nodes must not be negative", i)
		refuse(c.Runs > maxPlanRuns || c.Steps > maxPlanSteps || c.Nodes > trace.MaxNodes,
			"campaigns[%d]: allowed are %d runs, %d steps and %d nodes", i, maxPlanRuns, maxPlanSteps, trace.MaxNodes)
		for _, text := range slices.Concat([]string{c.Name, c.Target, c.Scenario}, c.Set, c.Strategies) {
			refuse(!isText(text),
				"campaigns[%d]: %s: allowed are %d characters that can be printed, of which the first is not -", i,
				clip(text), maxPlanText)
		}
		refuse(c.Runs == 0 && p.Stop.FailureRate == 0 && p.For == "",
			"campaigns[%d].runs is missing, and so is a rule to stop by: stop.failure-rate or for", i)
	}
	if more > 0 {
		wrong = append(wrong, fmt.Errorf("%d things more are wrong", more))
	}
	return errors.Join(wrong...)
}

// size returns the number of campaigns, with their strategies and seeds.
func (p *Plan) size() (n int) {
	for _, c := range p.Campaigns {
		n += max(len(c.Strategies), 1) * max(len(c.Seeds), 1)
	}
	return n
}

// isText reports whether a text can be an argument of a command and part of a message.
func isText(text string) bool {
	return len(text) <= maxPlanText && !strings.HasPrefix(text, "-") &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// plain reports whether a name can be part of other names.
func plain(name string) bool {
	for _, r := range name {
		if subjectRune(r) != r {
			return false
		}
	}
	return name != "" && len(name) <= mostName
}

// mostName is the longest length of a name.
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

// Runs returns the number of runs without a failure after which the rule holds; 0: there is no rule.
func (s Stop) Runs() int {
	if s.FailureRate <= 0 {
		return 0
	}
	return int(math.Ceil(math.Log1p(-s.Confidence) / math.Log1p(-s.FailureRate)))
}

// elsewhere returns the campaigns of a plan, in the form of the command line.
func (p *Plan) elsewhere() (list []cli.Elsewhere, names []string) {
	limit, _ := p.limit() // the limit was checked
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
				if n := p.Stop.Runs(); runs == 0 || n > 0 && n < runs && !c.KeepGoing { // while there is no finding
					runs = n
				}
				add("--runs", strconv.Itoa(runs), runs > 0)
				add("--for", limit.String(), runs == 0)
				if c.KeepGoing {
					args = append(args, "--keep-going")
				}
				args = append(args, "--seed", strconv.FormatUint(seed, 10), "--batches")
				list = append(list, cli.Elsewhere{Target: c.Target, Set: c.Set, Args: args, For: limit})
				names = append(names, c.Name)
			}
		}
	}
	return list, names
}

// orOne returns a list or, if it is empty, one value.
func orOne[T any](list []T, one T) []T {
	if len(list) == 0 {
		return []T{one}
	}
	return list
}

// regressions returns the trace files that are replayed first.
func (p *Plan) regressions() (files []string, err error) {
	defer func() {
		if len(files) > maxPlanTraces {
			err = errors.Join(err,
				fmt.Errorf("regressions: there are %d traces, allowed are %d", len(files), maxPlanTraces))
		}
	}()
	for _, pattern := range p.Regressions {
		list, wrong := filepath.Glob(pattern)
		if wrong == nil && len(list) == 0 {
			wrong = errors.New("there is no such file")
		}
		for _, file := range list { // opening a pipe may block indefinitely
			if info, err := os.Stat(file); wrong == nil && (err != nil || !info.Mode().IsRegular()) {
				wrong = fmt.Errorf("%s is not a regular file", file)
			}
		}
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("regressions: %s: %w", pattern, wrong))
		}
		files = append(files, list...)
	}
	return files, err
}
