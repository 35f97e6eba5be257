//go:build linux && lockstep_overlay

package sockettest_test

import (
	"fmt"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/trace"
)

// TestOverlay checks every row in a bubble: between two nodes and, where the row allows it, within one.
func TestOverlay(t *testing.T) {
	for _, g := range table {
		for _, r := range g.rows {
			want := r.linux
			if r.overlay != "" {
				want = r.overlay
			}
			for _, hosts := range []int{2, 1} {
				if hosts == 1 && r.fault != "" {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%d", g.name, r.does, hosts), func(t *testing.T) {
					if got := inBubble(t, r, hosts); got != want {
						t.Errorf("bubble: %s\n  want: %s", got, want)
					}
				})
			}
		}
	}
}

// inBubble runs a row in a bubble.
func inBubble(t *testing.T, r row, hosts int) string {
	t.Helper()
	var server *host
	var p *probe
	observed := "nothing: the row did not end"
	start := func(n *bubble.Node) error {
		dir, err := n.Dir()
		if err != nil {
			return err
		}
		self := &host{ip: fmt.Sprintf("10.0.0.%d", n.Self()), dir: dir, do: as(runtime.LockstepNode())}
		if n.Self() == 1 {
			server = self
			<-n.Context().Done()
			return nil
		}
		time.Sleep(time.Millisecond) // time for the server to start
		if hosts == 1 {
			self.ip = "127.0.0.1"
			server = self
		}
		p = &probe{soon: soon, server: server, client: self}
		p.disturb = func() {
			n.Emit(string(r.fault), nil)
			time.Sleep(time.Millisecond) // time for the scheduler to act
		}
		p.silence = func(syscall.Conn) { p.disturb() }
		p.peer = func() (*net.TCPConn, func()) {
			c, _ := p.tcp()
			return c, p.disturb
		}
		runtime.LockstepSetNode(0) // hosts make sockets, and any goroutine may use them
		r.do(p)
		p.end()
		observed = strings.Join(p.observed, "; ")
		n.Emit("end", nil)
		return nil
	}
	files := &bubble.Files{}
	if r.fault == power {
		files.PowerFailures = 1
	}
	cluster := bubble.Cluster{
		Name:    "sockettest",
		Nodes:   2,
		Network: bubble.Sockets{},
		Freeze:  &bubble.Freeze{Files: files},
		Pace:    time.Hour,
		Start:   start,
	}
	tr, err := lockstep.Record(t.Context(), lockstep.Plan{System: cluster, Strategy: prompt{}, Seed: 1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if f := tr.Outcome.Finding; f != nil {
		t.Fatalf("%s\n%s", f, f.Stack)
	}
	return observed
}

// as returns a function that calls a function as a goroutine of a node.
func as(node int32) func(func()) {
	return func(f func()) {
		was := runtime.LockstepNode()
		runtime.LockstepSetNode(node)
		defer runtime.LockstepSetNode(was)
		f()
	}
}

// prompt delivers messages if possible, in the order of sending, and lets time pass otherwise. It injects the faults
// that the row requests.
type prompt struct{ drops int }

func (*prompt) Reset(*lockstep.Start)                          {}
func (*prompt) Report(bool) (a lockstep.SchedulerStats)        { return a }
func (prompt) String() string                                  { return "prompt" }
func (prompt) Fit(lockstep.Info) (t lockstep.Terms, err error) { return t, nil }
func (prompt) New(lockstep.Info) lockstep.Scheduler            { return &prompt{} }

func (p *prompt) Next(run *lockstep.Turn, next *lockstep.Step) bool {
	for _, e := range run.Events() {
		switch e.Type {
		case string(kill), string(power):
			*next = lockstep.Step{Kind: trace.Crash, Node: 1}
			return true
		case string(cut):
			*next = lockstep.Step{Kind: trace.Cut, From: trace.NodesOf(1), To: trace.NodesOf(2)}
			return true
		case string(drop):
			p.drops++
		case "end":
			return false
		}
	}
	*next = run.Wait()
	for _, id := range run.FreeMessages() {
		if run.Deliverable(id) {
			*next = lockstep.Step{Kind: trace.Deliver, Msg: id}
			if p.drops > 0 {
				p.drops--
				next.Kind = trace.Drop
			}
			break
		}
	}
	return run.Steps() < 10_000
}
