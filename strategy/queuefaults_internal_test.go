package strategy

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// noted is Shadow with access to the actions of its scheduler.
type noted struct {
	Queues
	reset func(*shadow)
	note  func(choice)
}

type notedScheduler struct {
	*shadow
	noted
}

func (n noted) New(info lockstep.Info) lockstep.Scheduler {
	s := n.Queues.New(info).(*shadow)
	s.note = n.note
	return notedScheduler{s, n}
}

func (n notedScheduler) Reset(start *lockstep.Start) { n.shadow.Reset(start); n.reset(n.shadow) }
func (n notedScheduler) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	return n.shadow.Next(turn, next)
}
func (n notedScheduler) Report(words bool) lockstep.SchedulerStats { return n.shadow.Report(words) }

// TestShadowKeepsItsRules checks over many swarm runs that pairs without effect are never taken, bounds hold, and only
// faults ever have weight 0.
func TestShadowKeepsItsRules(t *testing.T) {
	var s *shadow
	var drops, dups int
	last := map[int32]action{}
	zero, nonzero := map[string]int{}, map[string]int{}
	swaps := map[string]int{}
	check := func(c choice) {
		pair := fmt.Sprint(last[c.link], c.act)
		switch pair {
		case fmt.Sprint(actSwap, actSwap), fmt.Sprint(actDup, actSwap), fmt.Sprint(actDup, actDrop):
			t.Fatalf("pair %s on link %d", pair, c.link)
		}
		if c.act == actCommit || c.act >= actDrop {
			last[c.link] = c.act
			swaps[pair]++
		}
		if c.act == actDrop {
			drops++
		}
		if c.act == actDup {
			dups++
		}
		for _, link := range s.links {
			for _, p := range link.network {
				if p.moved > s.queues.distance || p.moved < -s.queues.distance {
					t.Fatalf("a message moved by %d places, the bound is %d", p.moved, s.queues.distance)
				}
			}
		}
		if drops > s.bound[actDrop] || dups > s.bound[actDup] {
			t.Fatalf("%d drops and %d dups, the bounds are %d and %d", drops, dups, s.bound[actDrop], s.bound[actDup])
		}
	}
	begin := func(now *shadow) {
		s, drops, dups = now, 0, 0
		clear(last)
		drawn := s.Report(true).Drawn
		for _, c := range shadowClasses {
			if w, err := strconv.Atoi(drawn[c.name]); err != nil || w < 0 {
				t.Fatalf("drawn %v", drawn)
			} else if w == 0 {
				zero[c.name]++
			} else {
				nonzero[c.name]++
			}
		}
		if len(drawn) != len(shadowClasses)+3 {
			t.Fatalf("drawn %v", drawn)
		}
	}
	result, err := lockstep.Explore(
		context.Background(),
		lockstep.Plan{System: smr.Cluster{Nodes: 3, Requests: 2}, Spec: smr.Prefix,
			Strategy: noted{DefaultQueues, begin, check}, Runs: 1000, Workers: 1},
	)
	if err != nil || result.Verdict() != trace.Pass {
		t.Fatal(result.Verdict(), err)
	}
	for _, c := range shadowClasses {
		if (zero[c.name] > 0) != c.fault || nonzero[c.name] == 0 {
			t.Errorf("weight %s was 0 in %d runs and positive in %d", c.name, zero[c.name], nonzero[c.name])
		}
	}
	for _, pair := range [][2]action{
		{actSwap, actCommit},
		{actDup, actCommit},
		{actDup, actDup},
		{actDrop, actSwap},
		{actSwap, actDup},
	} {
		if swaps[fmt.Sprint(pair[0], pair[1])] == 0 {
			t.Errorf("pair %v was never taken", pair)
		}
	}
}
