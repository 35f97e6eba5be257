package cli

import (
	"testing"

	"github.com/lockstep-go/lockstep/target/smr"
)

// A target's options for a campaign without options apply to just that: not with an option of the user or of a
// scenario.
func TestCampaignWithoutOptions(t *testing.T) {
	tg := smr.Targets[0].WithCampaign("requests=4")
	nodes := 5
	for _, c := range []struct {
		name     string
		set      []string
		nodes    *int
		scenario []string
		want     map[string]string
	}{
		{name: "none", want: map[string]string{"nodes": "3", "requests": "4"}},
		{name: "the number of nodes", nodes: &nodes, want: map[string]string{"nodes": "5", "requests": "4"}},
		{name: "an option", set: []string{"nodes=4"}, want: map[string]string{"nodes": "4", "requests": ""}},
		{name: "a scenario", scenario: []string{"nodes=4"}, want: map[string]string{"nodes": "4", "requests": ""}},
	} {
		x := explored{Nodes: c.nodes}
		plan, err := x.plan(&Env{}, &place{target: tg, set: c.set}, c.scenario)
		if err != nil {
			t.Fatal(err)
		}
		info, err := plan.System.Describe()
		if err != nil {
			t.Fatal(err)
		}
		for key, want := range c.want {
			if got := info.Options[key]; got != want {
				t.Errorf("%s: option %s is %q, not %q", c.name, key, got, want)
			}
		}
	}
}
