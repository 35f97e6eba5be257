package tendermint

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

var byzantineNodes = flag.Int(
	"byzantine",
	0,
	"runs from each of ten seeds with as many Byzantine nodes as the protocol tolerates, and campaigns with one more "+
		"until they fork",
)

var byzantineWalk = strategy.Walk{Deliver: 40, Wait: 4, Steps: 1200}

// With f Byzantine validators of 3f+1 all properties hold.
func TestByzantineNodes(t *testing.T) {
	result := explore(
		t,
		lockstep.Plan{
			System:   Cluster{},
			Strategy: byzantineWalk,
			Scenario: RandomByzantine(1, 4),
			Spec:     Everything,
			Runs:     8,
			Settle:   500,
			Seed:     1,
		},
	)
	if f := result.First(); f != nil {
		t.Fatalf("run %d: %s\n%s", f.Run, f.Finding, f.Finding.Stack)
	}
	t.Log(result.Verdicts, result.Reasons, result.Checked, result.Effects)
	if parts := result.VacuousParts(); result.Verdicts[trace.Pass] == 0 || len(parts) > 2 {
		t.Errorf("%v %v, never: %q", result.Verdicts, result.Reasons, parts)
	}
}

// With f+1 Byzantine validators, correct ones decide differently, and the votes prove f+1 of the validators guilty.
func TestTooManyByzantine(t *testing.T) {
	result := explore(
		t,
		lockstep.Plan{System: Cluster{}, Strategy: byzantineWalk, Scenario: RandomByzantine(2, 4), Spec: Safety, Runs: 60,
			Seed: 1},
	)
	f := result.First()
	if f == nil || f.Finding.Property != "agreement" {
		t.Fatalf("%v %v: %+v", result.Verdicts, result.Reasons, f)
	}
	t.Logf("run %d, %d of %d: %s; checked %v", f.Run, f.Failed, f.Repeated, f.Finding, result.Checked)
	if result.Checked[1].N == 0 {
		t.Error("accountability was not checked")
	}
}

// A measurement of the random adversary: with f Byzantine validators of 3f+1 it finds nothing; with f+1, it reports
// the number of runs. -run 'MeasureByzantine/3_of_7/seed_[1-4]$' selects a part of it.
//
//	go test -run MeasureByzantine -byzantine 100 -timeout 0 .
func TestMeasureByzantine(t *testing.T) {
	if *byzantineNodes == 0 {
		t.Skip("-byzantine 100 makes 100 runs from each seed")
	}
	for _, nodes := range []int{4, 7} {
		f := Cluster{Nodes: nodes}.Faulty()
		for _, k := range []int{f, f + 1} {
			t.Run(fmt.Sprintf("%d of %d", k, nodes), func(t *testing.T) {
				for seed := uint64(1); seed <= 10; seed++ {
					t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { measureByzantine(t, k, nodes, seed) })
				}
			})
		}
	}
}

// measureByzantine runs a campaign with k Byzantine validators: a tolerated number finds nothing, and one more forks
// the chain.
func measureByzantine(t *testing.T, k, nodes int, seed uint64) {
	c := Cluster{Nodes: nodes}
	// The number of messages grows with the links, so the steps, and the weight of deliveries, must grow, too.
	links := nodes * (nodes - 1)
	walk := strategy.Walk{Deliver: byzantineWalk.Deliver * links / 12, Wait: byzantineWalk.Wait,
		Steps: byzantineWalk.Steps * links / 12}
	plan := lockstep.Plan{
		System:    c,
		Strategy:  walk,
		Scenario:  RandomByzantine(k, nodes),
		Spec:      Everything,
		Runs:      *byzantineNodes,
		Settle:    Settle * links / 12,
		Seed:      seed,
		KeepGoing: true,
		Keep:      3,
	}
	survives := k <= c.Faulty()
	if !survives {
		plan.Spec, plan.Runs, plan.Settle, plan.KeepGoing, plan.Repetitions = Safety, 500, 0, false, 1
	}
	result := explore(t, plan)
	first := result.First()
	fmt.Printf("%s, %d of %d Byzantine, seed %d: %v %v, checked %v", Version(), k, nodes, seed, result.Verdicts,
		result.Reasons, result.Checked)
	if first != nil {
		fmt.Printf("; run %d, %d of %d: %s", first.Run+1, first.Failed, first.Repeated, first.Finding)
	}
	fmt.Println()
	if survives != (first == nil) || !survives && first.Finding.Property != "agreement" {
		t.Errorf("found %+v", first)
	}
}

// proofs counts the evidence that validators send.
type proofs struct {
	Property
	sent *int
}

func (p proofs) New(i lockstep.Info) lockstep.Monitor { return proofMonitor{p.Property.New(i), p.sent} }

type proofMonitor struct {
	lockstep.Monitor
	sent *int
}

func (p proofMonitor) Step(run *lockstep.Run) *lockstep.Finding {
	for i := range run.Sent() {
		if run.Body(run.Sent()[i].ID).(*Message).Kind == Proof {
			*p.sent++
		}
	}
	return p.Monitor.Step(run)
}

// Validators send evidence about a Byzantine validator's double signatures to the others, and it ends up in a block.
func TestEvidence(t *testing.T) {
	sent := 0
	result := explore(
		t,
		lockstep.Plan{
			System:   Cluster{},
			Strategy: byzantineWalk,
			Scenario: RandomByzantine(1, 4),
			Spec:     proofs{Everything, &sent},
			Runs:     8,
			Settle:   4000,
			Seed:     3,
		},
	)
	if sent == 0 {
		t.Error("no evidence was sent")
	}
	if f := result.First(); f != nil {
		t.Fatalf("run %d: %s", f.Run, f.Finding)
	}
	for _, p := range result.Checked {
		if p.Name == "evidence" && p.N == 0 {
			t.Errorf("evidence was not checked: %v %v", result.Verdicts, result.Checked)
		}
	}
}

// A forger signs for the faulty validators only, and the run records its messages as forged.
func TestForger(t *testing.T) {
	seen := map[string]int{}
	sc := New("forger")
	sc.If(IsSend()).Then(Do("observe", func(m *Moment, _ *lockstep.Control) {
		was := m.Body().(*Message)
		is, err := Parse(was.String())
		if err != nil || is.String() != was.String() {
			t.Errorf("%s became %s, %v", was, is, err)
		}
		seen[was.Kind]++
		if !was.IsVote() {
			return
		}
		forged, err := Forger{Faulty: trace.NodesOf(was.By), Nodes: 4}.Vote(was, Ballot{Round: 5})
		if err != nil || forged.Round != 5 || forged.Block != Nil || forged.By != was.By || !signedBy(forged) {
			t.Errorf("%v became %v, %v", was, forged, err)
		}
		if _, err := (Forger{Faulty: trace.NodesOf(was.By%4 + 1), Nodes: 4}).Vote(was, Ballot{}); err == nil {
			t.Error("it signed for another")
		}
	}))
	explore(
		t,
		lockstep.Plan{
			System:   Cluster{},
			Strategy: strategy.Walk{Deliver: 20, Wait: 2, Steps: 500},
			Scenario: sc,
			Runs:     1,
		},
	)
	for _, kind := range []string{Proposal, BlockPart, Prevote, Precommit, NewRoundStep, HasVote} {
		if seen[kind] == 0 {
			t.Errorf("no %s was seen: %v", kind, seen)
		}
	}
	for _, bad := range []string{"", "Prevote", "Prevote; raw=zz", "Prevote; raw=00", "Prevote; channel=22 raw=00",
		"Prevote; channel=22 conn=1 raw=00"} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%q was read as a message", bad)
		}
	}
}

// signedBy checks the signature of a vote.
func signedBy(m *Message) bool {
	decoded, err := decode(m.Raw)
	if err != nil {
		return false
	}
	return decoded.(*voteMessage).Vote.Verify(chainID, keysOf(4)[m.By-1].PubKey()) == nil
}

func ExampleParse() {
	_, err := Parse("Prevote 1/0 by 2 block nil")
	fmt.Println(strings.TrimPrefix(err.Error(), libraryName+": "))
	m, err := Parse("Garbled 0/0; channel=22 conn=1 seq=7 raw=0102")
	fmt.Println(m.Kind, m.Seq, err)
	// Output:
	// "Prevote 1/0 by 2 block nil" has no "; " before the bytes of the message
	// Garbled 7 <nil>
}

func ExampleForger_Vote() {
	_, err := Forger{Faulty: trace.NodesOf(2), Nodes: 4}.Vote(&Message{Kind: HasVote, Raw: []byte{1}}, Ballot{})
	fmt.Println(err != nil)
	// Output: true
}
