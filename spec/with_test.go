package spec_test

import (
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/toy"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
)

// optionsOf is a system with options.
type optionsOf struct {
	toy.Troubled
	options map[string]string
}

func (o optionsOf) Describe() (lockstep.Info, error) {
	info, err := o.Troubled.Describe()
	info.Options = o.options
	return info, err
}

// A property that needs an option is vacuous only if the option is set.
func TestWith(t *testing.T) {
	never := func(name string) lockstep.Spec {
		return spec.OnEvent(name, "no such event",
			func(*struct{}, *lockstep.Run, *lockstep.Event) *lockstep.Finding { return nil })
	}
	all := spec.All(never("always"),
		spec.OptionalUnless(spec.All(never("watched"), never("watched-again")), "clients", "watchers"))
	for option, want := range map[string]int{"": 1, "other": 1, "watchers": 3, "clients": 3} {
		result, err := lockstep.Explore(
			t.Context(),
			lockstep.Plan{
				System:   optionsOf{options: map[string]string{option: "1"}},
				Strategy: strategy.Walk{Deliver: 1, Timer: 1, Steps: 10},
				Spec:     all,
				Runs:     30,
				Workers:  2,
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		if list := result.Unchecked(); len(list) != want || list[0] != "always" {
			t.Errorf("with the option %q: %q", option, list)
		}
	}
}
