package textbook_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/bubble/rpc"
	"github.com/lockstep-go/lockstep/examples/textbook"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// server creates the server of a node, with its disk, and everything but its network.
func server(n *bubble.Node, careful bool, dial func(int) (textbook.Peer, error)) *textbook.Server {
	type disk = textbook.State
	d := bubble.DiskOf(n, "state", func() *disk { return &disk{} }, func(s *disk) *disk { c := *s; return &c })
	c := textbook.Config{ID: int(n.Self()), Dial: dial, Rand: n.Rand(), Careful: careful}
	for _, other := range n.Others() {
		c.Peers = append(c.Peers, int(other))
	}
	c.Load = func() (state textbook.State) {
		d.Read(func(s *disk) { state = *s })
		return state
	}
	c.Save = func(state textbook.State) {
		d.Write(func(s *disk) { *s = state })
		n.Emit("saved", state.Log)
	}
	c.Apply = func(index int, e textbook.Entry) { n.Emit("applied", applied{index, e}) }
	c.Elected = func(term int) { n.Emit("leader", term) }
	s := textbook.New(c)
	n.SetState(func() string {
		role, term, last, commit := s.Status()
		return fmt.Sprintf("%s term=%d last=%d commit=%d", role, term, last, commit)
	})
	n.OnRequest(func(id int32, text string) {
		if s.Propose(text) != nil { // the client retries later
			time.AfterFunc(100*time.Millisecond, func() {
				n.World().Offer(trace.Pending{ID: id + 1000, To: trace.AllNodes(n.Nodes()), Text: text})
			})
		}
	})
	return s
}

type applied struct {
	index int
	entry textbook.Entry
}

// onMajority is violated by an applied entry that is not in the logs of a majority.
var onMajority = spec.New("on-majority", func(i lockstep.Info) *majority { return &majority{nodes: i.Nodes} })

type majority struct {
	nodes   int
	logs    [10][]textbook.Entry
	checked int
}

// End returns nil: only events are checked.
func (*majority) End(*lockstep.Run) *lockstep.Finding { return nil }

func (m *majority) Reset()       { m.logs, m.checked = [10][]textbook.Entry{}, 0 }
func (m *majority) Checked() int { return m.checked }

func (m *majority) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	switch v := e.Value.(type) {
	case []textbook.Entry:
		m.logs[e.Node] = v
	case applied:
		m.checked++
		have := 0
		for _, log := range m.logs {
			if len(log) >= v.index && log[v.index-1] == v.entry {
				have++
			}
		}
		if 2*have <= m.nodes {
			return &lockstep.Finding{Nodes: trace.NodesOf(e.Node),
				Text: fmt.Sprintf(
					"node %d applies %q at index %d, which is in the logs of %d of %d nodes",
					e.Node, v.entry.Command, v.index, have, m.nodes)}
		}
	}
	return nil
}

// The first way to connect the program replaces its connections. Each call is two messages.
func byMessages(careful bool) bubble.Cluster {
	return bubble.Cluster{Name: "textbook", Nodes: 3, Requests: requests(), Start: func(n *bubble.Node) error {
		c := rpc.New(n, 5*time.Second)
		s := server(n, careful, func(to int) (textbook.Peer, error) { return peer{c, lockstep.Node(to)}, nil })
		n.OnStop(s.Stop)
		n.OnStop(c.Close) // first, because Stop waits for calls
		n.Receive(func(from lockstep.Node, body any) {
			if m := body.(*rpc.Message); !c.Take(m) {
				kind, reply := serve(s, m.Body)
				c.Answer(from, kind, m, &rpc.Message{Body: reply})
			}
		})
		s.Start()
		return nil
	}}
}

// requests are the clients' requests.
func requests() (list []string) {
	for i := range 20 {
		list = append(list, fmt.Sprintf("set %d", i))
	}
	return list
}

// peer calls another node.
type peer struct {
	calls *rpc.Calls
	to    lockstep.Node
}

// Call sends a request and waits for its reply.
func (p peer) Call(method string, args, reply any) error {
	answer, err := p.calls.Ask(p.to, method, &rpc.Message{Body: args})
	if err != nil {
		return err
	}
	switch r := reply.(type) {
	case *textbook.VoteReply:
		*r = answer.Body.(textbook.VoteReply)
	case *textbook.AppendReply:
		*r = answer.Body.(textbook.AppendReply)
	}
	return nil
}

// serve handles a request.
func serve(s *textbook.Server, question any) (kind string, answer any) {
	if args, ok := question.(textbook.VoteArgs); ok {
		var reply textbook.VoteReply
		_ = s.RequestVote(args, &reply)
		return "Vote", reply
	}
	var reply textbook.AppendReply
	_ = s.AppendEntries(question.(textbook.AppendArgs), &reply)
	return "Appended", reply
}

// slow is the strategy that finds the bug the first way: a slow network, no scenario. Messages take a fifth of a second
// on average, which is as long as the timeout of a follower.
var slow = strategy.Delay{Near: strategy.Exponential, NearMean: 2, Steps: 800}

// find expects that the strategy finds the bug, and that the fixed program passes.
func find(t *testing.T, cluster func(careful bool) bubble.Cluster, hunt lockstep.Strategy, runs int) {
	t.Helper()
	for _, careful := range []bool{false, true} {
		result, err := lockstep.Explore(t.Context(),
			lockstep.Plan{System: cluster(careful), Strategy: hunt, Spec: onMajority, Runs: runs, Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		f := result.First()
		t.Logf("careful %v: %d runs, %v, %v", careful, result.Runs, result.Verdicts, result.Checked)
		switch {
		case careful && f != nil:
			t.Errorf("fixed: %s\n%s", f.Finding, f.Finding.Stack)
		case !careful && (f == nil || f.Finding.Property != "on-majority"):
			t.Errorf("not found: %+v", f)
		case !careful:
			t.Logf("run %d, failed in %d of %d: %s", f.Run, f.Failed, f.Repeated, f.Finding)
		}
	}
}

func TestByMessages(t *testing.T) {
	tier.NotShort(t)
	find(t, byMessages, slow, 200)
}
