package bftsmart

import (
	"context"
	"errors"
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/process"
)

// wires are replicas without an engine and without hooks in them. The test passes bytes between their sockets, and
// delays some of them according to a rule.
type wires struct {
	*proxied
	held  map[string][]process.WaitingPacket
	marks [replicas]int         // lines of logs that were processed
	done  [replicas][]Execution // the executions of each replica
}

// pass is the result of a rule for a message that is not held. Other results name the set under which it is held.
const pass = ""

var attempts = flag.Int("alone", 0, "attempts to show a defect without the engine: timers are real, and not "+
	"every attempt shows it")

// shows retries until the expected behavior has occurred. Timers of the replicas are real, so that one attempt may not
// suffice.
func shows(t *testing.T, attempt func(w *wires) bool) {
	t.Helper()
	if *attempts == 0 {
		t.Skip("-args -alone 10 makes ten attempts")
	}
	for i := range *attempts {
		if attempt(&wires{}) {
			t.Logf("in attempt %d", i+1)
			return
		}
	}
	t.Errorf("not in %d attempts", *attempts)
}

// run makes a client append the number 1, until enough reports true, and reports whether it did. It gives up after a
// minute, as when all replicas have executed the request. The rule names the set under which a message is held. After
// each message, after returns the sets to release.
func (w *wires) run(t *testing.T, rule func(f process.WaitingPacket, m Message) string, after func() []string,
	enough func() bool) (happened bool) {
	t.Helper()
	outside.JVM(t)
	w.held = map[string][]process.WaitingPacket{}
	cluster := Cluster{Requests: 1, Timeout: time.Second, Silence: 10 * time.Millisecond}
	system := cluster.proxied()
	system.New = func(ctx context.Context, servers *process.Deployment) (process.Driver, error) {
		d, err := cluster.newProxied(ctx, servers)
		if err != nil {
			return process.Driver{}, err
		}
		w.proxied = d
		return d.driver(), nil
	}
	err := system.Once(t.Context(), func(*process.Deployment) error {
		if err := w.enter(t.Context()); err != nil {
			return err
		}
		w.Network.SetControlled(true)
		if err := w.client.append(1); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for !enough() {
			if ctx.Err() != nil {
				t.Logf("it did not happen; executed: %v", w.done)
				return nil
			}
			if err := w.step(ctx, rule, after); err != nil {
				return err
			}
		}
		happened = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return happened
}

// step passes the messages that arrived, unless the rule holds them, and then those to be released.
func (w *wires) step(ctx context.Context, rule func(f process.WaitingPacket, m Message) string,
	after func() []string) error {
	came, _, err := w.Network.Poll()
	for _, f := range came {
		if name := rule(f, decoded(content(w.Network.Data(f.Number))).(Message)); name != pass {
			w.held[name] = append(w.held[name], f)
		} else {
			err = errors.Join(err, w.forward(ctx, f))
		}
		for _, name := range after() {
			for _, f := range w.held[name] {
				err = errors.Join(err, w.forward(ctx, f))
			}
			delete(w.held, name)
		}
	}
	if len(came) == 0 {
		_ = process.Sleep(ctx, w.cluster.Silence)
		w.executed()
	}
	return err
}

// forward delivers a message when there is a connection.
func (w *wires) forward(ctx context.Context, f process.WaitingPacket) error {
	return process.Retry(ctx, timeout, "no connection", func(context.Context) error {
		if !w.Network.Deliver(f.Number) {
			return errors.New("not yet")
		}
		return nil
	})
}

// executed reads the output of the state machines.
func (w *wires) executed() {
	for i := range w.done {
		lines, mark := w.Server(lockstep.Node(i + 1)).Log.Since(w.marks[i])
		w.marks[i] = mark
		for _, line := range lines {
			kind, text, _ := strings.Cut(line, " ")
			if x, ok := value(kind, text).(*Execution); ok {
				w.done[i] = append(w.done[i], *x)
			}
		}
	}
}

// Without an engine and without hooks: one replica has decided when the leader changes, and executes the same request
// twice. No message is lost and no replica fails. The bug is in BFT-SMaRt, not in Lockstep.
func TestExecutedTwiceAlone(t *testing.T) {
	shows(t, func(w *wires) bool {
		rule := func(f process.WaitingPacket, m Message) string {
			if m.Type == "ACCEPT" && m.Epoch == 0 && f.To != 1 {
				return "accept"
			}
			return pass
		}
		if !w.run(t, rule, func() []string { return nil }, func() bool { return len(w.done[0]) == 2 }) {
			return false
		}
		a, b := w.done[0][0], w.done[0][1]
		t.Logf("replica 1 executed %v and %v", &a, &b)
		return a.Number == 1 && b.Number == 1 && a.Consensus != b.Consensus
	})
}

// Without an engine and without hooks: votes of epoch 0 that arrive in epoch 1 are counted. Replicas 1 and 2 decide
// different batches in the same consensus.
func TestLateVotesAlone(t *testing.T) {
	shows(t, func(w *wires) bool { return w.lateVotes(t) })
}

func (w *wires) lateVotes(t *testing.T) bool {
	t.Helper()
	changed := map[int]bool{} // the replicas that have voted in epoch 1
	rule := func(f process.WaitingPacket, m Message) string {
		changed[m.Sender] = changed[m.Sender] || m.Type == "WRITE" && m.Epoch == 1
		switch {
		case m.Type == "WRITE" && m.Epoch == 0 && len(voters(changed)) < replicas:
			return "old votes"
		case m.Type == "ACCEPT" && m.Epoch == 0 && f.To != 1:
			return "old accepts"
		case m.Type == "ACCEPT" && m.Epoch == 1 && len(w.done[0]) == 0:
			return "new accepts"
		}
		return pass
	}
	after := func() (release []string) {
		if len(voters(changed)) == replicas {
			release = append(release, "old votes")
		}
		if len(w.done[0]) > 0 {
			release = append(release, "new accepts")
		}
		return release
	}
	if !w.run(t, rule, after, func() bool { return len(w.done[0]) > 0 && len(w.done[1]) > 0 }) {
		return false
	}
	one, two := w.done[0][0], w.done[1][0]
	t.Logf("replica 1 executed %v, replica 2 %v", &one, &two)
	return one.Consensus == two.Consensus && one.Time != two.Time
}

// voters returns the replicas that have voted.
func voters(votes map[int]bool) (list []int) {
	for n, voted := range votes {
		if voted {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list
}
