package cassandra

import (
	"math/rand/v2"
	"slices"

	"github.com/lockstep-go/lockstep"
)

// ToolRuns are the results of simulated runs of the paper's own tool: how often a read at all servers, and a read at a
// server that is drawn, shows the defect, and the means of the table.
type ToolRuns struct {
	Runs     int
	All, One int // runs with the defect, as a read at all servers sees it, and as a read at one does
	Means    [5]float64
}

// Tool simulates runs of the paper's own tool (github.com/burcuku/explorer-server, NodeFailureInjector) over the model
// of the servers. It explains where the published figures differ from those of the algorithm:
//
//   - Faults are drawn with replacement: as many as the bound, each a phase of the first four, a round and a server.
//     One takes effect when a message of that server is looked at in exactly that round.
//   - A request belongs to its receiver and an answer to its sender. A coordinator that is isolated still reaches the
//     others, and only does not hear itself.
//   - The servers' messages to themselves are messages, and those that arrive are counted.
//   - After the run, the row is read with the driver's default consistency, ONE: at one server.
//
// The tool of the published commit waits indefinitely where a round has no message. The published means show no such
// runs, so the simulation continues with the next phase, as the commit before it does.
func Tool(runs, period, isolations int, seed uint64) ToolRuns {
	rng := rand.New(rand.NewPCG(seed, uint64(period*100+isolations)))
	sum := ToolRuns{Runs: runs}
	var totals [5]int
	for range runs {
		t := tool{rng: rng, period: period, faults: drawFaults(rng, isolations)}
		for transaction := range int32(len(Transactions)) {
			if !t.attempt(transaction+1, 1) {
				t.attempt(transaction+1, majority)
			}
		}
		for i, n := range t.counts {
			totals[i] += n
		}
		row := replica{}
		for _, has := range t.ring.replicas {
			row.write(has.data, has.times)
		}
		if twice(row.data) {
			sum.All++
		}
		if twice(t.ring.replicas[rng.IntN(nodes)].data) {
			sum.One++
		}
	}
	for i, n := range totals {
		sum.Means[i] = float64(n) / float64(runs)
	}
	return sum
}

// twice reports whether the row shows that the first transaction took effect again after the second.
func twice(row Row) bool { return row[0] == "A" && row[1] == "B" }

// fault is an isolation of the paper's tool.
type fault struct {
	phase, round int
	node         lockstep.Node
}

// faultPhases is the number of phases over which the tool distributes faults.
const faultPhases = 4

// drawFaults draws faults as the tool does: a phase that has had as many as there are servers leaves the list, but the
// phase of a fault is its position in the list.
func drawFaults(rng *rand.Rand, n int) (faults []fault) {
	left, full := faultPhases, [faultPhases]int{}
	for range n {
		phase := rng.IntN(left)
		if full[phase]++; full[phase] == nodes {
			left--
		}
		faults = append(faults, fault{phase, rng.IntN(len(Rounds)), lockstep.Node(1 + rng.IntN(nodes))})
	}
	return faults
}

// tool is one run of the tool.
type tool struct {
	rng    *rand.Rand
	period int
	faults []fault
	failed lockstep.Nodes
	ring   ring
	ballot int32
	counts [5]int // as meanNames
}

// done reports whether the run has its rounds.
func (t *tool) done() bool { return t.counts[0] >= publishedRounds }

// dropped reports whether the tool drops a message of a server.
func (t *tool) dropped(round int, n lockstep.Node) bool {
	if t.failed.Has(n) {
		return true
	}
	i := slices.Index(t.faults, fault{t.counts[2], round, n})
	if i < 0 {
		return false
	}
	t.faults = slices.Delete(t.faults, i, i+1)
	t.failed = t.failed.With(n)
	return true
}

// ends ends a round in which so many messages arrived; empty rounds follow if its phase fails.
func (t *tool) ends(arrived, empty int) {
	t.counts[0] += 1 + empty
	t.counts[4] += arrived
	if arrived >= majority {
		t.counts[1]++
	}
	if t.counts[0]%t.period == 0 {
		t.failed = 0
	}
}

// exchange sends a request to all servers, and returns the answers that arrive.
func (t *tool) exchange(l letter) (answers []letter) {
	var sent []lockstep.Node
	var back []letter
	round := int(l.round)
	for _, i := range t.rng.Perm(nodes) {
		if n := lockstep.Node(i + 1); !t.dropped(round, n) {
			sent, back = append(sent, n), append(back, t.ring.handle(n, l))
		}
	}
	if len(sent) >= majority && l.round == committed {
		t.counts[3]++
	}
	rest := len(Rounds) - 1 - round // rounds of the phase after this one
	if len(sent) == 0 {
		t.ends(0, rest)
		t.counts[2]++
		return nil
	}
	t.ends(len(sent), 0)
	for _, i := range t.rng.Perm(len(sent)) {
		if !t.dropped(round+1, sent[i]) {
			answers = append(answers, back[i])
		}
	}
	switch {
	case l.round == committed:
		t.ends(len(answers), 0)
		t.counts[2]++
	case len(answers) < majority:
		t.ends(len(answers), rest-1)
		t.counts[2]++
	default:
		t.ends(len(answers), 0)
	}
	return answers
}

// attempt makes an attempt at a transaction, whose commit needs so many acknowledgments. It reports whether the client
// has its answer, or the run is over.
func (t *tool) attempt(transaction int32, acknowledgments int) bool {
	for !t.done() {
		t.ballot++
		promises := t.exchange(letter{round: prepared, ballot: t.ballot})
		if len(promises) < majority {
			return false
		}
		seen := replica{}
		for _, l := range promises[:majority] {
			seen.committed = max(seen.committed, l.has.committed)
			if l.has.ballot > seen.ballot {
				seen.ballot, seen.update = l.has.ballot, l.has.update
			}
		}
		update, mine := seen.update, seen.update == 0 || seen.ballot <= seen.committed
		if mine {
			update = transaction
		}
		if mine && !t.ring.holds(transaction) {
			t.counts[0] += len(Rounds) - 2
			t.counts[2]++
			return true
		}
		if len(t.exchange(letter{round: proposed, ballot: t.ballot, update: update})) < majority {
			return false
		}
		acknowledged := len(t.exchange(letter{round: committed, ballot: t.ballot, update: update}))
		if mine {
			return acknowledged >= acknowledgments
		}
		if acknowledged < majority {
			return false
		}
	}
	return true
}
