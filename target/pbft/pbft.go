// Package pbft is Practical Byzantine Fault Tolerance (Castro and Liskov, OSDI 1999) as
// the Netrix paper retells it in its section 2: the normal case and the view change,
// without checkpoints. n = 3f+1 nodes agree on a log of requests though f of them lie.
//
// Choices that the retelling leaves open: node v mod n + 1 leads view v; the node that a
// request is given to passes it on to all others, as a client would; the leader prepares
// like everyone else; a new view carries 2f+1 view changes, from which every node works
// out itself which requests are to be proposed again; a node joins a view change that
// f+1 others ask for. An alarm is a tick: a node that waits for a request, or for a new
// view, asks for the next view after Patience ticks, and twice as many each time until
// it sees progress.
//
// Signatures stand for what a node has said: a message is believed only if it bears its
// sender's signature, and a certificate only if it bears those of a quorum. A [Forger]
// can sign for faulty nodes alone. What a node knows survives a crash.
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
	// Patience is the number of ticks after which a node asks for the next view; 0 means 6.
	Patience int `help:"ticks after which a node asks for the next view; 0: 6" zero:"6" range:"1..1000"`
	// SmallQuorum is a bug: 2f nodes make a quorum instead of 2f+1.
	SmallQuorum bool `help:"with the bug that 2f nodes make a quorum instead of 2f+1"`
	// Forgetful is a bug: a new view proposes nothing again that was prepared before.
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
	// Decided is the event of a node that adds a request to its log; its value is a
	// *Decision.
	Decided = "decided"
	// Entered is the event of a node that enters a view; its value is an int32.
	Entered = "entered"
)

// Decision is a request at its place in a node's log.
type Decision struct {
	View, Index int32
	Request     string // empty for the request that does nothing
}

// String is the decision in words.
func (d *Decision) String() string {
	return fmt.Sprintf("index=%d request=%s view=%d", d.Index, orDash(d.Request), d.View)
}

// longest is the length of a log: a faulty leader cannot make it grow without end.
const longest = 64

// Describe says what the system is and can do.
func (c Cluster) Describe() (lockstep.Info, error) {
	c = target.Fill(c)
	if err := target.Check("pbft", c); err != nil {
		return lockstep.Info{}, err
	}
	return c.cluster().Describe()
}

// Deploy makes a deployment.
func (c Cluster) Deploy(ctx context.Context, p *lockstep.Place) (lockstep.Deployment, error) {
	return target.Fill(c).cluster().Deploy(ctx, p)
}

// Faulty is the number of nodes that may lie: f.
func (c Cluster) Faulty() int { return (target.Fill(c).Nodes - 1) / 3 }

// Clients are the texts of the clients' requests.
func (c Cluster) Clients() []string {
	var texts []string
	for i := range target.Fill(c).Requests {
		texts = append(texts, string(rune('a'+i)))
	}
	return texts
}

// quorum is the number of nodes that make a quorum.
func (c Cluster) quorum() int {
	if c.SmallQuorum {
		return 2 * c.Faulty()
	}
	return 2*c.Faulty() + 1
}

func (c Cluster) cluster() sim.Cluster[Message] {
	return sim.Cluster[Message]{
		Name: "pbft", Options: target.Changed(c, Cluster{}), Nodes: c.Nodes,
		New:      func(self lockstep.Node, _ int) sim.Node[Message] { return &node{self: self, cluster: c} },
		Type:     func(m Message) string { return m.Kind },
		Types:    []string{Request, PrePrepare, Prepare, Commit, ViewChange, NewView},
		Events:   []string{Decided, Entered},
		Text:     func(m Message) string { return m.content() },
		Parse:    Parse,
		Requests: c.Clients(),
	}
}
