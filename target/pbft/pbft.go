// Package pbft is Practical Byzantine Fault Tolerance (Castro and Liskov, OSDI 1999) as section 2 of the Netrix paper
// describes it: the normal case and the view change, without checkpoints. There, n = 3f+1 nodes agree on a log of
// requests although f of them are Byzantine.
//
// The implementation decides some questions that the description leaves open:
//
//   - Node v mod n + 1 leads view v.
//   - The node that receives a request forwards it to all others, as a client would.
//   - The leader sends a Prepare like every other node.
//   - A new view carries 2f+1 view changes. Every node derives from them the requests to propose again.
//   - A node joins a view change that f+1 others request.
//   - Each timeout is a tick. A node that waits for a request, or for a new view, requests the next view after Timeout
//     ticks. It doubles the time at each attempt until it sees progress.
//
// Signatures authenticate statements. Nodes accept a message only with its sender's signature, and a certificate only
// with those of a quorum. A [Forger] can sign for faulty nodes alone. The state of a node survives a crash.
package pbft

import (
	"context"
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/target"
)

// Cluster is a deployment of the protocol: a [lockstep.System].
type Cluster struct {
	// Nodes is the number of nodes, 3f+1 for f faulty ones; 0 means 4.
	Nodes int `help:"number of nodes, 3f+1 for f faulty ones; 0: 4" zero:"4" range:"1..64"`
	// Requests is the number of clients' requests, named a, b, c and so on; 0 means 2.
	Requests int `help:"number of clients' requests; 0: 2" zero:"2" range:"1..26"`
	// Timeout is the number of ticks after which a node requests the next view; 0 means 6.
	Timeout int `help:"ticks after which a node requests the next view; 0: 6" zero:"6" range:"1..1000"`
	// SmallQuorum is a bug: 2f nodes make a quorum instead of 2f+1.
	SmallQuorum bool `help:"with the bug that 2f nodes make a quorum instead of 2f+1"`
	// Forgetful is a bug: a new view does not propose prepared requests again.
	Forgetful bool `help:"with the bug that a new view forgets prepared requests"`
}

// The types of message.
const (
	Request    = "Request"
	PrePrepare = "PrePrepare"
	Prepare    = "Prepare"
	Commit     = "Commit"
	ViewChange = "ViewChange"
	NewView    = "NewView"
)

// The types of event.
const (
	// Decided is the event of a node that appends a request to its log; its value is a *Decision.
	Decided = "decided"
	// Entered is the event of a node that enters a view; its value is an int32.
	Entered = "entered"
)

// Decision is a request at its index in a node's log.
type Decision struct {
	View, Index int32
	Request     string // empty for the no-op request
}

// String is the decision as text.
func (d *Decision) String() string {
	return fmt.Sprintf("index=%d request=%s view=%d", d.Index, orDash(d.Request), d.View)
}

// longest is the maximum length of a log: a faulty leader cannot make it grow without bound.
const longest = 64

// Describe describes the system and its capabilities.
func (c Cluster) Describe() (lockstep.Info, error) {
	c = target.Fill(c)
	if err := target.Check("pbft", c); err != nil {
		return lockstep.Info{}, err
	}
	return c.cluster().Describe()
}

// Deploy makes a deployment.
func (c Cluster) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	return target.Fill(c).cluster().Deploy(ctx, p)
}

// Faulty is the number of tolerated Byzantine nodes: f.
func (c Cluster) Faulty() int { return (target.Fill(c).Nodes - 1) / 3 }

// Clients are the texts of the clients' requests.
func (c Cluster) Clients() []string {
	var texts []string
	for i := range target.Fill(c).Requests {
		texts = append(texts, string(rune('a'+i)))
	}
	return texts
}

// quorum is the number of nodes in a quorum.
func (c Cluster) quorum() int {
	if c.SmallQuorum {
		return 2 * c.Faulty()
	}
	return 2*c.Faulty() + 1
}

func (c Cluster) cluster() sim.Cluster[Message] {
	return sim.Cluster[Message]{
		Name: "pbft", Options: target.Changed(c, Cluster{}), Nodes: c.Nodes,
		New: func(self lockstep.Node, _ int) sim.Node[Message] {
			p := &node{self: self, cluster: c}
			return sim.With(p, sim.Capabilities[Message]{Reset: p.Reset, State: p.String})
		},
		Type:     func(m Message) string { return m.Kind },
		Types:    []string{Request, PrePrepare, Prepare, Commit, ViewChange, NewView},
		Events:   []string{Decided, Entered},
		Text:     func(m Message) string { return m.content() },
		Parse:    Parse,
		Requests: c.Clients(),
	}
}
