package ratis

import (
	"context"
	"errors"
	"flag"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/outside"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/trace"
)

// goes is how often the leader is cut off and comes back.
var goes = flag.Int("goes", 20, "how often a leader is cut off and comes back")

// TestReturns shows the same with three servers and their own messages, without the engine: a leader is cut off, gets a request, and comes back when
// others have committed something else. It depends on who speaks first then, and whether that is a heartbeat.
func TestReturns(t *testing.T) {
	if !*long {
		t.Skip("shows a defect of servers and not of ours; -long makes it")
	}
	outside.Programs(t, "java", "mvn")
	c := Cluster{Version: *version, Warm: true, Patience: *patience}
	place := &lockstep.Place{}
	made, err := c.Deploy(place)
	if err != nil {
		t.Fatal(err)
	}
	d := made.(*deployment)
	defer func() {
		folder, _ := place.Folder()
		if err := errors.Join(d.Close(), os.RemoveAll(folder)); err != nil {
			t.Error(err)
		}
	}()
	came, apart := 0, 0
	for range *goes {
		found, ok := d.returns(t)
		if !ok {
			continue
		}
		if came++; found != "" {
			apart++
			t.Log(found)
		}
	}
	t.Logf("%s: the leader came back in %d of %d goes, and servers applied different entries in %d of these", *version, came, *goes, apart)
	if harmful := *version == "1.0.0"; came == 0 || apart > 0 && !harmful || apart == 0 && harmful {
		t.Errorf("%d of %d of %d", apart, came, *goes)
	}
}

// returns makes one go. It tells what two servers have both applied at one index, and whether the leader came back as it was to.
func (d *deployment) returns(t *testing.T) (found string, ok bool) {
	ctx := t.Context()
	begin := []func() error{d.Begin, d.Launch, func() error { return d.greet(ctx) }, func() error { return d.agree(ctx) }}
	for _, do := range begin {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	states, err := d.states(ctx)
	old := lockstep.Node(leader(states))
	if err != nil || old == 0 {
		t.Log("nobody leads any more: ", err)
		return "", false
	}
	others := trace.AllNodes(d.options.Nodes).Without(old)
	d.Network.Cut(func(from lockstep.Node) lockstep.Nodes {
		if from == old {
			return others
		}
		return trace.NodesOf(old)
	})
	last, term := states[old-1].last(), states[old-1].Term
	limit, cancel := context.WithTimeout(ctx, 20*time.Second)
	var answered sync.WaitGroup
	answered.Go(func() { _, _ = process.Order(limit, d.client.Host, "send") })
	defer answered.Wait()
	defer cancel()
	for range 4 { // until others have committed something
		if err := d.round(limit, time.Second, nil); err != nil {
			t.Fatal(err)
		}
		states, err = d.states(limit)
		alone := states[old-1]
		if ok = err == nil && alone.Term == term && alone.last() > last && slices.ContainsFunc(within(states, others), func(s State) bool { return s.Leads && s.Commit > last }); ok {
			break
		}
	}
	d.Network.Cut(process.Whole)
	if err := d.round(limit, time.Second, nil); err != nil {
		t.Fatal(err)
	}
	d.Network.Unbound()
	_, _ = d.until(limit, 5*time.Second, func(states []State, err error) bool {
		found = conflict(states)
		return err == nil && (found != "" || differ(states) == "")
	})
	return found, ok
}
