package fleet

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/batch"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
)

// serving starts a server in this process.
func serving(t *testing.T) *Server {
	t.Helper()
	s, err := Serve(t.Context(), Config{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { _ = s.Run(ctx) })
	t.Cleanup(func() { cancel(); done.Wait(); s.Close() })
	return s
}

// joined starts a worker in this process, whose programs are this one.
func joined(t *testing.T, s *Server, name string) {
	t.Helper()
	w := Worker{URL: s.URL, Token: s.Token, Name: name, Workers: 1, Program: thisProgram}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		if err := w.Join(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); done.Wait() })
}

func thisProgram(string, []string) (string, []string, error) {
	self, err := os.Executable()
	return self, []string{"FLEET_TEST_COMMAND=1"}, err
}

// given gives a campaign to a server and waits for its end.
func given(t *testing.T, s *Server, args ...string) *Ledger {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c, err := Dial(ctx, s.URL, s.Token)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ids, err := c.Give(ctx, jobOfArgs(t, args...))
	if err != nil {
		t.Fatal(err)
	}
	l, err := c.Wait(ctx, ids[0], func(*Ledger) {})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// jobOfArgs returns the job of a command line.
func jobOfArgs(t *testing.T, args ...string) Job {
	t.Helper()
	args = append([]string{"run"}, append(args, "--batches")...)
	self, variables, err := thisProgram("", nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := batch.Start(t.Context(), self, args, variables...)
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	return Job{Hello: p.Hello, Target: args[1], Args: args}
}

// A hostile peer reads nothing and breaks nothing.
func TestHostile(t *testing.T) {
	s := serving(t)
	address := strings.TrimPrefix(s.URL, "nats://")
	for _, c := range []struct{ url, token string }{
		{s.URL, "wrong"},
		{s.URL, ""},
		{s.URL, s.ViewToken},
		{s.URL, s.Token + "x"},
		{"nats://user@" + address, s.Token},
	} {
		if _, err := Dial(t.Context(), c.url, c.token); err == nil ||
			c.token != "" && strings.Contains(err.Error(), c.token) ||
			!strings.Contains(err.Error(), "does not know this token") {
			t.Errorf("%s with token %q: %v", c.url, c.token, err)
		}
	}
	noise := make([]byte, 1<<16)
	_, _ = rand.Read(noise)
	for _, text := range [][]byte{
		noise,
		[]byte("CONNECT {\"auth_token\":\"" + strings.Repeat("x", 1<<15)),
		[]byte("PUB lockstep.command 999999999999\r\n"),
		[]byte("GET / HTTP/1.1\r\n\r\n"),
	} {
		if conn, err := net.Dial("tcp", address); err == nil {
			_, _ = conn.Write(text)
			_ = conn.Close()
		}
	}
	insider(t, s)
	joined(t, s, "honest")
	l := given(t, s, "smr", "--runs", "500", "--seed", "9")
	want, err := lockstep.Explore(
		t.Context(),
		lockstep.Plan{
			System:   smr.Cluster{Nodes: 3},
			Strategy: strategy.DefaultUniform,
			Spec:     smr.Prefix,
			Seed:     9,
			Runs:     500,
		},
	)
	if err != nil || l.Result.Digest != want.Digest || l.Result.Runs != 500 {
		t.Errorf("%v; digest %x after %d runs, want %x", err, l.Result.Digest, l.Result.Runs, want.Digest)
	}
	if f := s.ledgers.snapshot(); f.Refused == 0 {
		t.Error("nothing was refused")
	}
}

// insider has the token and sends invalid messages.
func insider(t *testing.T, s *Server) {
	t.Helper()
	c, err := Dial(t.Context(), s.URL, s.Token)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, subject := range []string{
		partSubject("000001", 0),
		partSubject("../x", 3),
		"lockstep.part.a",
		"lockstep.part.000001.0.9",
		"lockstep.work.x.000001.0",
	} {
		if _, err := c.store.js.Publish(t.Context(), subject, noiseOf(100)); err != nil {
			t.Log(subject, err)
		}
	}
	if err := c.store.conn.Publish(commandSubject, bytes.Repeat([]byte("x"), mostPayload+1)); err == nil {
		t.Error("a message that is too large was sent")
	}
	_, _ = c.store.workers.Put(t.Context(), "impostor", []byte("{"))
	_, _ = c.store.jobs.Put(t.Context(), "000009", []byte(`{"id":"000009","target":"/bin/sh","args":["run"]}`))
	stale := jobOfArgs(t, "smr", "--runs", "10")
	stale.Hello.Version = "0.0.1"
	hollow := Job{Hello: batch.Hello{Version: lockstep.Version, Program: "a.b.>", Runs: 1, Keep: 1}}
	for _, job := range []Job{stale, hollow, {}} {
		if ids, err := c.Give(t.Context(), job); err == nil {
			t.Errorf("%+v was taken as %v", job.Hello, ids)
		}
	}
	if _, err := c.command(t.Context(), Command{Do: "format"}); err == nil {
		t.Error("an unknown command was obeyed")
	}
	if _, err := c.Stop(t.Context(), "000077"); err == nil {
		t.Error("a campaign that is not there was stopped")
	}
}

func noiseOf(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}

// A worker with a different program refuses the campaign and reports the reason, and the status shows it.
func TestOtherBuild(t *testing.T) {
	s := serving(t)
	w := Worker{URL: s.URL, Token: s.Token, Name: "other", Program: func(string, []string) (string, []string, error) {
		self, variables, err := thisProgram("", nil)
		return self, append(variables, "FLEET_TEST_COMMAND=1"), err
	}}
	job := jobOfArgs(t, "smr", "--runs", "10")
	job.Hello.Program = "0000000000000000"
	lines := make(chan string, 100)
	w.Log = func(line string) { lines <- line }
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { _ = w.Join(ctx) })
	defer done.Wait()
	defer cancel()
	c, err := Dial(t.Context(), s.URL, s.Token)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Give(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	for line := range lines {
		if strings.Contains(line, "refused") {
			if !strings.Contains(line, "this is another program") || !strings.Contains(line, job.Hello.Program) {
				t.Error(line)
			}
			break
		}
	}
}

// A learning strategy is one lineage: its result, too, is that of one machine.
func TestSequential(t *testing.T) {
	s := serving(t)
	joined(t, s, "one")
	joined(t, s, "two")
	l := given(t, s, "smr", "--strategy", "systematic", "--runs", "900")
	want, err := lockstep.Explore(t.Context(),
		lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: strategy.DefaultSystematic, Spec: smr.Prefix, Runs: 900})
	if err != nil || l.Result.Digest != want.Digest || l.Result.Runs != want.Runs ||
		l.Result.Reached != want.Reached && want.Reached == "" {
		t.Errorf("%v; digest %x after %d runs, want %x after %d", err, l.Result.Digest, l.Result.Runs, want.Digest,
			want.Runs)
	}
}

// A strategy that learns in several lineages is spread over workers, which exchange what they have learned. The result
// is that of one machine, even if a worker joins late.
func TestLineages(t *testing.T) {
	s := serving(t)
	joined(t, s, "one")
	joined(t, s, "two")
	flags := []string{
		"smr-bug",
		"--strategy",
		"guided:inner=pos:steps=76,lineages=3,epoch=50",
		"--runs",
		"1990",
		"--seed",
		"3",
		"--keep-going",
	}
	c, err := Dial(t.Context(), s.URL, s.Token)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ids, err := c.Give(t.Context(), jobOfArgs(t, flags...))
	if err != nil {
		t.Fatal(err)
	}
	late := false
	l, err := c.Wait(t.Context(), ids[0], func(l *Ledger) {
		if l.Result.Runs >= 150 && !late {
			late = true
			joined(t, s, "late")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	want := output(t, 1, append([]string{"run", "--no-shrink"}, flags...)...)
	if fmt.Sprintf("%016x", l.Result.Digest) != want["digest"] || l.Result.Runs != 1990 || l.Job.Ended != Done {
		t.Errorf("%s %s: digest %x after %d runs, on one machine %v", l.Job.Ended, l.Why, l.Result.Digest,
			l.Result.Runs, want["digest"])
	}
	if _, err := s.store.js.ObjectStore(t.Context(), lessonBucket(ids[0])); err == nil {
		t.Error("what was learned is kept after the end")
	}
}

// The measurements of the runs are those of one machine: which partitions occurred, and how often late messages change
// a state.
func TestMeasures(t *testing.T) {
	s := serving(t)
	joined(t, s, "one")
	joined(t, s, "two")
	for _, c := range []struct {
		status int
		flags  []string
	}{
		{
			0,
			[]string{"smr", "--strategy", "uniform", "--runs", "300", "--coverage", "--closure", "--operations", "a,b"},
		},
		{
			0,
			[]string{
				"smr-bug", "--strategy", "walk:cut=1,heal=1", "--runs", "300", "--coverage", "--closure",
				"--keep-going", "--partition-sequence", "1|2 then 1|2",
			},
		},
		{1, []string{"smr-bug", "--strategy", "walk", "--runs", "3000", "--coverage", "--closure", "--no-shrink"}},
		{0, []string{"smr", "--strategy", "systematic", "--runs", "600", "--coverage", "--closure"}},
		{0, []string{"smr", "--strategy", "guided:lineages=2,epoch=50", "--runs", "330", "--coverage"}},
	} {
		want := output(t, c.status, append([]string{"run"}, c.flags...)...)
		got := output(
			t,
			c.status,
			append([]string{"run", "--fleet", s.URL, "--token-file", s.tokenFile()}, c.flags...)...)
		if want["coverage"] == nil || want["closure"] == nil && slices.Contains(c.flags, "--closure") {
			t.Fatalf("%q: nothing was measured", c.flags)
		}
		for _, key := range []string{"coverage", "closure", "digest", "rerun"} {
			if !reflect.DeepEqual(got[key], want[key]) {
				t.Errorf("%q: %s: %v\non one machine: %v", c.flags, key, got[key], want[key])
			}
		}
	}
	c := command(t, "run", "smr", "--strategy", "guided:lineages=2", "--closure", "--fleet", s.URL, "--token-file",
		s.tokenFile())
	if text, err := c.CombinedOutput(); err == nil ||
		!strings.Contains(string(text), "leave --closure or --fleet out") {
		t.Errorf("%v: %s", err, text)
	}
}

// The page shows campaigns, findings and workers only to clients with the token.
func TestPage(t *testing.T) {
	s := serving(t)
	joined(t, s, "worker")
	if err := put(t.Context(), s.store.workers, "impostor", Report{
		Worker:  "<b>worker</b>",
		Refused: map[string]string{"1": "<b>worker</b>"},
	}); err != nil {
		t.Fatal(err)
	}
	given(t, s, "smr-bug", "--strategy", "walk", "--runs", "200", "--keep-going")
	url, err := s.Page(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	root, _, _ := strings.Cut(url, "?")
	get := func(path, token string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, root+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
	finding := fmt.Sprintf("finding/000001/%d", s.ledgers.ledgers["000001"].Findings[0].Run)
	for _, path := range []string{"", "metrics", "events", "campaign/000001", finding} {
		if status, text := get(path, "wrong"); status != http.StatusUnauthorized || strings.Contains(text, "smr") {
			t.Errorf("%s was shown without a token: %d", path, status)
		}
	}
	for path, want := range map[string]string{"": `href="./` + finding + `"`,
		"metrics":         `lockstep_campaign_runs{campaign="000001",target="smr-bug",strategy="walk`,
		"campaign/000001": "digest", finding: "prefix", finding + "/trace": `"lockstep":`} {
		if status, text := get(path, s.ViewToken); status != http.StatusOK ||
			!strings.Contains(strings.ToLower(text), strings.ToLower(want)) ||
			strings.Contains(text, "<b>worker") {
			t.Errorf("%s: %d, without %s:\n%.600s", path, status, want, text)
		}
	}
	for _, path := range []string{
		"campaign/9", "finding/000001/99999", "finding/000001/x", "finding/../../etc/1", "nothing",
	} {
		if status, _ := get(path, s.ViewToken); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// Many workers report often, and the server's memory does not grow. FLEET_REPORTERS sets the number of workers, and
// FLEET_REPORTS the number of reports, ten a second each.
func TestReports(t *testing.T) {
	reporters, reports := size("FLEET_REPORTERS", 20), size("FLEET_REPORTS", 30)
	s := serving(t)
	var early uint64
	beat := make(chan struct{})
	var all sync.WaitGroup
	stores := make([]*store, reporters)
	for i := range stores {
		st, err := connect(s.URL, s.Token, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		defer st.conn.Close()
		if err := st.open(t.Context()); err != nil {
			t.Fatal(err)
		}
		stores[i] = st
	}
	every := time.Duration(size("FLEET_EVERY_MS", 1)) * time.Millisecond
	for i := range stores {
		all.Go(func() {
			for range beat {
				r := Report{
					Worker:   fmt.Sprintf("worker-%d", i),
					Version:  lockstep.Version,
					Runs:     time.Now().UnixNano(),
					Campaign: "000001",
				}
				if err := put(t.Context(), stores[i].workers, r.Worker, r); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for n := range reports {
		if n == reports/3 {
			early = heap()
		}
		for range reporters {
			beat <- struct{}{}
		}
		pause(t.Context(), every)
	}
	close(beat)
	all.Wait()
	late := heap()
	t.Logf("%d workers, %d reports each: heap %d KiB after a third, %d KiB at the end", reporters, reports, early>>10,
		late>>10)
	if late > 2*early+16<<20 {
		t.Errorf("the heap grew from %d to %d bytes", early, late)
	}
	if n := len(s.ledgers.snapshot().Workers); n > reporters || n == 0 {
		t.Errorf("%d workers are seen, %d reported", n, reporters)
	}
}

// heap returns the memory in use after a garbage collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
