package bubble_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// replayed reruns the run of a trace, by a script.
func replayed(t *testing.T, plan lockstep.Plan, of *trace.Trace, script trace.Script) (*trace.Trace, *lockstep.Player) {
	t.Helper()
	b, err := lockstep.NewRunnerFor(plan, of)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	player := lockstep.NewPlayer(script, nil)
	tr, err := b.Record(t.Context(), of.Header.Run, player)
	if err != nil {
		t.Fatal(err)
	}
	return tr, player
}

// shrunk is the first finding of a plan, shrunk.
func shrunk(t *testing.T, plan lockstep.Plan) *shrink.Shrunk {
	t.Helper()
	result, err := lockstep.Explore(t.Context(), plan)
	if err != nil || result.First() == nil {
		t.Fatalf("found nothing, %v", err)
	}
	small, err := shrink.Run(t.Context(), plan, result.First().Trace, shrink.Options{Attempts: 2000})
	if err != nil {
		t.Fatal(err)
	}
	return small
}

// texts are the texts of all events of one type.
func texts(t *trace.Trace, event string) []string {
	var list []string
	for _, r := range t.Records {
		for _, e := range r.Events {
			if e.Type == event {
				list = append(list, e.Text)
			}
		}
	}
	return list
}

// stepEvents lists the events of each step of a run.
func stepEvents(t *trace.Trace) []string {
	var all []string
	for _, r := range t.Records {
		var b strings.Builder
		for _, e := range r.Events {
			fmt.Fprintf(&b, "%s %d %s;", e.Type, e.Node, e.Text)
		}
		all = append(all, b.String())
	}
	return all
}

// writers starts a concurrent write for each letter of a request.
func writers(n *bubble.Node) error {
	disk := bubble.DiskOf(n, "entries", func() *int { return new(int) }, func(c *int) *int { d := *c; return &d })
	disk.Read(func(c *int) { n.Emit("found", *c) })
	n.OnRequest(func(_ int32, text string) {
		for range text {
			n.Go(func() {
				disk.Write(func(c *int) { *c++ })
				n.Emit("written", nil)
			})
		}
	})
	return nil
}

// A crash draws in its step which writes are lost. So a run without a write long before the crash loses the same, and a
// crash that draws 0 loses nothing. The same holds for slow writes.
func TestCrashKeepsItsDraw(t *testing.T) {
	plan := lockstep.Plan{
		Strategy: strategy.DefaultWalk,
		System: bubble.Cluster{Name: "writers", Nodes: 1, Start: writers, Pace: time.Minute,
			Requests: []string{"x", "xxxxxxxxxx"}, Disk: bubble.DiskModel{Slow: 0.9999, Longest: time.Second}},
	}
	script := trace.Script{
		{Step: lockstep.Step{Kind: trace.Request, Node: 1, Request: 1}},
		{Step: lockstep.Step{Kind: trace.Wait, For: trace.Time(time.Minute)}},
		{
			Step: lockstep.Step{Kind: trace.Request, Node: 1, Request: 2},
		},
		{Step: lockstep.Step{Kind: trace.Crash, Node: 1}},
		{Step: lockstep.Step{Kind: trace.Restart, Node: 1}},
	}
	found := func(tr *trace.Trace) int {
		var n int
		events := tr.Records[len(tr.Records)-1].Events
		if _, err := fmt.Sscan(events[len(events)-1].Text, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	counts := map[int]bool{}
	for run := range 20 {
		bench, err := lockstep.NewRunner(plan)
		if err != nil {
			t.Fatal(err)
		}
		of, err := bench.Record(t.Context(), run, lockstep.NewPlayer(script, nil))
		if err != nil {
			t.Fatal(err)
		}
		bench.Close()
		played := trace.ScriptOf(of)
		if got, _ := replayed(t, plan, of, played); found(got) != found(of) {
			t.Fatalf("run %d: again %d are found, first %d", run, found(got), found(of))
		}
		counts[found(of)] = true
		if got, _ := replayed(t, plan, of, played[1:]); found(got) != found(of)-1 {
			t.Errorf("run %d: without the first write %d are found after the crash, with it %d", run, found(got),
				found(of))
		}
		mild := slices.Clone(played)
		mild[3].Draws = trace.Drew(0)
		if got, _ := replayed(t, plan, of, mild); found(got) != 11 {
			t.Errorf("run %d: of 11 the mildest crash leaves %d", run, found(got))
		}
		mild = slices.Clone(played)
		mild[2].Draws = slices.Repeat([]trace.Draw{{By: 1}}, 10) // no write is slow
		if got, _ := replayed(t, plan, of, mild); found(got) != 11 {
			t.Errorf("run %d: of 11 that were not slow %d are found", run, found(got))
		}
	}
	if len(counts) < 5 {
		t.Errorf("found after crashes: %v", counts)
	}
}

// dice report what they draw: from the node's source, in both forms, and from one of the run.
func dice(n *bubble.Node) error {
	of := n.World().Source(uint64(100 + n.Self()))
	n.Emit("start", n.Source().IntN(1_000_000))
	n.OnRequest(func(id int32, _ string) {
		n.Emit("request", fmt.Sprint(id, n.Rand().Uint64(), n.Source().IntN(1_000_000), of.IntN(1_000_000)))
	})
	return nil
}

// If a run is replayed without one step, all other steps draw the same.
func TestDrawsBelongToTheirStep(t *testing.T) {
	plan := lockstep.Plan{
		System:   bubble.Cluster{Name: "dice", Nodes: 3, Start: dice, Requests: slices.Repeat([]string{"roll"}, 12)},
		Strategy: strategy.Walk{Wait: 1, Request: 3, Crash: 1, Restart: 2, Steps: 20},
		Seed:     1,
	}
	for run := range 3 {
		of, err := lockstep.Record(t.Context(), plan, run)
		if err != nil {
			t.Fatal(err)
		}
		want, script := stepEvents(of), trace.ScriptOf(of)
		for i := range script {
			got, player := replayed(t, plan, of, slices.Delete(slices.Clone(script), i, i+1))
			left := want[:1]
			for _, at := range player.Took() { // a node that did not crash does not restart
				if at >= i {
					at++
				}
				left = append(left[:len(left):len(left)], want[at+1])
			}
			if !slices.Equal(stepEvents(got), left) {
				t.Fatalf("run %d without step %d draws\n%q, want\n%q", run, i+1, stepEvents(got), left)
			}
		}
	}
}

// Goroutines may draw concurrently, also after the end of the run.
func TestChanceOfManyGoroutines(t *testing.T) {
	cluster := bubble.Cluster{Name: "many", Nodes: 3, Start: func(n *bubble.Node) error {
		for range 10 {
			n.Go(func() {
				for range 100 {
					n.Source().IntN(6)
				}
				<-n.Context().Done()
				n.Source().Uint64()
			})
		}
		return nil
	}}
	if f := explore(t,
		lockstep.Plan{System: cluster, Strategy: strategy.DefaultWalk, Runs: 10, Workers: 2}).First(); f != nil {
		t.Error(f.Finding)
	}
}

// ackBeforeWrite reports an entry as kept before the write to the disk.
func ackBeforeWrite(n *bubble.Node) error {
	disk := bubble.DiskOf(n, "entries", func() *int { return new(int) }, func(c *int) *int { d := *c; return &d })
	disk.Read(func(c *int) { n.Emit("found", *c) })
	n.OnRequest(func(int32, string) {
		n.Emit("kept", nil)
		disk.Write(func(c *int) { *c++ })
	})
	return nil
}

// Shrinking reduces a finding by a crash to the weakest loss that shows it, and the trace has the loss as text.
func TestWeakestLossOfWrites(t *testing.T) {
	checker := spec.New("kept", func(lockstep.Info) *keeping { return &keeping{} })
	plan := lockstep.Plan{
		System: bubble.Cluster{
			Name:          "ack-before-write",
			Nodes:         3,
			Start:         ackBeforeWrite,
			Deterministic: true,
			Requests:      slices.Repeat([]string{"keep"}, 8),
			Disk:          bubble.DiskModel{Slow: 0.5, Longest: time.Second},
		},
		Strategy: strategy.Walk{Wait: 2, Request: 6, Crash: 1, Restart: 2, Steps: 60},
		Spec:     checker,
		Runs:     100,
		Seed:     1,
	}
	small := shrunk(t, plan)
	lost := texts(small.Trace, bubble.DiskWritesLost)
	if !slices.Equal(lost, []string{"1 of 1 under way"}) || len(small.Trace.Records) != 4 {
		t.Errorf("%s, lost: %q", small.Is, lost)
	}
}

type keeping struct{ kept [4]int } // by node

// End returns nil: only events are checked.
func (*keeping) End(*lockstep.Run) *lockstep.Finding { return nil }

func (k *keeping) Reset()       { *k = keeping{} }
func (k *keeping) Checked() int { return 1 }
func (k *keeping) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	switch e.Type {
	case "kept":
		k.kept[e.Node]++
	case "found":
		if found := e.Value.(int); found < k.kept[e.Node] {
			return &lockstep.Finding{Text: fmt.Sprintf("node %d kept %d, found %d", e.Node, k.kept[e.Node], found)}
		}
	}
	return nil
}

// loser loses some of three things: none, some by further draws, or all. It makes the further draws for all as well.
func loser(n *bubble.Node) error {
	n.OnRequest(func(int32, string) {
		way, lost := n.Source().IntN(3), ""
		for _, thing := range []string{"a", "b", "c"} {
			if way > 0 && (n.Source().IntN(4) == 3 || way == 2) {
				lost += thing
			}
		}
		n.Emit("lost", lost)
	})
	return nil
}

// If a choice such as "all" hides later draws, shrinking replaces it by one that uses them, and then shrinks each of
// these.
func TestHiddenDraws(t *testing.T) {
	missed := spec.OnEvent("missed", "lost", func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		if strings.Contains(e.Value.(string), "b") {
			return &lockstep.Finding{Text: "b is lost"}
		}
		return nil
	})
	for seed := range uint64(10) {
		plan := lockstep.Plan{
			System: bubble.Cluster{
				Name:          "loser",
				Nodes:         1,
				Start:         loser,
				Deterministic: true,
				Requests:      slices.Repeat([]string{"lose"}, 5),
			},
			Strategy: strategy.Walk{Request: 1, Steps: 10},
			Spec:     missed,
			Runs:     100,
			Seed:     seed,
		}
		small := shrunk(t, plan)
		if lost := texts(small.Trace, "lost"); !slices.Equal(lost, []string{"b"}) {
			t.Errorf("seed %d: %s, lost %q", seed, small.Is, lost)
		}
	}
}
