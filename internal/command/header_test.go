package command_test

import (
	"maps"
	"testing"

	"github.com/lockstep-go/lockstep/internal/command"
)

// A trace's header has the options of a system that are not usual. They give the same system again, also if the user
// has switched off what the target has by default.
func TestHeadersGiveTheSystem(t *testing.T) {
	checked := 0
	for _, of := range command.App().Targets {
		for _, o := range of.Options() {
			for _, value := range []string{"", "0", "false", "3", "true"} {
				system, err := of.Build([]string{o.Key + "=" + value})
				if err != nil {
					continue
				}
				info, err := system.Describe()
				if err != nil {
					continue
				}
				var pairs []string
				for key, v := range info.Options { //lockstep:unordered each sets another option
					pairs = append(pairs, key+"="+v)
				}
				again, err := of.Build(pairs)
				if err != nil {
					t.Errorf("%s, %s=%s: %v", of.Name, o.Key, value, err)
					continue
				}
				same, err := again.Describe()
				if err != nil || !maps.Equal(info.Options, same.Options) || info.Nodes != same.Nodes {
					t.Errorf("%s, %s=%s: the header has %v, which gives %v, %v", of.Name, o.Key, value, info.Options,
						same.Options, err)
				}
				checked++
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d systems were checked", checked)
	}
}
