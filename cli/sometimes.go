package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

// usualGoals stands for what the target itself lists.
const usualGoals = "usual"

// goals returns what must happen at least once.
func (c *runCmd) goals(t target.Target) (goals []string, err error) {
	for _, what := range c.Sometimes {
		switch {
		case what != usualGoals:
			goals = append(goals, what)
		case len(t.Sometimes) == 0:
			return nil, fmt.Errorf("--sometimes %s: %s lists nothing that a campaign usually reaches", what, t.Name)
		default:
			goals = append(goals, t.Sometimes...)
		}
	}
	return goals, nil
}

// sometimes adds what must happen at least once to the spec of the plan.
func (c *runCmd) sometimes(plan *lockstep.Plan, t target.Target) error {
	goals, err := c.goals(t)
	if len(goals) == 0 {
		return err
	}
	info, err := plan.System.Describe()
	if err != nil {
		return err
	}
	var specs []lockstep.Spec
	if plan.Spec != nil {
		specs = append(specs, plan.Spec)
	}
	for _, what := range goals {
		goal, err := goalOf(what, info)
		if err != nil {
			return err
		}
		specs = append(specs, goal)
	}
	plan.Spec = spec.All(specs...)
	return nil
}

// goalOf returns the spec of what must happen: a step of a kind, perhaps at a node with a role, or an event.
func goalOf(what string, info lockstep.Info) (lockstep.Spec, error) {
	name, role, has := strings.Cut(what, ":")
	var kind trace.Kind
	switch isKind := kind.UnmarshalText([]byte(name)) == nil; {
	case has && !slices.Contains(info.Roles, role):
		return nil, fmt.Errorf("--sometimes %s: %s has no role %q, its roles are: %s", what, info.Name, role,
			orNone(info.Roles))
	case has && !isKind:
		return nil, fmt.Errorf("--sometimes %s: %q is not a kind of step, and only steps have a role", what, name)
	case isKind && !info.Supports.Has(kind):
		return nil, fmt.Errorf("--sometimes %s: %s has no steps of this kind, it has: %s", what, info.Name, info.Supports)
	case isKind:
		return spec.SometimesStep(what, kind, role), nil
	case len(info.Events) > 0 && !slices.Contains(info.Events, name):
		return nil, fmt.Errorf("--sometimes %s: %s has no events of this type, it has: %s; kinds of step are: %s", what,
			info.Name, strings.Join(info.Events, ", "), info.Supports)
	default:
		return spec.SometimesEvent("event "+name, name), nil
	}
}

// orNone joins the names of a list that may be empty.
func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
