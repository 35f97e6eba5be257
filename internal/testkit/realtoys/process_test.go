package realtoys_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/processes"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
	"go.uber.org/goleak"
)

// The server is this test's own program: a register that is copied to a backup. The bug is that it answers a put before
// the backup has the copy, and that it never retries.
const peerVariable = "LOCKSTEP_TOY_PEER"

func TestMain(m *testing.M) {
	if peer, ok := os.LookupEnv(peerVariable); ok {
		serve(peer)
		return
	}
	goleak.VerifyTestMain(m)
}

func serve(peer string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(listener.Addr())
	go func() { // a server never outlives its parent, however the parent ends
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	var mutex sync.Mutex
	values := map[string]string{}
	for {
		conn, err := listener.Accept()
		if err != nil {
			os.Exit(1)
		}
		go func() {
			defer conn.Close()
			line, err := bufio.NewReader(conn).ReadString('\n')
			if err != nil {
				return
			}
			words := append(strings.Fields(line), "", "", "") // verb, key, value
			mutex.Lock()
			if words[0] != "get" {
				values[words[1]] = words[2]
			}
			answer := values[words[1]]
			mutex.Unlock()
			fmt.Fprintln(conn, answer)
			if words[0] == "put" && peer != "" {
				_, _ = ask(context.Background(), peer, fmt.Sprintf("copy %s %s", words[1], words[2]))
			}
		}()
	}
}

// ask sends a request to a server, with a timeout of two seconds.
func ask(ctx context.Context, address, line string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return processes.Ask(ctx, address, line)
}

// servers is the system: node 1 is the primary, node 2 the backup. The strategy can cut links, kill and restart
// processes, give requests and let time pass.
type servers struct{ sabotage bool }

func (s servers) Describe() (lockstep.Info, error) {
	return lockstep.Info{Name: "servers", Nodes: 2, Determinism: lockstep.BestEffort,
		Pace:     trace.Time(5 * time.Millisecond),
		Supports: trace.KindsOf(trace.Cut, trace.Heal, trace.Crash, trace.Restart, trace.Request, trace.Wait)}, nil
}

func (s servers) Deploy(_ context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	link, err := newProxy()
	if err != nil {
		return nil, err
	}
	return &deployed{link: link, sabotage: s.sabotage}, nil
}

type deployed struct {
	link     *proxy // from the primary to the backup
	nodes    [2]*child
	start    time.Time
	key      int // each run has its own key, so that runs are independent
	puts     int
	acked    string
	lost     bool // the primary lost its memory, and with it the acknowledged value
	sabotage bool
}

func (d *deployed) Capabilities() lockstep.Capabilities { return lockstep.Capabilities{} }

// Reset takes a new key. It reuses running processes.
func (d *deployed) Reset(ctx context.Context, _ uint64, out *lockstep.Outbox) error {
	d.start, d.puts, d.acked, d.lost = time.Now(), 0, "-", false
	d.key++
	d.link.cut(false)
	for n := range d.nodes {
		if err := d.boot(n); err != nil {
			return err
		}
		if _, err := ask(ctx, d.nodes[n].address, fmt.Sprintf("copy k%d -", d.key)); err != nil {
			return err
		}
	}
	out.Offer(trace.Pending{ID: 1, To: 1, Text: "put"})
	out.Offer(trace.Pending{ID: 2, To: 1, Text: "put"})
	return nil
}

// boot starts a node unless it is running.
func (d *deployed) boot(n int) error {
	if d.nodes[n] != nil {
		return nil
	}
	peer := ""
	if n == 0 {
		peer = d.link.address()
	}
	c, err := newChild(peer)
	if err == nil {
		d.nodes[n] = c
		if n == 1 {
			d.link.to(c.address)
		}
	}
	return err
}

func (d *deployed) Do(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	var err error
	switch s.Kind {
	case trace.Cut, trace.Heal:
		d.link.cut(out.Cut(1).Has(2))
	case trace.Crash:
		d.nodes[s.Node-1].kill()
		d.nodes[s.Node-1] = nil
		d.lost = true
	case trace.Restart:
		err = d.boot(int(s.Node - 1))
	case trace.Request:
		err = d.put(ctx, out)
	case trace.Wait:
		time.Sleep(time.Duration(s.For))
		err = d.check(ctx, out)
	}
	out.Advance(trace.Time(time.Since(d.start)))
	return err
}

func (d *deployed) put(ctx context.Context, out *lockstep.Outbox) error {
	d.puts++
	if d.sabotage { // an external kill
		d.nodes[0].kill()
	}
	text := fmt.Sprintf("v%d", d.puts)
	if _, err := ask(ctx, d.nodes[0].address, fmt.Sprintf("put k%d %s", d.key, text)); err != nil {
		return &lockstep.Inconclusive{Reason: "the primary does not answer"}
	}
	d.acked = text
	time.Sleep(3 * time.Millisecond) // usually enough for the copy
	return nil
}

// check reads the backup in the settling stage.
func (d *deployed) check(ctx context.Context, out *lockstep.Outbox) error {
	if !out.Settling() || d.nodes[1] == nil {
		return nil
	}
	got, err := ask(ctx, d.nodes[1].address, fmt.Sprintf("get k%d", d.key))
	if err != nil {
		return &lockstep.Inconclusive{Reason: "the backup does not answer"}
	}
	if !d.lost {
		out.Event(lockstep.Event{Node: 2, Type: "read", Text: got + " of " + d.acked})
	}
	return nil
}

func (d *deployed) Close() error {
	for _, c := range d.nodes {
		if c != nil {
			c.kill()
		}
	}
	return d.link.close()
}

// child is a server process.
type child struct {
	cmd     *exec.Cmd
	stdin   io.Closer
	address string
}

func newChild(peer string) (*child, error) {
	cmd := processes.Self(peerVariable + "=" + peer)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	address, err := bufio.NewReader(stdout).ReadString('\n')
	c := &child{cmd: cmd, stdin: stdin, address: strings.TrimSpace(address)}
	if err != nil {
		c.kill()
		return nil, fmt.Errorf("the server did not start: %w", err)
	}
	return c, nil
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
	_ = c.stdin.Close()
}

// proxy carries connections to a server, or closes them while the link is cut.
type proxy struct {
	listener net.Listener
	mutex    sync.Mutex
	target   string
	broken   bool
	open     sync.WaitGroup
}

func newProxy() (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: listener}
	p.open.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.open.Go(func() { p.carry(conn) })
		}
	})
	return p, nil
}

func (p *proxy) carry(conn net.Conn) {
	defer conn.Close()
	p.mutex.Lock()
	target, broken := p.target, p.broken
	p.mutex.Unlock()
	if broken {
		return
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return
	}
	if answer, err := ask(context.Background(), target, strings.TrimSpace(line)); err == nil {
		fmt.Fprintln(conn, answer)
	}
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) to(target string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.target = target
}

func (p *proxy) cut(broken bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.broken = broken
}

func (p *proxy) close() error {
	err := p.listener.Close()
	p.open.Wait()
	return err
}

// copied is violated if the settled value of the backup differs from the acknowledged one.
var copied = spec.New("copied", func(lockstep.Info) *lastRead { return &lastRead{} })

type lastRead struct {
	text    string
	checked int
}

func (l *lastRead) Reset()       { *l = lastRead{} }
func (l *lastRead) Checked() int { return l.checked }
func (l *lastRead) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	l.text = e.Text
	return nil
}
func (l *lastRead) End(run *lockstep.Run) *lockstep.Finding {
	got, acked, ok := strings.Cut(l.text, " of ")
	if !ok || !run.Settled() {
		return nil
	}
	l.checked++
	if got != acked {
		return &lockstep.Finding{Text: fmt.Sprintf("%s was acknowledged, the backup has %s", acked, got)}
	}
	return nil
}

func TestProcesses(t *testing.T) {
	tier.NotShort(t)
	plan := lockstep.Plan{System: servers{}, Spec: copied, Workers: 2, Runs: 200, Settle: 4, Repetitions: 4,
		Strategy: strategy.Walk{Request: 2, Cut: 2, Heal: 1, Crash: 1, Restart: 2, Wait: 2, Steps: 12}}
	for i, s := range []lockstep.Strategy{plan.Strategy, strategy.Uniform{Period: 2, Isolations: 2, Rounds: 8},
		strategy.Partition{Stages: 1, Before: 0, During: 2, After: 0, Steps: 2}} {
		t.Run(s.String(), func(t *testing.T) {
			tier.Some(t, i, 3)
			plan := plan
			plan.Strategy = s
			result, err := lockstep.Explore(t.Context(), plan)
			if err != nil {
				t.Fatal(err)
			}
			f := result.First()
			if f == nil || f.Flaky != "" || f.Failed < 2 {
				t.Fatalf("%v %v, found %+v", result.Verdicts, result.Reasons, f)
			}
			t.Logf("run %d: %s, %s", f.Run, f.Finding, f.Confirmed())
			small, err := shrinkTwice(t, plan, f.Trace)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("shrunk from %s to %s in %d attempts", small.Was, small.Is, small.Attempts)
			replayed(t, plan, small.Trace)
		})
	}
}

// If a server dies without a crash step, the run is inconclusive, and the next one has new servers.
func TestSabotage(t *testing.T) {
	plan := lockstep.Plan{
		System:   servers{sabotage: true},
		Spec:     copied,
		Workers:  1,
		Runs:     3,
		Strategy: strategy.Walk{Request: 1, Steps: 1},
	}
	result, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if result.Inconclusive != 3 || result.Reasons["the primary does not answer"] != 3 ||
		result.Verdict() != trace.Unknown {
		t.Errorf("%+v", result)
	}
}

// Canceling a campaign of servers ends it, and no process survives.
func TestCancelledServers(t *testing.T) {
	tier.NotShort(t)
	ctx, cancel := context.WithCancel(t.Context())
	plan := lockstep.Plan{System: servers{}, Spec: copied, Workers: 2, Runs: 1_000_000, KeepGoing: true, Repetitions: 1,
		Strategy: strategy.Walk{Wait: 1, Request: 1, Steps: 4}, Progress: func(r *lockstep.Result) {
			if r.Runs > 2 {
				cancel()
			}
		}}
	result, err := lockstep.Explore(ctx, plan)
	if err != nil && !errors.Is(err, context.Canceled) || !result.Interrupted {
		t.Errorf("%+v, %v", result, err)
	}
}
