package rounds_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/internal/corpus"
	"github.com/lockstep-go/lockstep/distal/rounds"
)

// TestScripts prints transformations: `unfold`, `rounds` and `seq network=N`.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var last string
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Input != "" {
				last = d.Input
			}
			p, remarks := distal.Load(last)
			if p == nil {
				return remarks.Error() + "\n"
			}
			switch d.Cmd {
			case "unfold":
				text, err := rounds.Unfold(p)
				if err != nil {
					return err.Error() + "\n"
				}
				return text
			case "rounds":
				return rounds.New(p).String()
			case "seq":
				var network string
				d.ScanArgs(t, "network", &network)
				n, err := p.ParseNetwork(network)
				if err != nil {
					return err.Error() + "\n"
				}
				return rounds.Sequential(p, n)
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

// TestEverySendHasAPlace wants, for all examples and generated programs, every send in exactly one SEND block and none left
// in an UPDATE.
func TestEverySendHasAPlace(t *testing.T) {
	for _, program := range append(corpus.Examples(t), corpus.Generated(100)...) {
		p, remarks := distal.Load(program.Source)
		if p == nil {
			t.Fatal(remarks)
		}
		f := rounds.New(p)
		flags := 0
		for _, r := range f.Rounds {
			for _, s := range r.Sends {
				flags++
				if !strings.HasPrefix(s.Flag, "due_"+s.Send.Name) {
					t.Errorf("flag %s for a send of %s", s.Flag, s.Send.Name)
				}
			}
		}
		text := f.String()
		if got := strings.Count(text, "send "); got != flags {
			t.Errorf("%d sends are printed for %d flags:\n%s", got, flags, text)
		}
		if flags == 0 || strings.Count(text, "\tUPDATE(mbox):\n") != len(p.Rounds) {
			t.Errorf("rounds are missing:\n%s", text)
		}
		if _, err := rounds.Unfold(p); err != nil {
			t.Error(err)
		}
	}
}

const wave = `protocol Wave(n = 2)
message Go { k: int } tag (k, Go)
rounds Go
state { k: int = 1 }
init { send Go(k) to all }
upon Go ms with .k == k times all do { k := k + 1 send Go(k) to all }
`

func ExampleNew() {
	p, _ := distal.Load(wave)
	fmt.Print(rounds.New(p))
	// Output:
	// // Wave in rounds. kk is the phase of the lock-step execution; a node whose flag is set waits for the round of that message and takes part in no round before it.
	// ghost:
	// 	due_Go: bool = false
	//
	// init:
	// 	due_Go := true
	//
	// round Go:
	// 	SEND:
	// 		if due_Go and k == kk {
	// 			send Go(k) to all
	// 			due_Go := false
	// 		}
	// 	UPDATE(mbox):
	// 		if due_Go {
	// 			skip
	// 		} else if mbox(Go, .k == k, all) {
	// 			ms := these messages
	// 			k := k + 1
	// 			due_Go := true
	// 		}
}

func ExampleUnfold() {
	p, _ := distal.Load(wave)
	text, _ := rounds.Unfold(p)
	fmt.Print(text)
	// Output:
	// // One phase of Wave, unfolded. phase and round are the auxiliary variables of the synchronisation tag.
	// init {
	// 	(phase, round) := (k, Go)
	// 	send Go(k) to all
	// }
	//
	// loop {
	// 	mbox := havoc()
	// 	if mbox(Go, .k == k, all) {
	// 		ms := these messages
	// 		(phase, round) := (first(ms).k, Go)
	// 		k := k + 1
	// 		(phase, round) := (k, Go)
	// 		send Go(k) to all
	// 		continue
	// 	}
	// }
}

func ExampleSequential() {
	p, _ := distal.Load(wave)
	n, _ := p.ParseNetwork("reliable")
	fmt.Print(strings.SplitN(rounds.Sequential(p, n), "\n", 2)[0])
	// Output: // Wave, sequential, under network reliable. (*) is a free choice; all choices together are all behaviours.
}
