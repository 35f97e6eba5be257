//go:build lockstep_overlay

package serftest

import (
	"fmt"
	"io"
	"log"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/hashicorp/serf/serf"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
)

// The types of event: a node has started; it has sent or received a user event; a member has joined or left. The
// value is the payload of the event or the name of the member.
const (
	eventUp   = "up"
	eventSent = "sent"
	eventGot  = "got"
	eventJoin = "join"
	eventLeft = "left"
)

// cluster is a deployment of serf with its defaults, apart from the number of events that a node remembers.
func cluster(buffer int) bubble.Cluster {
	return bubble.Cluster{Name: "serf", Nodes: 4, Network: bubble.Sockets{Split: 0.1}, Pace: time.Second,
		Start: func(n *bubble.Node) error { return start(n, buffer) }}
}

// buffer is serf's default.
const buffer = 512

// start starts a node: it joins the others, sends events and reports those that it receives.
func start(n *bubble.Node, buffer int) error {
	discard := log.New(io.Discard, "", 0)
	got := make(chan serf.Event, 64)
	c := serf.DefaultConfig()
	c.NodeName, c.EventCh, c.Logger = name(n.Self()), got, discard
	c.EventBuffer = buffer
	c.MemberlistConfig = memberlist.DefaultLANConfig()
	c.MemberlistConfig.BindAddr, c.MemberlistConfig.AdvertiseAddr = "0.0.0.0", address(n.Self())
	c.MemberlistConfig.Logger = discard
	n.Emit(eventUp, nil)
	s, err := serf.Create(c)
	if err != nil {
		return err
	}
	n.OnStop(func() { _ = s.Shutdown() })
	n.Go(func() { report(n, got) })
	for joined := 0; n.Alive() && joined == 0; time.Sleep(time.Second) {
		var others []string
		for _, other := range n.Others() {
			others = append(others, address(other))
		}
		joined, _ = s.Join(others, false) // they may be down
	}
	for i := 0; i < 20 && n.Alive(); i++ {
		payload := fmt.Sprintf("%d.%d.%d", n.Self(), n.Incarnation(), i)
		n.Emit(eventSent, payload)
		if err := s.UserEvent("work", []byte(payload), false); err != nil {
			return err
		}
		time.Sleep(time.Second)
	}
	return nil
}

// changes maps serf's member events to the events of this test.
var changes = map[serf.EventType]string{
	serf.EventMemberJoin: eventJoin, serf.EventMemberFailed: eventLeft, serf.EventMemberLeave: eventLeft,
}

// report emits the events that serf delivers to its application.
func report(n *bubble.Node, got <-chan serf.Event) {
	for {
		select {
		case <-n.Context().Done():
			return
		case e := <-got:
			switch e := e.(type) {
			case serf.UserEvent:
				n.Emit(eventGot, string(e.Payload))
			case serf.MemberEvent:
				change := changes[e.Type]
				for _, m := range e.Members {
					if change != "" {
						n.Emit(change, m.Name)
					}
				}
			}
		}
	}
}

func name(n lockstep.Node) string { return fmt.Sprintf("node%d", n) }

func address(n lockstep.Node) string { return fmt.Sprintf("10.0.0.%d", n) }
