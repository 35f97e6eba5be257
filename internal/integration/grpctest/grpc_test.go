//go:build lockstep_overlay

package grpctest_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
)

// serve runs a server of gRPC's health service, whose status changes periodically.
func serve(n *bubble.Node) error {
	l, err := net.Listen("tcp", ":50051")
	if err != nil {
		return err
	}
	s, h := grpc.NewServer(), health.NewServer()
	healthpb.RegisterHealthServer(s, h)
	n.OnStop(s.Stop)
	n.Go(func() {
		for i := 0; n.Alive(); i++ {
			time.Sleep(time.Second)
			h.SetServingStatus("", healthpb.HealthCheckResponse_ServingStatus(1+i%2))
		}
	})
	_ = s.Serve(l)
	return nil
}

// ask makes calls, one after the other, and a watch, which is a stream.
func ask(n *bubble.Node) error {
	quick := grpc.ConnectParams{
		MinConnectTimeout: 5 * time.Second,
		Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.5, MaxDelay: time.Second},
	}
	c, err := grpc.NewClient(
		"passthrough:///10.0.0.1:50051",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(quick),
	)
	if err != nil {
		return err
	}
	n.OnStop(func() { _ = c.Close() })
	client := healthpb.NewHealthClient(c)
	n.Go(func() {
		if w, err := client.Watch(n.Context(), &healthpb.HealthCheckRequest{}); err == nil {
			for _, err := w.Recv(); err == nil; _, err = w.Recv() {
				n.Emit("watched", nil)
			}
		}
	})
	for n.Alive() {
		ctx, cancel := context.WithTimeout(n.Context(), 2*time.Second)
		r, err := client.Check(ctx, &healthpb.HealthCheckRequest{})
		cancel()
		if err == nil {
			n.Emit("answered", fmt.Sprint(r.GetStatus()))
		}
		time.Sleep(300 * time.Millisecond)
	}
	return nil
}

// Calls are answered and streams continue in spite of faults. Runs are reproduced byte for byte, and messages have the
// names of methods.
func TestGRPC(t *testing.T) {
	cluster := bubble.Cluster{
		Name:    "grpc",
		Nodes:   3,
		Network: bubble.Sockets{Split: 0.2},
		Start: func(n *bubble.Node) error {
			if n.Self() == 1 {
				return serve(n)
			}
			return ask(n)
		},
	}
	happened := map[string]int{}
	count := func(event string) lockstep.Spec {
		return spec.OnEvent(event, event,
			func(*struct{}, *lockstep.Run, *lockstep.Event) *lockstep.Finding { happened[event]++; return nil })
	}
	walk := strategy.Walk{Deliver: 40, Wait: 15, Drop: 1, Cut: 1, Heal: 3, Crash: 1, Restart: 3, Steps: 500}
	plan := lockstep.Plan{
		System:   cluster,
		Strategy: walk,
		Spec:     spec.All(count("answered"), count("watched")),
		Runs:     30,
		Seed:     5,
	}
	result, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if f := result.First(); f != nil {
		t.Fatalf("%s\n%s", f.Finding, f.Finding.Stack)
	}
	t.Log(result.Verdicts, result.Reasons, happened, result.Messages, result.Nondeterminism)
	if happened["answered"] < 30 || happened["watched"] < 10 {
		t.Errorf("%v", happened)
	}
	if r, err := bubble.Repetition(t.Context(), plan, 10); err != nil || r.Same != 10 {
		t.Errorf("%d of %d runs repeated, the first that did not is %d, %v", r.Same, r.Of, r.First, err)
	}
	names(t, plan)
}

// names looks for the methods among the types of messages.
func names(t *testing.T, plan lockstep.Plan) {
	bench, err := lockstep.NewRunner(plan)
	if err != nil {
		t.Fatal(err)
	}
	defer bench.Close()
	types := map[string]int{}
	for i := range 5 {
		run, err := bench.Record(t.Context(), i, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range run.Records {
			for _, m := range r.Sent {
				types[m.Type]++
			}
		}
	}
	if types["Health/Check"] == 0 || types["Health/Check answer"] == 0 || types["Health/Watch answer"] == 0 ||
		types["data"] != 0 {
		t.Errorf("%v", types)
	}
}
