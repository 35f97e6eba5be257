package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/processes"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// echoing is the servers of a deployment that only echo, each behind a link.
type echoing struct {
	*Deployment
	real, via []string // addresses of servers and of their links, by node-1
}

// newEchoing assigns ports and links to three servers.
func newEchoing(c *Deployment) (*echoing, error) {
	d := &echoing{Deployment: c}
	for i := range 3 {
		d.real, d.via = append(d.real, c.Port()), append(d.via, c.Port())
		if _, err := c.Network.Link(0, lockstep.Node(i+1), d.via[i], d.real[i], nil); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// driver makes a server dial the next one for a request.
func (e *echoing) driver() Driver {
	return Driver{
		Command: func(n lockstep.Node) (*exec.Cmd, error) { return command(e.real[n-1]), nil },
		Ready:   func(ctx context.Context, n lockstep.Node, _ lockstep.Nodes) bool { return echoes(e.real[n-1])(ctx) },
		Begin: func(_ context.Context, out *lockstep.Outbox) error {
			for id := range int32(3) {
				out.Offer(trace.Pending{ID: id + 1, To: trace.AllNodes(3), Text: "ask the next"})
			}
			return nil
		},
		Request: e.request,
		Log:     func(line string) bool { return strings.Contains(line, "listening") },
	}
}

// up starts the servers that are due and waits for them.
func (e *echoing) up(ctx context.Context) error {
	return e.StartAndAwait(ctx, e.Up(),
		func(ctx context.Context, n lockstep.Node) bool { return echoes(e.real[n-1])(ctx) })
}

func (e *echoing) request(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	if err := e.up(ctx); err != nil {
		return err
	}
	next := s.Node%3 + 1
	answer, err := processes.Ask(ctx, e.real[s.Node-1], "dial "+e.via[next-1]+" echo hello")
	if err != nil {
		return Inconclusive(err)
	}
	up, cut := e.Up().Has(next), out.Cut(s.Node).Has(next) || out.Cut(next).Has(s.Node)
	out.Event(lockstep.Event{Node: s.Node, Type: "answer", Text: fmt.Sprintf("%v %v", answer == "hello", up && !cut)})
	return nil
}

// echoServers returns the system, which passes the address of each deployment to report.
func echoServers(report func(address string)) System {
	return System{Name: "echoes", Nodes: 3, Pace: time.Millisecond, StartTimeout: time.Minute, Events: []string{"answer"},
		New: func(_ context.Context, c *Deployment) (Driver, error) {
			d, err := newEchoing(c)
			if err != nil {
				return Driver{}, err
			}
			report(c.Address)
			return d.driver(), nil
		}}
}

// honest is violated if an answer came across a cut or from a node that is down.
var honest = spec.OnEvent("honest", "answer", func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if answered, could, _ := strings.Cut(e.Text, " "); answered == "true" && could == "false" {
		return &lockstep.Finding{Text: "an answer through a cut"}
	}
	return nil
})

// A cluster runs a campaign: crashes, restarts and cuts take effect, and nothing is left afterwards.
func TestCluster(t *testing.T) {
	tier.NotShort(t)
	var places []string
	plan := lockstep.Plan{
		System:   echoServers(func(a string) { places = append(places, a) }),
		Spec:     honest,
		Workers:  1,
		Runs:     6,
		Scratch:  t.TempDir(),
		Strategy: strategy.Walk{Request: 3, Crash: 1, Restart: 1, Cut: 1, Heal: 1, Wait: 1, Steps: 12},
	}
	result, err := lockstep.Explore(t.Context(), plan)
	if err != nil || result.Verdict() != trace.Pass {
		t.Fatalf("%+v, %v", result, err)
	}
	leftNothing(t, places, plan.Scratch)
}

// leftNothing checks that eventually no process listens at addresses and that a directory is empty.
func leftNothing(t *testing.T, addresses []string, dir string) {
	t.Helper()
	for _, a := range addresses {
		processes.Until(func() bool {
			for _, l := range listening() {
				if l.IP.String() == a {
					return false
				}
			}
			return true
		})
		processes.Until(func() bool { return len(running(a)) == 0 })
	}
	processes.Until(func() bool {
		left, err := filepath.Glob(filepath.Join(dir, "*"))
		return err == nil && len(left) == 0
	})
}

// running lists the processes that have an address in their command line.
func running(address string) (pids []string) {
	names, _ := filepath.Glob("/proc/[0-9]*")
	for _, name := range names {
		environment, _ := os.ReadFile(name + "/environ")
		arguments, _ := os.ReadFile(name + "/cmdline")
		if strings.Contains(string(environment), "="+address+":") || strings.Contains(string(arguments), address+":") {
			pids = append(pids, name)
		}
	}
	return pids
}

const (
	motherVariable = "LOCKSTEP_PROCESS_MOTHER"
	storeVariable  = "LOCKSTEP_PROCESS_STORE"
)

// answered is violated by every answer, and immediately appends a letter for each to a file.
var answered = spec.OnEvent("answered", "answer", func(*struct{}, *lockstep.Run, *lockstep.Event) *lockstep.Finding {
	file, err := os.OpenFile(filepath.Join(os.Getenv(storeVariable), "noted"), os.O_CREATE|os.O_APPEND|os.O_WRONLY,
		0o600)
	if err == nil {
		_, _ = file.WriteString("x")
		file.Close()
	}
	return &lockstep.Finding{Text: "an answer"}
})

// mother performs runs until it is killed, and stores its findings in a second directory.
func mother(dir, store string) {
	plan := lockstep.Plan{
		System:      echoServers(func(a string) { fmt.Println(a) }),
		Spec:        answered,
		Workers:     2,
		Runs:        1 << 30,
		Scratch:     dir,
		KeepGoing:   true,
		Keep:        1 << 30,
		Repetitions: 3,
		Strategy:    strategy.Walk{Request: 3, Crash: 1, Restart: 1, Cut: 1, Heal: 1, Wait: 1, Steps: 12},
		OnFailure: func(f *lockstep.Failure) {
			file := filepath.Join(store, fmt.Sprint(f.Run))
			data := &bytes.Buffer{}
			if err := errors.Join(trace.Write(data, f.Trace), os.WriteFile(file+".part", data.Bytes(), 0o600),
				os.Rename(file+".part", file)); err != nil {
				fmt.Println(err)
			}
		},
	}
	_, err := lockstep.Explore(context.Background(), plan)
	fmt.Println(err)
}

// A campaign that is killed at any moment leaves no process, port or directory. It loses no finding: each is stored
// before the repetitions of its run.
func TestKilledAtAnyMoment(t *testing.T) {
	tier.NotShort(t)
	r := rand.New(rand.NewPCG(1, 1))
	all := 0
	for i := range 20 {
		dir, store := t.TempDir(), t.TempDir()
		program := processes.Begin(t, motherVariable+"="+dir, storeVariable+"="+store)
		places := []string{program.Line(), program.Line()}
		if i%2 == 0 { // not before the first finding, however slow the machine is
			processes.Until(func() bool { _, err := os.Stat(filepath.Join(store, "noted")); return err == nil })
		}
		time.Sleep(time.Duration(r.IntN(300)) * time.Millisecond) // any moment is as good
		program.Kill()
		all += stored(t, store)
		if !strings.HasPrefix(places[0], "127.") || !strings.HasPrefix(places[1], "127.") {
			t.Fatalf("the mother says %q", places)
		}
		leftNothing(t, places, dir)
	}
	t.Logf("%d findings were stored", all)
	if all == 0 {
		t.Error("nothing was found")
	}
}

// stored counts the findings in a store. A run fails once when it is first performed and in each of three repetitions,
// which follow the storing. Each of two workers may be killed in between.
func stored(t *testing.T, store string) int {
	t.Helper()
	noted, _ := os.ReadFile(filepath.Join(store, "noted"))
	files, err := filepath.Glob(filepath.Join(store, "*[0-9]"))
	if err != nil || len(noted) > 4*len(files)+2 {
		t.Errorf("%d failing runs were noted, and %d findings are there, %v", len(noted), len(files), err)
	}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if tr, err := trace.Read(file); err != nil || tr.Outcome.Finding == nil ||
			tr.Outcome.Finding.Property != "answered" {
			t.Errorf("%s: %v", name, err)
		}
		file.Close()
	}
	return len(files)
}
