package netrix_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/replay"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/netrix"
	"github.com/lockstep-go/lockstep/trace"
)

// The test program is also its replicas.
func TestMain(m *testing.M) {
	if self := os.Getenv("NETRIX_TEST_SELF"); self != "" {
		r := &replica{id: os.Getenv("NETRIX_TEST_ID"), server: os.Getenv("NETRIX_TEST_SERVER"), self: self}
		fmt.Fprintln(os.Stderr, r.serve())
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// replica elects leaders of terms, like a program that was instrumented for Netrix. It loses its vote when it is
// stopped, which is the bug.
type replica struct {
	id, server, self string
	mutex            sync.Mutex
	term, voted      int
	grants, sent     int
	running          bool
}

func (r *replica) serve() error {
	mux := http.NewServeMux()
	handle := func(path string, f func(map[string]any)) {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, q *http.Request) {
			var body map[string]any
			if json.NewDecoder(q.Body).Decode(&body) != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			r.mutex.Lock()
			defer r.mutex.Unlock()
			f(body)
			fmt.Fprint(w, "Ok")
		})
	}
	handle("/message", r.message)
	handle("/timeout", func(map[string]any) {
		if r.running {
			r.campaign()
		}
	})
	handle("/directive", r.directive)
	r.post("/replica", map[string]any{"id": r.id, "ready": false, "addr": r.self})
	if os.Getenv("NETRIX_TEST_LATE") != "" {
		time.Sleep(200 * time.Millisecond) // longer than the silence that the engine awaits
	}
	server := http.Server{Addr: r.self, Handler: mux}
	return server.ListenAndServe()
}

func (r *replica) post(path string, body any) {
	b, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	answer, err := http.Post("http://"+r.server+path, "application/json", bytes.NewReader(b))
	if err != nil {
		os.Exit(0) // the campaign is over
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
}

func (r *replica) event(kind string, params map[string]string) {
	r.post("/event", map[string]any{"type": kind, "replica": r.id, "params": params, "timestamp": time.Now().Unix()})
}

func (r *replica) send(to, kind string, term int) {
	r.sent++
	id := fmt.Sprintf("%s_%s_%d", r.id, to, r.sent)
	r.post(
		"/message",
		map[string]any{
			"from":      r.id,
			"to":        to,
			"type":      kind,
			"data":      []byte(fmt.Sprint(term)),
			"id":        id,
			"intercept": true,
		},
	)
	r.event("MessageSend", map[string]string{"message_id": id})
}

func (r *replica) directive(body map[string]any) {
	switch body["action"] {
	case "STOP":
		r.running = false
	case "START", "RESTART":
		r.term, r.voted, r.grants, r.running = 0, 0, 0, true
		r.post("/replica", map[string]any{"id": r.id, "ready": true, "addr": r.self})
		r.wait()
	}
}

func (r *replica) wait() {
	r.event("TimeoutStart", map[string]string{"type": "election", "duration": "100ms"})
}

func (r *replica) campaign() {
	r.event("TimeoutEnd", map[string]string{"type": "election", "duration": "100ms"})
	r.term++
	r.grants = 0
	for _, to := range []string{"a", "b", "c"} {
		r.send(to, "vote", r.term)
	}
	r.wait()
}

func (r *replica) message(m map[string]any) {
	if !r.running {
		return
	}
	r.event("MessageReceive", map[string]string{"message_id": m["id"].(string)})
	var data []byte
	term := 0
	if b, err := json.Marshal(m["data"]); err != nil || json.Unmarshal(b, &data) != nil {
		panic(errors.New("no data"))
	}
	fmt.Sscan(string(data), &term)
	switch {
	case m["type"] == "vote" && term > r.voted:
		r.voted, r.term = term, max(r.term, term)
		r.send(m["from"].(string), "grant", term)
	case m["type"] == "grant" && term == r.term:
		if r.grants++; r.grants == 2 {
			r.event("Leader", map[string]string{"term": fmt.Sprint(term), "by": r.id})
		}
	}
}

func system() netrix.System {
	return netrix.System{
		Name:    "electors",
		IDs:     []string{"a", "b", "c"},
		Silence: 5 * time.Millisecond,
		Timeout: time.Minute,
		Events:  []string{"Leader"},
		Command: func(node lockstep.Node, server, self, _ string) *exec.Cmd {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "NETRIX_TEST_SELF="+self, "NETRIX_TEST_SERVER="+server,
				"NETRIX_TEST_ID="+string(rune('a'+node-1)))
			return cmd
		},
	}
}

// oneLeader is violated when two nodes lead in one term.
var oneLeader = spec.OnEvent("one leader", "Leader",
	func(leaders *map[string]lockstep.Node, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		if *leaders == nil {
			*leaders = map[string]lockstep.Node{}
		}
		term := e.Value.(map[string]string)["term"]
		if n := (*leaders)[term]; n != 0 && n != e.Node {
			return &lockstep.Finding{Text: fmt.Sprintf("%d and %d lead in term %s", n, e.Node, term)}
		}
		(*leaders)[term] = e.Node
		return nil
	})

// The tester finds the bug of a system instrumented for Netrix, and reproduces it.
func TestElectors(t *testing.T) {
	tier.NotShort(t)
	plan := lockstep.Plan{System: system(), Spec: oneLeader, Workers: 2, Runs: 200, Repetitions: 3, Seed: 1,
		Strategy: strategy.Walk{Deliver: 10, Timer: 2, Crash: 1, Restart: 2, Steps: 60}}
	result, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	f := result.First()
	if f == nil || f.Flaky != "" || f.Failed == 0 {
		t.Fatalf("%+v", result)
	}
	again, err := replay.Run(t.Context(), plan, f.Trace)
	if err != nil || again.Trace.Outcome.Verdict != trace.Fail {
		t.Errorf("%+v, %v", again, err)
	}
	t.Logf("run %d: %s, %s", f.Run, f.Finding, f.Confirmed())
}

// Invalid settings are refused before any process starts.
func TestSettings(t *testing.T) {
	for want, s := range map[string]netrix.System{
		"0 replicas":             {Listen: "127.0.0.1:0"},
		"set Command":            {Nodes: 3},
		"not a loopback address": {Nodes: 3, Listen: "0.0.0.0:80"},
		"missing port":           {Nodes: 3, Listen: "localhost"},
		"Request is not":         {Nodes: 3, Listen: "127.0.0.1:0", Requests: []string{"x"}},
	} {
		if _, err := s.Describe(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not contain %q", err, want)
		}
	}
}

// Requests that are not from a replica are refused, and do no harm.
func TestGarbage(t *testing.T) {
	s := system()
	s.Command, s.Listen = nil, "127.0.0.1:0"
	d, err := s.Deploy(context.Background(), &lockstep.Env{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	url := "http://" + netrix.Address(d)
	for path, bodies := range map[string][]string{
		"/replica": {"", "{}", `{"id":"z"}`, "[1]"},
		"/message": {
			"",
			`{"from":"a"}`,
			`{"from":"a","to":"b","type":"x","data":7}`,
			`{"from":"a","to":"b"}`,
			strings.Repeat("x", 5<<20),
		},
		"/event": {"{", `{"replica":"z","type":"x"}`, `{"replica":"a"}`},
	} {
		for _, body := range bodies {
			answer, err := http.Post(url+path, "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != http.StatusBadRequest {
				t.Errorf("%s %.50q: %s", path, body, answer.Status)
			}
		}
	}
}

// The deployment waits for a replica that registers before it listens, as Netrix's own client does.
func TestListensLate(t *testing.T) {
	t.Setenv("NETRIX_TEST_LATE", "yes")
	result, err := lockstep.Explore(t.Context(),
		lockstep.Plan{System: system(), Strategy: strategy.DefaultWalk, Runs: 1, Steps: 3, Workers: 1})
	if err != nil || result.Inconclusive != 0 {
		t.Errorf("%+v, %v", result, err)
	}
}
