package bubble_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// The engine refuses an unknown network, settings that need the overlay, and settings out of range. The error says what
// is allowed.
func TestRefusedClusters(t *testing.T) {
	const overlay = "needs a program built by"
	or := func(with string) string {
		if bubble.Overlay {
			return with
		}
		return overlay
	}
	for name, test := range map[string]struct {
		cluster bubble.Cluster
		want    string
	}{
		"pointer": {
			bubble.Cluster{Network: &bubble.Sockets{}},
			"the network is a *bubble.Sockets, allowed are bubble.Messages and bubble.Sockets",
		},
		"split": {bubble.Cluster{Network: bubble.Sockets{Split: 2}}, or("(Sockets.Split) is 2, allowed are 0..1")},
		"grace": {
			bubble.Cluster{Freeze: &bubble.Freeze{Grace: -time.Second}},
			or("the Grace of Freeze is -1s, which must not be negative"),
		},
		"files": {bubble.Cluster{Freeze: &bubble.Freeze{Files: &bubble.Files{PowerFailures: 2}}}, or("2")},
		"CPUs":  {bubble.Cluster{Process: bubble.Process{CPUs: -1}}, "-1 processors must not be negative"},
	} {
		t.Run(name, func(t *testing.T) {
			test.cluster.Name, test.cluster.Nodes, test.cluster.Start = name, 1, locker
			if _, err := test.cluster.Describe(); err == nil || !strings.Contains(err.Error(), "cluster "+name+": ") ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, which lacks %q", err, test.want)
			}
		})
	}
	if _, err := (bubble.Cluster{Network: &bubble.Sockets{}}).Deploy(t.Context(), &lockstep.Env{}); err == nil {
		t.Error("a cluster with a network that is none is deployed")
	}
}

// A program on a network of sockets that sends or expects messages is a finding at the call.
func TestNoMessagesOnSockets(t *testing.T) {
	if !bubble.Overlay {
		t.Skip("sockets need the overlay")
	}
	for method, call := range map[string]func(*bubble.Node){
		"Send":          func(n *bubble.Node) { n.Send(1, "Word", trace.Tag{}, "hello") },
		"Receive":       func(n *bubble.Node) { n.Receive(func(lockstep.Node, any) {}) },
		"ReceiveAtOnce": func(n *bubble.Node) { n.ReceiveAtOnce(func(lockstep.Node, any) {}) },
		"OnLost":        func(n *bubble.Node) { n.OnLost(func(lockstep.Node, any) {}) },
	} {
		for want, network := range map[bool]bubble.Network{true: bubble.Sockets{}, false: bubble.Messages{}} {
			cluster := bubble.Cluster{
				Name:    "mixed",
				Nodes:   2,
				Network: network,
				Start:   func(n *bubble.Node) error { call(n); return nil },
			}
			f := explore(t, lockstep.Plan{System: cluster, Strategy: strategy.Walk{Wait: 1, Steps: 2}, Runs: 1}).First()
			if found := f != nil && strings.Contains(f.Finding.Text,
				"Node."+method+", and the network of its cluster is bubble.Sockets"); found != want {
				t.Errorf("%s with %T: %+v", method, network, f)
			}
		}
	}
}
