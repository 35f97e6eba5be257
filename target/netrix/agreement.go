package netrix

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
)

// Agreement is the spec of events that must agree, by the option agree of the target. A rule EVENT:KEY:VALUE says that
// events of this type with the same parameter KEY have the same parameter VALUE. The name "replica" stands for the
// replica that reports, and an empty KEY for all events of the type. For example, Leader:term:replica says that there
// is at most one leader in a term.
var Agreement = spec.New("agreement", func(info lockstep.Info) *agreement {
	rules, _ := rulesOf(info.Options["agree"]) // checked in Describe
	return &agreement{rules: rules, first: map[subject]claim{}}
})

// reporter is the parameter name of the replica that reports an event.
const reporter = "replica"

// rule requires agreement between events of a type.
type rule struct{ event, key, value string }

// rulesOf parses the option agree.
func rulesOf(text string) (rules []rule, err error) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		words := strings.Split(part, ":")
		if len(words) != 3 || words[0] == "" || words[2] == "" {
			return nil, fmt.Errorf("netrix: agree has %q, which must be EVENT:KEY:VALUE, like Leader:term:replica",
				part)
		}
		rules = append(rules, rule{words[0], words[1], words[2]})
	}
	return rules, nil
}

// subject is a value of a rule's key, on which events of a run must agree.
type subject struct {
	rule int
	key  string
}

// claim is the first report about a subject.
type claim struct {
	value string
	node  lockstep.Node
	step  int
}

type agreement struct {
	rules   []rule
	first   map[subject]claim
	checked int
}

// Reset begins a new run.
func (a *agreement) Reset() {
	clear(a.first)
	a.checked = 0
}

// Event compares an event with the first one about the same subject.
func (a *agreement) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	params, ok := e.Value.(map[string]string)
	if !ok {
		return nil
	}
	param := func(name string) string {
		if name == reporter {
			return fmt.Sprint(e.Node)
		}
		return params[name]
	}
	for i, r := range a.rules {
		if r.event != e.Type {
			continue
		}
		a.checked++
		about, is := subject{i, param(r.key)}, claim{param(r.value), e.Node, run.Steps()}
		was, known := a.first[about]
		if !known {
			a.first[about] = is
		} else if was.value != is.value {
			return &lockstep.Finding{About: []int{was.step, is.step},
				Text: fmt.Sprintf("%s with %s=%s: replica %d reports %s=%s and replica %d reports %s=%s",
					r.event, r.key, about.key, was.node, r.value, was.value, is.node, r.value, is.value)}
		}
	}
	return nil
}

// End returns nil: only events are checked.
func (*agreement) End(*lockstep.Run) *lockstep.Finding { return nil }

// Checked returns the number of events to which a rule applies.
func (a *agreement) Checked() int { return a.checked }
