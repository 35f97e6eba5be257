package remote_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/remote"
	"github.com/lockstep-go/lockstep/remote/client"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/sim"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

const replicaVariable = "LOCKSTEP_TEST_REPLICA"

// The test program is also its replicas.
func TestMain(m *testing.M) {
	switch os.Getenv(replicaVariable) {
	case "elector":
		beReplica(serve)
	case "pass":
		beReplica(pass)
	case "campaign":
		campaign()
	case "Byzantine node":
		beReplica(byzantine)
	case "babbler":
		beReplica(babbler)
	case "late":
		beReplica(late)
	case "echo":
		echo()
	default:
		os.Exit(m.Run())
	}
}

// mail is a message of the electors.
type mail struct {
	kind string
	term int
}

// world is the environment of an elector: the engine's, in sim or over a network.
type world interface {
	Self() lockstep.Node
	Nodes() int
	Send(to lockstep.Node, m mail)
	SetTimeout(after trace.Time)
	Emit(event, text string)
	Rand() *rand.Rand
}

// elector elects leaders. It loses its vote in a crash, which is the bug.
type elector struct{ term, voted, grants int }

func (e *elector) start(w world) { w.SetTimeout(trace.Time(10 + w.Rand().IntN(10))) }

func (e *elector) timer(w world) {
	e.term++
	e.grants = 0
	for n := range w.Nodes() {
		w.Send(lockstep.Node(n+1), mail{"vote", e.term})
	}
	e.start(w)
}

func (e *elector) receive(w world, from lockstep.Node, m mail) {
	switch {
	case m.kind == "vote" && m.term > e.voted:
		e.voted = m.term
		e.term = max(e.term, m.term)
		w.Send(from, mail{"grant", m.term})
	case m.kind == "grant" && m.term == e.term:
		if e.grants++; e.grants == w.Nodes()/2+1 {
			w.Emit("leader", fmt.Sprint(m.term))
		}
	}
}

// oneLeader is violated when two nodes lead in one term.
var oneLeader = spec.OnEvent("one leader", "leader",
	func(leaders *map[string]lockstep.Node, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		if *leaders == nil {
			*leaders = map[string]lockstep.Node{}
		}
		term := e.Value.(string)
		if n := (*leaders)[term]; n != 0 && n != e.Node {
			return &lockstep.Finding{Text: fmt.Sprintf("%d and %d lead in term %s", n, e.Node, term)}
		}
		(*leaders)[term] = e.Node
		return nil
	})

// In sim:

type inSim struct{ elector }

type simWorld struct{ *sim.Context[mail] }

func (s simWorld) Emit(event, text string) { s.Context.Emit(event, text) }

func (i *inSim) Start(c *sim.Context[mail])                { i.start(simWorld{c}) }
func (i *inSim) Timeout(c *sim.Context[mail])              { i.timer(simWorld{c}) }
func (i *inSim) Request(*sim.Context[mail], int32, string) {}
func (i *inSim) Receive(c *sim.Context[mail], from lockstep.Node, m mail) {
	i.receive(simWorld{c}, from, m)
}

func simulated() lockstep.System {
	return sim.Cluster[mail]{Name: "electors", Nodes: 3, Type: func(m mail) string { return m.kind },
		New:   func(lockstep.Node, int) sim.Node[mail] { return &inSim{} },
		Text:  func(m mail) string { return fmt.Sprint(m.term) },
		Draws: "time-outs", Requests: []string{"nothing"}}
}

// Over a network:

type remoteWorld struct {
	*client.Client
	rand *rand.Rand
}

func (r remoteWorld) Self() lockstep.Node         { return lockstep.Node(r.Node()) }
func (r remoteWorld) Rand() *rand.Rand            { return r.rand }
func (r remoteWorld) SetTimeout(after trace.Time) { r.Timer("timer", uint64(after)) }
func (r remoteWorld) Emit(event, text string)     { r.Event(event, text) }
func (r remoteWorld) Send(to lockstep.Node, m mail) {
	r.Client.Send(
		client.Message{
			To:   int(to),
			Type: m.kind,
			Body: binary.AppendUvarint(nil, uint64(m.term)),
			Text: fmt.Sprint(m.term),
		},
	)
}

// serve runs one elector.
func serve(ctx context.Context, options client.Options) error {
	c := client.Connect(options)
	w := remoteWorld{Client: c}
	var e elector
	return c.Run(ctx, client.Handlers{
		Reset: func(seed uint64) { e = elector{}; w.rand = rand.New(rand.NewPCG(seed, uint64(c.Node()-1))) },
		Start: func() { e.start(w) },
		Stop:  func() { e = elector{} },
		Fire:  func(string) { e.timer(w) },
		Deliver: func(from int, kind string, body []byte) {
			term, _ := binary.Uvarint(body)
			e.receive(w, lockstep.Node(from), mail{kind, int(term)})
		},
	})
}

func beReplica(program func(context.Context, client.Options) error) {
	options, err := client.FromEnvironment()
	if err == nil {
		err = program(context.Background(), options)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// processes are electors that run this test program.
func processes(as string) remote.System {
	return remote.System{Name: "electors", Nodes: 3, Types: nil, Draws: "time-outs", Requests: []string{"nothing"},
		Limits: remote.Limits{Timeout: time.Minute},
		Command: func(lockstep.Node, string) *exec.Cmd {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), replicaVariable+"="+as)
			return cmd
		}}
}

var crashes = strategy.Walk{
	Deliver:   10,
	Duplicate: 1,
	Timer:     2,
	Crash:     1,
	Restart:   2,
	Request:   1,
	Cut:       1,
	Heal:      1,
	Steps:     60,
}

// A thousand runs over a network equal those of sim, step by step.
func TestAsInSim(t *testing.T) {
	for _, s := range []lockstep.Strategy{crashes, strategy.DefaultPCTCP} {
		plan := lockstep.Plan{
			System:    simulated(),
			Spec:      oneLeader,
			Strategy:  s,
			Runs:      500,
			Steps:     60,
			Workers:   1,
			KeepGoing: true,
		}
		here, err := lockstep.Explore(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		plan.System = processes("elector")
		there, err := lockstep.Explore(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		if here.Digest != there.Digest || here.Verdicts[trace.Fail] != there.Verdicts[trace.Fail] ||
			s == crashes && here.Verdicts[trace.Fail] == 0 {
			t.Errorf("%s: digest %v with %d findings in sim, %v with %d remote", s, here.Digest,
				here.Verdicts[trace.Fail], there.Digest, there.Verdicts[trace.Fail])
		}
		t.Logf("%s: %d of %d runs fail in both", s, here.Verdicts[trace.Fail], here.Runs)
	}
}

// A finding over a network is shrunk and replayed like any other.
func TestWholeWay(t *testing.T) {
	plan := lockstep.Plan{
		System:   processes("elector"),
		Spec:     oneLeader,
		Strategy: crashes,
		Runs:     500,
		Steps:    60,
		Workers:  2,
	}
	f := enginetest.First(t, plan)
	small, err := shrink.Run(t.Context(), plan, f.Trace, shrink.Options{Attempts: 1000})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("shrunk from %s to %s", small.Was, small.Is)
	enginetest.FailsAgain(t, plan, small.Trace)
}
