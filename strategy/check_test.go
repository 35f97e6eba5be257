package strategy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/lockstep-go/lockstep/trace"
)

// TestCheck checks that invalid options and systems that do not fit cause an error that names the field.
func TestCheck(t *testing.T) {
	info, err := smr.Cluster{Nodes: 3}.Describe()
	if err != nil {
		t.Fatal(err)
	}
	fifo, bare, loose, roles, clock := info, info, info, info, info
	clock.OneClock = true
	coarse := lockstep.Info{Name: "servers", Nodes: 3, Supports: trace.KindsOf(trace.Cut, trace.Heal, trace.Wait)}
	roles.Roles = []string{"leader", "follower"}
	fifo.FIFO = true
	bare.Supports = trace.KindsOf(trace.Deliver)
	loose.Determinism = lockstep.BestEffort
	for _, c := range []struct {
		text string
		info lockstep.Info
		want string // "" means that the options are valid
	}{
		{"partition", info, ""},
		{"partition", bare, "does not support: cut, heal"},
		{"partition", fifo, ""},
		{"partition:stages=0", info, "stages is 0, it must be at least 1"},
		{"partition:steps=-1", info, "steps is -1, it must not be negative"},
		{"partition:during=-1", info, "during is -1"},
		{"partition:k=4", info, "k = 4: want 1 to 3 (the nodes)"},
		{"partition:l=1", info, "l = 1: want nothing, split has no l"},
		{"partition:criterion=separate,k=2,l=2", info, "want"},
		{"partition:criterion=isolate,bridge=1,family=true", info, "none of which covers a goal"},
		{"partition:criterion=isolate,balanced=true,family=true", info, ""},
		{"partition:criterion=isolate,role=leader", info, "smr has no role \"leader\", its roles are: none"},
		{"partition:criterion=isolate,role=boss", roles, "smr has no role \"boss\", its roles are: leader, follower"},
		{"partition:criterion=isolate,role=leader", roles, ""},
		{"partition:criterion=separate,role=leader", roles, "set other, too"},
		{"partition:criterion=separate,role=leader,other=follower", roles, ""},
		{"partition:other=leader", roles, "requires criterion=separate and a role"},
		{
			"uniform:by=crash",
			info,
			"by=crash is for systems whose messages are not in the engine's hands; those of smr are lost one by one",
		},
		{"uniform:by=cut", info, ""},
		{"walk:deliver=-5,drop=10", coarse, "deliver is -5, it must not be negative"},
		{"pctcp", info, ""},
		{"pctcp:depth=0", info, "depth is 0"},
		{"pctcp:depth=65", info, "allowed are 1..64"},
		{"pctcp:events=-1", info, "events is -1"},
		{"pctcp:depth=5,events=3", info, "events is 3"},
		{"pctcp:steps=-1", info, "steps is -1"},
		{"pctcp", bare, ""},
		{"pos:steps=-1", info, "steps is -1"},
		{"pos", bare, ""},
		{"queues", info, ""},
		{"queues", bare, ""},
		{"queues", fifo, ""},
		{"queues:run=1", info, "run is 1, but swarm"},
		{"queues:swarm=false", info, "run is 0"},
		{"queues:swarm=false,run=1,commit=1,timer=1,request=1", info, ""},
		{"queues:swarm=false,run=1,commit=1,timer=1,request=1,drop=1", bare, "does not support: drop"},
		{"queues:swarm=false,run=1,commit=1,timer=1,request=1,drop=-1", info, "drop is -1"},
		{"queues:swarm=false,run=1,commit=1,timer=1,request=1,swap=1", fifo, "FIFO"},
		{"queues:distance=-1", info, "distance is -1"},
		{"delay", info, ""},
		{"delay", bare, ""},
		{"delay:cuts=-1", info, "cuts is -1"},
		{"delay:loss=2", info, "loss is 2"},
		{"delay:sites=2,gap=20", info, ""},
		{"delay:swarm=false", info, "gap is 0"},
		{"delay:swarm=false,gap=1", bare, "does not support: drop"},
		{"delay:swarm=false,gap=-1", info, "gap is -1"},
		{"systematic", info, ""},
		{"systematic:steps=0", info, "steps is 0"},
		{"systematic:losses=-2", info, "losses is -2"},
		{"systematic:delays=1", info, "reduce=sleep"},
		{"systematic:delays=1,reduce=none", info, ""},
		{"systematic:distance=1", info, "network=queues"},
		{"systematic:isolations=1,network=queues", info, "network=any"},
		{"systematic", loose, "different things"},
		{"systematic", clock, "use reduce=none"},
		{"systematic:reduce=states", clock, "use reduce=none"},
		{"systematic:reduce=none", clock, ""},
		{"systematic", bare, "does not support"},
		{"guided", info, ""},
		{"guided:fresh=0", info, "fresh is 0"},
		{"guided:keep=0", info, "keep is 0"},
		{"guided:by=pairs", info, ""},
		{"guided:by=code", info, ""},
		{"guided:inner=systematic", info, "already learns"},
		{"guided:inner=uniform:period=-1", info, "period is -1"},
	} {
		s, err := strategy.Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		_, err = s.Fit(c.info)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.text, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want one with %q", c.text, err, c.want)
		}
	}
	if _, err := (strategy.Guided{Keep: 1}).Fit(info); err == nil ||
		!strings.Contains(err.Error(), "inner is missing") {
		t.Errorf("guided without inner: %v", err)
	}
	if _, err := (strategy.Guided{Inner: strategy.DefaultGuided.Inner, Fresh: 1, Keep: 1, By: 4}).Fit(info); err == nil ||
		!strings.Contains(err.Error(), "by is 4, allowed are states, pairs, code, model") {
		t.Errorf("guided by something: %v", err)
	}
	if _, err := (strategy.Uniform{Rounds: 4, Period: 4, By: 7}).Fit(info); err == nil ||
		!strings.Contains(err.Error(), "by is 7, allowed are cut, crash, restart") {
		t.Errorf("uniform by something: %v", err)
	}
	for _, text := range []string{
		"uniform:by=hand",
		"partition:criterion=cut",
		"systematic:reduce=fast",
		"systematic:network=x",
		"delay:near=normal",
		"guided:inner=nothing",
		"guided:by=luck",
		"none",
		"pctcp:depth",
	} {
		if s, err := strategy.Parse(text); err == nil {
			t.Errorf("%s became %s", text, s)
		}
	}
}

// TestOtherSystems runs every strategy on a system with FIFO links, on one that supports hardly any kind of step, and
// on one whose nodes share a clock. All chosen steps must be possible.
func TestOtherSystems(t *testing.T) {
	fifo := combination(6, true)
	var refused []string
	for _, k := range strategy.All() {
		for _, system := range []lockstep.System{ordered{fifo}, tree(2, 12), oneClock{ringers()}} {
			info, err := system.Describe()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := k.Default.Fit(info); err != nil {
				refused = append(refused, k.Name+" on "+info.Name)
				continue
			}
			if result := enginetest.Explore(t,
				lockstep.Plan{System: system, Strategy: k.Default, Runs: 200}); result.Verdict() != trace.Pass {
				t.Errorf("%s on %s: %s", k.Name, info.Name, result.Verdict())
			}
		}
	}
	// it cannot be cut; see TestCheck
	if want := []string{"partition on poset", "systematic on ringers"}; !slices.Equal(refused, want) {
		t.Errorf("refused: %q, want %q", refused, want)
	}
}

// ordered is a system with FIFO links.
type ordered struct{ lockstep.System }

func (o ordered) Describe() (lockstep.Info, error) {
	info, err := o.System.Describe()
	info.FIFO = true
	return info, err
}

// oneClock is a system whose nodes share a clock.
type oneClock struct{ lockstep.System }

func (o oneClock) Describe() (lockstep.Info, error) {
	info, err := o.System.Describe()
	info.OneClock = true
	return info, err
}

// ringers are nodes that repeatedly set their timers to different times, and stop that of another node by a message.
func ringers() lockstep.System {
	return sim.Cluster[int]{
		Name:     "ringers",
		Nodes:    4,
		Requests: []string{"toll"},
		New:      func(lockstep.Node, int) sim.Node[int] { return ringer{} },
	}
}

type ringer struct{}

func (ringer) Start(c *sim.Context[int]) { c.SetTimeout(3 * trace.Time(c.Self())) }
func (ringer) Receive(c *sim.Context[int], _ lockstep.Node, m int) {
	if m%3 == 0 {
		c.StopTimeout()
	} else {
		c.SetTimeout(trace.Time(m % 7))
	}
}
func (ringer) Request(c *sim.Context[int], _ int32, _ string) { c.SetTimeout(1) }
func (ringer) Timeout(c *sim.Context[int]) {
	c.Send(lockstep.Node(1+c.Rand().IntN(4)), c.Rand().IntN(100))
	c.SetTimeout(trace.Time(1 + c.Rand().IntN(20)))
}
