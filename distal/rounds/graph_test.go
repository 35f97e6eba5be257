package rounds_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/internal/corpus"
	"github.com/lockstep-go/lockstep/distal/rounds"
)

func ExampleGraph() {
	p, _ := distal.Load(`protocol Wave(n = 2)
message Go { k: int } tag (k, Go)
message Done { k: int } tag (k, Done)
rounds Go < Done
state { k: int = 1 }
init { send Go(k) to all }
upon Go ms with .k == k times all do { if k > 3 { send Done(k) to all } else { k := k + 1 send Go(k) to all } }
upon Done m with m.k == k do { }
`)
	fmt.Print(rounds.Graph(p))
	// Output:
	// // The rounds of Wave. An arrow leads to the round in which the node acts next.
	// init -> Go
	//
	// round Go
	// 	upon Go -> Done, Go of another phase
	//
	// round Done
	// 	upon Done -> any later round
}

// TestManyRounds wants a phase of forty rounds to be printed as forty rounds.
func TestManyRounds(t *testing.T) {
	var b, rules strings.Builder
	var names []string
	b.WriteString("protocol P(n = 2)\nstate { k: int = 1 }\ninit { send M0(k) to all }\n")
	for i := range 40 {
		names = append(names, fmt.Sprint("R", i))
		fmt.Fprintf(&b, "message M%d { k: int } tag (k, R%d)\n", i, i)
		next := ""
		for j := i + 1; j < min(40, i+3); j++ {
			next += fmt.Sprintf("if k == %d { send M%d(k) to all } else { ", j, j)
		}
		fmt.Fprintf(&rules, "upon M%d m with m.k == k do { %s%s }\n", i, next, strings.Repeat("}", strings.Count(next, "else")))
	}
	p, remarks := distal.Load(b.String() + "rounds " + strings.Join(names, " < ") + "\n" + rules.String())
	if p == nil {
		t.Fatal(remarks)
	}
	if text := rounds.Graph(p); strings.Count(text, "\nround ") != 40 || !strings.Contains(text, "upon M37 -> R38, R39, any later round") {
		t.Error(text)
	}
}

// TestEveryRuleOnce wants every rule of every example in the graph, once.
func TestEveryRuleOnce(t *testing.T) {
	for _, e := range append(corpus.Examples(t), corpus.Generated(50)...) {
		p, _ := distal.Load(e.Source)
		if text := rounds.Graph(p); strings.Count(text, "upon ") != len(p.Rules) || strings.Count(text, "\nround ") != len(p.Rounds) {
			t.Errorf("%s:\n%s", e.Name, text)
		}
	}
}
