package bftscenarios

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/lockstep-go/lockstep/target/tendermint"
)

var (
	runs = flag.Int("table", 0, "make the table of the scenarios with so many iterations of each")
	only = flag.String("case", "", "of this scenario only")
)

// The fifteen scenarios succeed, in a few iterations each, without a part of them that is vacuous.
func TestScenarios(t *testing.T) {
	n := *runs
	if n == 0 {
		n = 2
	} else {
		fmt.Printf("%s, %d iterations each with %s, seed 20261\n\n%s", tendermint.Version(), n, Strategy, Head)
	}
	for _, c := range Cases {
		if *only != "" && c.Name != *only {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			r, err := c.Measure(t.Context(), n, 20261)
			if err != nil {
				t.Fatal(err)
			}
			if *runs > 0 {
				r.Write(os.Stdout)
			}
			if r.Finding != "" {
				t.Errorf("found %s", r.Finding)
			}
			t.Logf("%+v", *r)
		})
	}
}
