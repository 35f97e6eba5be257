package remote_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/remote"
	"github.com/lockstep-go/lockstep/remote/client"
	"github.com/lockstep-go/lockstep/remote/wire"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// Byzantine node is a replica that behaves correctly, except for one fault.
func byzantine(ctx context.Context, options client.Options) error {
	c := client.Connect(options)
	fault := os.Getenv("LOCKSTEP_TEST_FAULT")
	return c.Run(ctx, client.Handlers{Start: func() {
		if c.Node() != 2 {
			return
		}
		switch fault {
		case "stranger":
			c.Send(client.Message{To: 17, Type: "vote"})
		case "flood":
			for range 20_000 {
				c.Send(client.Message{To: 1, Type: "vote"})
			}
		case "huge":
			c.Send(client.Message{To: 1, Type: "vote", Body: make([]byte, 8<<20)})
		case "name":
			c.Send(client.Message{To: 1, Type: strings.Repeat("x", 1000)})
		case "round":
			c.Send(client.Message{To: 1, Type: "vote", Phase: 1, Round: 9})
		case "timer":
			c.Timer("never", 1<<63)
		case "silence":
			time.Sleep(time.Hour) // not select {}: a Go program whose goroutines all block ends
		case "panic":
			panic("out of luck")
		case "suicide":
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}})
}

// A replica that sends invalid reports, floods, stalls or dies makes only its own runs inconclusive, and the reason
// names it.
func TestByzantine(t *testing.T) {
	for fault, want := range map[string]string{
		"stranger": "a message to node 17; 1 to 3 are possible",
		"flood":    "one order caused more than 10000 effects",
		"huge":     "its reports broke off",
		"name":     "a SEND whose type has 1000 bytes",
		"round":    "of phase 1, round 9",
		"timer":    `timer "never" fires after`,
		"silence":  "it was not done within 300ms",
		"panic":    "out of luck",
		"suicide":  "signal: killed",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Setenv("LOCKSTEP_TEST_FAULT", fault)
			system := processes("Byzantine node")
			if fault == "silence" {
				system.Limits.Timeout = 300 * time.Millisecond
			}
			plan := lockstep.Plan{System: system, Strategy: strategy.DefaultWalk, Runs: 2, Steps: 5, Workers: 1}
			result, err := lockstep.Explore(t.Context(), plan)
			if err != nil {
				t.Fatal(err)
			}
			if result.Inconclusive != 2 || result.Verdict() != trace.Unknown {
				t.Errorf("%+v", result)
			}
			for reason := range result.Reasons {
				if !strings.Contains(reason, "replica 2: ") || !strings.Contains(reason, want) {
					t.Errorf("%q does not contain %q", reason, want)
				}
			}
		})
	}
}

// secret is the token of externally started replicas.
const secret = "secret"

// listening returns a deployment whose replicas are started externally.
func listening(t *testing.T, stats *remote.Stats) (url string, d lockstep.Deployment) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	d, err = remote.System{
		Name:   "open",
		Nodes:  2,
		Listen: address,
		Token:  secret,
		Stats:  stats,
	}.Deploy(context.Background(), &lockstep.Env{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return "http://" + address, d
}

// The server refuses a replica that lacks the token, or claims a node that does not exist or is connected.
func TestRefused(t *testing.T) {
	var stats remote.Stats
	url, _ := listening(t, &stats)
	try := func(o client.Options) error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		o.URL = url
		return client.Connect(o).Run(ctx, client.Handlers{})
	}
	for _, o := range []client.Options{
		{Node: 1},
		{Node: 1, Token: "guess"},
		{Node: 3, Token: secret},
		{Node: 0, Token: secret},
	} {
		if err := try(o); err == nil {
			t.Errorf("%+v was let in", o)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in := make(chan struct{})
	first := client.Connect(client.Options{URL: url, Node: 1, Token: secret})
	go func() {
		_ = first.Run(ctx, client.Handlers{})
		close(in)
	}()
	for first.Nodes() == 0 { // until it is connected
		time.Sleep(time.Millisecond)
	}
	if err := try(client.Options{Node: 1, Token: secret}); err == nil ||
		!strings.Contains(err.Error(), "node 1 is connected already") {
		t.Error(err)
	}
	cancel()
	<-in
	if stats.Refused.Load() < 5 {
		t.Errorf("%d refused", stats.Refused.Load())
	}
}

// Garbage does no harm: after any posted data, the server still serves a new replica.
func TestGarbage(t *testing.T) {
	url, d := listening(t, nil)
	envelope := func(b []byte) []byte { return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(b))), b...) }
	for _, body := range [][]byte{
		nil,
		[]byte("{}"),
		envelope([]byte("{")),
		envelope([]byte(`{"session":99}`)),
		envelope([]byte(`{"effects":7}`)),
		{0, 0xff, 0xff, 0xff, 0xff},
		bytes.Repeat([]byte{0xff}, 1<<16),
		envelope(bytes.Repeat([]byte{'x'}, 5<<20)),
	} {
		for _, procedure := range []string{
			wire.OrdersProcedure,
			wire.ReportsProcedure,
			wire.LinePath,
			"/",
			"/nonsense",
		} {
			for _, kind := range []string{
				"application/connect+json",
				"application/connect+proto",
				"application/grpc",
				"application/grpc-web+proto",
				"text/plain",
				"",
			} {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+procedure, bytes.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Content-Type", kind)
				r.Header.Set("Authorization", "Bearer "+secret)
				answer, err := http.DefaultClient.Do(r)
				if err != nil {
					continue // the server closed the connection
				}
				_, _ = io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
			}
		}
	}
	for n := range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			_ = client.Connect(client.Options{URL: url, Node: n + 1, Token: secret}).Run(ctx, client.Handlers{})
		}()
	}
	if err := remote.AskAll(t.Context(), d, 10); err != nil {
		t.Error(err)
	}
}

// Invalid data on a line makes the run inconclusive, and the reason describes the data.
func TestBabble(t *testing.T) {
	for garbage, want := range map[string]string{
		"-":                                        "it hung up",
		"\\x00":                                    "its reports broke off: unexpected EOF",
		"\\x00\\x00\\x00\\x00\\x09\\x08":           "its reports broke off: unexpected EOF",
		"\\x02\\x00\\x00\\x00\\x00":                "a frame that begins with 2",
		"\\x00\\xff\\xff\\xff\\xff":                "a message of 4294967295 bytes",
		"\\x00\\x00\\x00\\x00\\x01\\xff":           "its reports broke off",
		"GET / HTTP/1.1\\r\\n\\r\\n":               "a frame that begins with 71",
		"\\x00\\x00\\x00\\x00\\x03\\x18\\xff\\x01": "it hung up",
	} {
		t.Setenv("LOCKSTEP_TEST_FAULT", garbage)
		plan := lockstep.Plan{
			System:   processes("babbler"),
			Strategy: strategy.DefaultWalk,
			Runs:     2,
			Steps:    5,
			Workers:  1,
		}
		result, err := lockstep.Explore(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		if result.Inconclusive != 2 {
			t.Errorf("%q: %+v", garbage, result)
		}
		for reason := range result.Reasons {
			if !strings.Contains(reason, "replica 2: ") || !strings.Contains(reason, want) {
				t.Errorf("%q: %q does not contain %q", garbage, reason, want)
			}
		}
	}
}

// babbler is a set of replicas. The second echoes its orders on its line, and closes the connection.
func babbler(ctx context.Context, options client.Options) error {
	if options.Node != 2 {
		return client.Connect(options).Run(ctx, client.Handlers{})
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(options.URL, "http://"))
	if err != nil {
		return err
	}
	defer conn.Close()
	garbage, err := strconv.Unquote(`"` + os.Getenv("LOCKSTEP_TEST_FAULT") + `"`)
	if err != nil {
		return err
	}
	hello := wire.Marshal(&wire.Hello{Node: 2})
	_, err = fmt.Fprintf(
		conn,
		"POST %s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: lockstep\r\nAuthorization: Bearer "+
			"%s\r\nContent-Length: %d\r\n\r\n%s%s",
		wire.LinePath,
		options.Token,
		len(hello),
		hello,
		strings.TrimPrefix(garbage, "-"),
	)
	if err != nil {
		return err
	}
	in := bufio.NewReader(conn)
	answer, err := http.ReadResponse(in, nil)
	if err != nil {
		return err
	}
	answer.Body.Close()
	line := wire.NewLine(conn.(*net.TCPConn), in, 1<<20)
	for range 2 { // the welcome, and the first order
		if err := line.Read(&wire.Order{}); err != nil {
			return err
		}
	}
	return nil
}

// Reports of an earlier run are refused and counted.
func TestStale(t *testing.T) {
	var stats remote.Stats
	system := processes("late")
	system.Stats = &stats
	result, err := lockstep.Explore(t.Context(),
		lockstep.Plan{System: system, Strategy: strategy.DefaultWalk, Runs: 3, Steps: 5, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if result.Events != nil || stats.Stale.Load() == 0 {
		t.Errorf("%d stale reports, %+v", stats.Stale.Load(), result)
	}
}

// late is a replica of the plain protocol. When ordered to begin a run, it first sends a report of the previous run.
func late(ctx context.Context, options client.Options) error {
	orders, err := call(ctx, options, wire.OrdersProcedure,
		bytes.NewReader(frame(wire.Hello{Node: uint32(options.Node)})))
	if err != nil {
		return err
	}
	reader, writer := io.Pipe()
	go func() { _, _ = call(ctx, options, wire.ReportsProcedure, reader) }()
	for session := uint32(0); ; {
		head := make([]byte, 5)
		if _, err := io.ReadFull(orders, head); err != nil || head[0] != 0 {
			return nil //nolint:nilerr // the tester hung up
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:]))
		if _, err := io.ReadFull(orders, body); err != nil {
			return err
		}
		var o wire.Order
		if err := json.Unmarshal(body, &o); err != nil {
			return err
		}
		session = max(session, o.Session)
		if o.Kind == wire.Reset && o.Run > 1 {
			_, _ = writer.Write(
				frame(wire.Report{Run: o.Run - 1, Effects: []wire.Effect{{Kind: wire.Event, Type: "late"}}}))
		}
		_, _ = writer.Write(frame(wire.Report{Session: session, Run: o.Run, Done: o.Number}))
	}
}

// frame returns a message as JSON, prefixed with its length.
func frame(m any) []byte {
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(b))), b...)
}

func call(ctx context.Context, options client.Options, procedure string, body io.Reader) (io.Reader, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, options.URL+procedure, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/connect+json")
	r.Header.Set("Authorization", "Bearer "+options.Token)
	answer, err := http.DefaultClient.Do(r) //nolint:bodyclose // it ends with the context
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// Invalid settings are refused before any process starts.
func TestSettings(t *testing.T) {
	command := processes("elector").Command
	for want, s := range map[string]remote.System{
		"0 nodes":                    {Command: command},
		"has no Command":             {Nodes: 3},
		"needs a Token, which":       {Nodes: 3, Listen: "127.0.0.1:0"},
		"at least 16 characters":     {Nodes: 3, Listen: "0.0.0.0:0", Token: "short"},
		"missing port":               {Nodes: 3, Listen: "localhost"},
		"could not be started again": {Nodes: 3, Listen: "127.0.0.1:0", Kill: true},
	} {
		if _, err := s.Describe(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not contain %q", err, want)
		}
	}
	if _, err := (remote.System{Nodes: 3, Listen: "0.0.0.0:0", Token: "sixteen-or-longer"}).Describe(); err != nil {
		t.Error(err)
	}
}
