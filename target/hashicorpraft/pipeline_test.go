package hashicorpraft

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/bubble/rpc"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
)

// piped executes a run in which node 1 sends requests through a pipeline to node 2. Node 2 answers each with its
// number. With late, node 1 takes the responses late. piped returns the observations of node 1.
func piped(t *testing.T, inFlight, requests int, late bool, s lockstep.Strategy) (saw []string) {
	t.Helper()
	start := func(n *bubble.Node) error {
		tr := newTransport(n, &replica{}, Cluster{InFlight: inFlight, Timeout: time.Second})
		n.OnStop(func() { _ = tr.Close() })
		n.ReceiveAtOnce(tr.receive)
		if n.Self() == 2 {
			serveNumbers(n, tr)
			return nil
		}
		p, err := tr.AppendEntriesPipeline("", address(2))
		if err != nil {
			return err
		}
		n.Go(func() { // the library's two goroutines: one sends
			for i := range requests {
				_, err := p.AppendEntries(&raft.AppendEntriesRequest{Term: 1, PrevLogEntry: uint64(i + 1)},
					&raft.AppendEntriesResponse{})
				n.Emit("saw", fmt.Sprint("sent ", i+1, " ", err))
			}
		})
		if late {
			time.Sleep(10 * time.Second)
		}
		for range requests { // the other takes responses
			select {
			case f := <-p.Consumer():
				n.Emit("saw",
					fmt.Sprint("answer ", f.Request().PrevLogEntry, " ", f.Response().LastLog, " ", f.Error()))
			case <-tr.calls.Closed():
			}
		}
		return p.Close()
	}
	watch := spec.OnEvent("saw", "saw", func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
		saw = append(saw, e.Value.(string))
		return nil
	})
	result, err := lockstep.Explore(t.Context(),
		lockstep.Plan{System: bubble.Cluster{Name: "piped", Nodes: 2, Start: start,
			Network: bubble.Messages{Text: func(any) string { return "" }}}, Strategy: s, Spec: watch, Runs: 1,
			Seed: 1})
	if err != nil || result.First() != nil {
		t.Fatal(err, result.First())
	}
	return saw
}

// serveNumbers answers requests with the number of the entry before theirs.
func serveNumbers(n *bubble.Node, tr *transport) {
	n.Go(func() {
		for {
			select {
			case rpc := <-tr.consume:
				rpc.Respond(&raft.AppendEntriesResponse{LastLog: rpc.Command.(*raft.AppendEntriesRequest).PrevLogEntry},
					nil)
			case <-tr.calls.Closed():
				return
			}
		}
	})
}

// Responses of a pipeline arrive in order, whatever the order of delivery, and the sender waits at the limit of
// requests in flight.
func TestPipeline(t *testing.T) {
	const requests = 20
	for _, inFlight := range []int{2, 3, 8} {
		for _, late := range []bool{false, true} {
			saw := piped(t, inFlight, requests, late, strategy.Walk{Deliver: 5, Wait: 1, Steps: 1000})
			var answers []string
			sent, most := 0, 0
			for _, text := range saw {
				if text[0] == 'a' {
					answers = append(answers, text)
				} else {
					sent++
				}
				most = max(most, sent-len(answers))
			}
			var want []string
			for i := range requests {
				want = append(want, fmt.Sprintf("answer %d %d <nil>", i+1, i+1))
			}
			if !slices.Equal(answers, want) {
				t.Errorf("%d in flight: answers %q", inFlight, answers)
			}
			// The consumer holds one request, and each of the two queues holds two less than the limit.
			if limit := 1 + 2*(inFlight-2); sent != requests || most > limit+1 || late && most < limit {
				t.Errorf("%d in flight, late %v: %d sent, up to %d were under way, want %d", inFlight, late, sent, most,
					limit)
			}
		}
	}
}

// A response that does not arrive in time fails together with all later ones.
func TestPipelineBreaks(t *testing.T) {
	saw := piped(t, 4, 3, false, strategy.Walk{Drop: 1, Wait: 1, Steps: 100})
	want := "call timed out"
	failed := 0
	for _, text := range saw {
		if text[0] == 'a' && text[len(text)-len(want):] == want {
			failed++
		}
	}
	if failed != 3 {
		t.Errorf("%q", saw)
	}
}

// The Error method of a request waits for the response, or for the end.
func TestPipelineError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &transport{calls: rpc.New(nil, time.Second)}
		p := &pipeline{transport: tr}
		f := &appended{pipeline: p}
		asked := make(chan error, 2)
		go func() { asked <- f.Error() }()
		synctest.Wait()
		p.mutex.Lock()
		f.answer = &rpc.Message{Err: "refused"}
		f.finish(p)
		p.mutex.Unlock()
		if err := <-asked; err == nil || err.Error() != "refused" || !errors.Is(f.Error(), err) {
			t.Error(err)
		}
		g := &appended{pipeline: p}
		go func() { asked <- g.Error() }()
		synctest.Wait()
		_ = tr.Close()
		if err := <-asked; !errors.Is(err, rpc.ErrClosed) {
			t.Error(err)
		}
	})
}
