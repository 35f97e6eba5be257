package etcdraft_test

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/v35"
	"github.com/lockstep-go/lockstep/trace"
)

// late is a spec that the second election of a run violates, so that there are traces to
// compare.
var late = spec.OnEvent("late", etcdraft.BecameLeader, func(elections *int, _ *lockstep.Run, _ *lockstep.Event) *lockstep.Finding {
	if *elections++; *elections < 2 {
		return nil
	}
	return &lockstep.Finding{Text: "two elections"}
})

// digests sums up the steps of many runs and the traces of some, for both versions.
func digests(workers int) (string, error) {
	var all bytes.Buffer
	c := etcdraft.Cluster{Nodes: 5, Voters: 4, Changes: 2, Transfers: 2, Compact: 4}
	async := c
	async.Async = true
	for _, sys := range []lockstep.System{c, v35.Cluster(c), async} {
		for _, s := range strategies {
			r, err := lockstep.Explore(context.Background(), lockstep.Plan{System: sys, Strategy: s, Spec: spec.All(etcdraft.Everything, late),
				Seed: 7, Runs: 40, Steps: 200, Workers: workers, KeepGoing: true, Keep: 2})
			if err != nil {
				return "", err
			}
			if r.First() == nil {
				return "", fmt.Errorf("%s has no trace to compare", s)
			}
			h := fnv.New64a()
			for _, f := range r.Found {
				if f.Finding.Property != "late" || f.Flaky != "" {
					return "", fmt.Errorf("%s %s", f.Finding, f.Flaky)
				}
				if err := trace.Write(h, f.Trace); err != nil {
					return "", err
				}
			}
			fmt.Fprintf(&all, "%s %s %x %x %v\n", r.Target, s, r.Digest, h.Sum64(), r.Judged)
		}
	}
	return all.String(), nil
}

// TestDeterminism compares ten fresh processes, half of them with two workers.
func TestDeterminism(t *testing.T) {
	const env = "ETCDRAFT_DIGESTS"
	if workers := os.Getenv(env); workers != "" {
		text, err := digests(len(workers))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("<<%s>>", text)
		return
	}
	var first []byte
	for i := range 10 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestDeterminism$")
		cmd.Env = append(os.Environ(), env+"="+[]string{"1", "22"}[i%2])
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		out = out[bytes.Index(out, []byte("<<")):bytes.Index(out, []byte(">>"))]
		if first == nil {
			first = out
		}
		if !bytes.Equal(out, first) {
			t.Fatalf("process %d differs:\n%s\nfrom the first:\n%s", i+1, out, first)
		}
	}
	t.Logf("ten processes agree:\n%s", first)
}
