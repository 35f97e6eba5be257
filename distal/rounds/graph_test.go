package rounds_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/internal/corpus"
	"github.com/lockstep-go/lockstep/distal/rounds"
	"github.com/lockstep-go/lockstep/distal/syntax"
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

func ExampleUnfold() {
	const source = `protocol Wave(n = 2)
message Go { k: int } tag (k, Go)
message Done { k: int } tag (k, Done)
rounds Go < Done
state { k: int = 1 }
init { send Go(k) to all }
upon Go ms with .k == k times all do { send Done(k) to all }
upon Done m with m.k == k do { k := k + 1 send Go(k) to all }
`
	p, _ := distal.Load(source)
	f, _ := syntax.Parse(source)
	text, err := rounds.Unfold(p, f)
	fmt.Print(text)
	fmt.Println(err)
	// Output:
	// // A phase of Wave, unfolded. havoc() fills the mailbox with any messages; the first rule whose guard holds runs.
	// // A rule of no round that begins no phase leaves the node where it is.
	// init: {
	// 	send Go(k) to all
	// }
	// loop: {
	// 	mbox = havoc()
	// 	if upon Go ms with .k == k times all {
	// 		send Done(k) to all
	// 		mbox = havoc()
	// 		if upon Done m with m.k == k {
	// 			k := k + 1
	// 			send Go(k) to all
	// 			continue
	// 		}
	// 		continue
	// 	}
	// 	if upon Done m with m.k == k {
	// 		k := k + 1
	// 		send Go(k) to all
	// 		continue
	// 	}
	// 	continue
	// }
	// <nil>
}

// TestUnfoldedOrder wants every path through an unfolded phase to go through its rounds in their order, and every rule
// at the top, where a phase may begin.
func TestUnfoldedOrder(t *testing.T) {
	for _, e := range append(corpus.Examples(t), corpus.Generated(50)...) {
		p, _ := distal.Load(e.Source)
		f, _ := syntax.Parse(e.Source)
		text, err := rounds.Unfold(p, f)
		if err != nil {
			t.Logf("%s: %v", e.Name, err)
			continue
		}
		top := 0
		var path []int // by depth, the round of the rule
		for _, line := range strings.Split(text, "\n") {
			depth := len(line) - len(strings.TrimLeft(line, "\t"))
			guard, ok := strings.CutPrefix(strings.TrimSpace(line), "if upon ")
			if !ok {
				continue
			}
			if depth == 1 {
				top, path = top+1, nil
			}
			round := -1
			for _, r := range p.Rules {
				name := strings.TrimPrefix(r.Label(p.Program), "upon ")
				if guard == name+" {" || strings.HasPrefix(guard, name+" ") {
					round = r.Round(p.Program)
				}
			}
			for len(path) >= depth {
				path = path[:len(path)-1]
			}
			for len(path) < depth-1 {
				path = append(path, -1)
			}
			if n := len(path); n > 0 && round >= 0 && round < path[n-1] {
				t.Errorf("%s: round %d follows round %d in\n%s", e.Name, round, path[n-1], text)
			}
			path = append(path, round)
		}
		if top != len(p.Rules) {
			t.Errorf("%s: %d of %d rules are at the top of\n%s", e.Name, top, len(p.Rules), text)
		}
	}
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
		fmt.Fprintf(&rules, "upon M%d m with m.k == k do { %s%s }\n", i, next,
			strings.Repeat("}", strings.Count(next, "else")))
	}
	p, remarks := distal.Load(b.String() + "rounds " + strings.Join(names, " < ") + "\n" + rules.String())
	if p == nil {
		t.Fatal(remarks)
	}
	if text := rounds.Graph(p); strings.Count(text, "\nround ") != 40 ||
		!strings.Contains(text, "upon M37 -> R38, R39, any later round") {
		t.Error(text)
	}
	f, _ := syntax.Parse(b.String() + "rounds " + strings.Join(names, " < ") + "\n" + rules.String())
	if _, err := rounds.Unfold(p, f); err == nil || !strings.Contains(err.Error(),
		"unfolds to more than 2000 conditionals") {
		t.Errorf("forty rounds unfolded: %v", err)
	}
}

// TestEveryRuleOnce wants every rule of every example in the graph, once.
func TestEveryRuleOnce(t *testing.T) {
	for _, e := range append(corpus.Examples(t), corpus.Generated(50)...) {
		p, _ := distal.Load(e.Source)
		if text := rounds.Graph(p); strings.Count(text, "upon ") != len(p.Rules) ||
			strings.Count(text, "\nround ") != len(p.Rounds) {
			t.Errorf("%s:\n%s", e.Name, text)
		}
	}
}
