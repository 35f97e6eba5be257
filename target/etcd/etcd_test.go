package etcd

import (
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

var long = flag.Bool("long", false, "make many runs of servers, of all versions")

// need skips a test if the go tool is missing or offline, and fails it if all tools are required.
func need(t *testing.T, version string) {
	t.Helper()
	if os.Getenv("LOCKSTEP_STRICT") != "" {
		return
	}
	if err := exec.Command("go", "mod", "download", "go.etcd.io/etcd/server/v3@"+version).Run(); err != nil {
		t.Skipf("etcd %s cannot be had here: %v", version, err)
	}
}

// plan returns a campaign of partitions, crashes and requests.
func plan(t *testing.T, c Cluster, runs int) lockstep.Plan {
	t.Helper()
	need(t, target.Fill(c).Version)
	c.StartTimeout = 5 * time.Minute
	s, err := strategy.Parse(Target.Strategy)
	if err != nil {
		t.Fatal(err)
	}
	return lockstep.Plan{
		System:      c,
		Spec:        Target.Spec,
		Strategy:    s,
		Settle:      Target.Settle,
		Workers:     1,
		Runs:        runs,
		Scratch:     t.TempDir(),
		Repetitions: 3,
	}
}

// Operations stay linearizable through partitions and crashes, and nothing is left of the servers.
func TestLinearizable(t *testing.T) {
	tier.OnlyFull(t, "it starts servers, in real time")
	versions, runs := []string{""}, 3
	if *long {
		versions, runs = []string{"v3.5.35", "v3.6.16", "v3.7.3"}, *tests/3
	}
	for _, version := range versions {
		p, spent := plan(t, Cluster{Version: version}, runs), &process.Spent{}
		p.System = timed{p.System.(Cluster), spent}
		begin := time.Now()
		enginetest.Passes(t, version, p)
		t.Logf("%s: %d runs in %s, with the start of the servers; %s", version, runs,
			time.Since(begin).Round(time.Second), spent)
	}
}

// timed is a cluster that reports where its time goes. The beginning of a run and restarts count as starting.
type timed struct {
	Cluster
	spent *process.Spent
}

func (t timed) Deploy(ctx context.Context, place *lockstep.Env) (lockstep.Deployment, error) {
	d, err := t.Cluster.Deploy(ctx, place)
	return clocked{d, t.spent}, err
}

type clocked struct {
	lockstep.Deployment
	spent *process.Spent
}

func (c clocked) Reset(ctx context.Context, seed uint64, out *lockstep.Outbox) error {
	return process.Timed(&c.spent.Starting, func() error { return c.Deployment.Reset(ctx, seed, out) })
}

func (c clocked) Do(ctx context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	part := &c.spent.Working
	switch s.Kind {
	case trace.Restart:
		part = &c.spent.Starting
	case trace.Wait:
		part = &c.spent.Waiting
	}
	return process.Timed(part, func() error { return c.Deployment.Do(ctx, s, out) })
}

// An isolated server answers serializable reads from its local state, which the others have overwritten. Partitions
// find that in few runs.
func TestStale(t *testing.T) {
	tier.OnlyFull(t, "it starts servers, in real time")
	p := plan(t, Cluster{Serializable: true, Mix: kv.Binary, Requests: 10}, 60)
	p.Strategy = strategy.Walk{Request: 4, Cut: 1, Wait: 1, Steps: 24}
	result, err := lockstep.Explore(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	f := result.First()
	if f == nil || f.Finding.Property != "linearizability" {
		t.Fatalf("%v, %v: %+v", result.Verdicts, result.Reasons, f)
	}
	t.Logf("run %d: %s, %s", f.Run, f.Finding, f.Confirmed())
}

// The requests to the gateway and the parsing of its responses, without a server.
func TestGateway(t *testing.T) {
	var asked map[string]any
	answer := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = map[string]any{}
		_ = json.NewDecoder(r.Body).Decode(&asked)
		asked["path"] = r.URL.Path
		if answer == "" {
			http.Error(w, "etcdserver: no leader", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(answer))
	}))
	defer server.Close()
	g := &gateway{address: strings.TrimPrefix(server.URL, "http://"), client: server.Client()}
	op := func(kind kv.Kind, value, old int32) kv.Op {
		return kv.Op{Client: 1, Seq: 1, Act: kv.Act{Kind: kind, Value: value, Old: old}}
	}
	held := `[{"key":"ci9h","value":"MTAx"}]` // 101
	for _, c := range []struct {
		op     kv.Op
		answer string
		want   string
		path   string
	}{
		{op(kv.Put, 5, 0), `{}`, "is 5", "/v3/kv/put"},
		{op(kv.Get, 0, 0), `{"kvs":` + held + `}`, "is 101", "/v3/kv/range"},
		{op(kv.Get, 0, 0), `{}`, "is 0", "/v3/kv/range"},
		{op(kv.Cas, 7, 0), `{"succeeded":true}`, "is 7", "/v3/kv/txn"},
		{op(kv.Cas, 7, 3), `{"responses":[{"response_range":{"kvs":` + held + `}}]}`, "refused, is 101", "/v3/kv/txn"},
	} {
		answer = c.answer
		r, err := g.do(context.Background(), "r/", c.op, false)
		if err != nil || r.String() != c.want || asked["path"] != c.path {
			t.Errorf("%s: %v, %v, asked %v", &c.op, &r, err, asked)
		}
	}
	for _, bad := range []string{"", "nonsense", `{"responses":[]}`} {
		answer = bad
		if r, err := g.do(context.Background(), "r/", op(kv.Cas, 1, 2), false); err == nil {
			t.Errorf("%q is taken for %v", bad, &r)
		}
	}
	if _, err := g.do(context.Background(), "r/", op(kv.Append, 1, 0), false); err == nil {
		t.Error("append is taken")
	}
}

func TestWrongOptions(t *testing.T) {
	for text, want := range map[string]string{
		"nodes=8":      "nodes is 8, allowed are 1..7",
		"mix=append:1": "allowed are put, get and cas",
		"pace=-1s":     "pace is -1s, it must be at least 1ms",
	} {
		system, err := Target.Build([]string{text})
		if err == nil {
			_, err = system.Describe()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if info, err := (Cluster{}).Describe(); err != nil || info.Options["version"] != "v3.6.16" {
		t.Errorf("%+v, %v", info, err)
	}
}
