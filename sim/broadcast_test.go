package sim_test

import (
	"bytes"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// crier reports its number of received messages to all nodes while it is below the limit, with a broadcast or with a
// message to each.
type crier struct {
	each bool
	got  int
}

func (n *crier) announce(c *sim.Context[int]) {
	if !n.each {
		c.Broadcast(n.got)
		return
	}
	for to := range c.Nodes() {
		c.Send(lockstep.Node(to+1), n.got)
	}
}

func (n *crier) Start(c *sim.Context[int])   { c.SetTimeout(5) }
func (n *crier) Timeout(c *sim.Context[int]) { n.announce(c); c.SetTimeout(5) }
func (n *crier) Receive(c *sim.Context[int], _ lockstep.Node, _ int) {
	if n.got++; n.got%3 == 0 {
		n.announce(c)
	}
}
func (n *crier) Request(*sim.Context[int], int32, string) {}

// A broadcast is a message to each node, also if links are cut or FIFO, nodes are down and messages are duplicated. The
// traces are identical, byte for byte.
func TestBroadcastIsAMessageToEach(t *testing.T) {
	faults := strategy.Walk{
		Deliver:   20,
		Drop:      2,
		Duplicate: 1,
		Timer:     3,
		Crash:     1,
		Restart:   2,
		Cut:       2,
		Heal:      2,
		Steps:     200,
	}
	for _, fifo := range []bool{false, true} {
		var traces [2]bytes.Buffer
		lost := 0
		for i := range traces {
			system := sim.Cluster[int]{Name: "crier", Nodes: 4, FIFO: fifo,
				New: func(lockstep.Node, int) sim.Node[int] { return &crier{each: i == 1} }}
			for run := range 30 {
				tr, err := lockstep.Record(t.Context(), lockstep.Plan{System: system, Strategy: faults, Seed: 7}, run)
				if err == nil {
					err = trace.Write(&traces[i], tr)
				}
				if err != nil {
					t.Fatal(err)
				}
				for _, rec := range tr.Records {
					for _, m := range rec.Sent {
						if m.Lost {
							lost++
						}
					}
				}
			}
		}
		if !bytes.Equal(traces[0].Bytes(), traces[1].Bytes()) {
			t.Errorf("FIFO %v: the traces of a broadcast and of a message to each differ", fifo)
		}
		if lost == 0 {
			t.Errorf("FIFO %v: no message was sent into a cut", fifo)
		}
	}
}
