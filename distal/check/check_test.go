package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/lockstep-go/lockstep/distal/check"
	"github.com/lockstep-go/lockstep/distal/internal/corpus"
	"github.com/lockstep-go/lockstep/distal/syntax"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// TestScripts runs the golden scripts. `check` shows remarks, refused conditions and monitors; with `proofs` it also
// shows every condition of every rule.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "check" {
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			return report(d.Input, d.HasArg("proofs"))
		})
	})
}

func report(src string, proofs bool) string {
	var b strings.Builder
	f, errs := syntax.Parse(src)
	if len(errs) > 0 {
		return errs.Error() + "\n"
	}
	p, remarks := check.Check(f)
	for _, r := range remarks {
		fmt.Fprintln(&b, r)
	}
	if p == nil {
		return b.String()
	}
	for _, r := range p.Refused {
		fmt.Fprintf(&b, "refused: %s\n", r)
	}
	for _, q := range p.Proofs {
		if q.Status == check.Watched {
			fmt.Fprintf(&b, "watched: %s: %s, %s: %s\n", q.Pos, q.Rule, q.Condition, q.Text)
		}
	}
	if proofs {
		for _, q := range p.Proofs {
			fmt.Fprintf(&b, "%s, %s: %s\n", q.Rule, q.Condition, q.Status)
		}
	}
	if b.Len() == 0 {
		return "ok\n"
	}
	return b.String()
}

// TestExamples wants no error and no refusal for any example or generated program.
func TestExamples(t *testing.T) {
	for _, p := range append(corpus.Examples(t), corpus.Generated(200)...) {
		if text := report(p.Source, false); strings.Contains(text, "error") || strings.Contains(text, "refused") {
			t.Errorf("%s: %s\n%s", p.Name, text, p.Source)
		}
	}
}

// FuzzCheck looks for programs on which the checker panics or hangs.
func FuzzCheck(f *testing.F) {
	corpus.Add(f)
	f.Fuzz(func(t *testing.T, src string) { report(src, true) })
}

// TestMutations changes one word after the other into every other word of the program.
func TestMutations(t *testing.T) {
	tier.NotShort(t)
	for _, p := range corpus.Generated(4) {
		words := strings.Fields(p.Source)
		for i := range words {
			for j := i % 41; j < len(words); j += 41 {
				mutant := append(append(append([]string(nil), words[:i]...), words[j]), words[i+1:]...)
				report(strings.Join(mutant, " "), false)
			}
		}
	}
}

const pingPong = `protocol PingPong(n = 2)
message Ping { k: int } tag (k, Ping)
message Pong { k: int } tag (k, Pong)
rounds Ping < Pong
state { k: int = 0 }
init { if self == node(1) { k := k + 1 send Ping(k) to others } }
upon Ping m with m.k > k do { k := m.k send Pong(k) to m.from }
upon Pong m with m.k == k do { k := k + 1 send Ping(k) to others }
`

func ExampleCheck() {
	f, _ := syntax.Parse(pingPong)
	p, remarks := check.Check(f)
	fmt.Println(p.Name, p.RoundNames(), "phase", p.Vars[p.Phase].Name, len(remarks), "remarks", len(p.Refused), "refused")
	// Output: PingPong [Ping Pong] phase k 0 remarks 0 refused
}

func ExampleProgram_ParseNetwork() {
	f, _ := syntax.Parse(pingPong)
	p, _ := check.Check(f)
	n, err := p.ParseNetwork("atleast(n - 1)")
	fmt.Println(p.Networks[n].Name, err)
	n, err = p.ParseNetwork("forall p in all: node(1) in heard(p)")
	fmt.Println(p.Networks[n].Name, err)
	_, err = p.ParseNetwork("relaible")
	fmt.Println(strings.Split(err.Error(), ";")[0])
	// Output:
	// atleast(n - 1) <nil>
	// forall p in all: node(1) in heard(p) <nil>
	// network "relaible": unknown network relaible (did you mean reliable?)
}
