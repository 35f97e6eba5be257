package v35_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/etcdraft"
	"github.com/lockstep-go/lockstep/target/etcdraft/v35"
)

// TestEnvironment checks that the environment is restored after two versions have registered their messages.
func TestEnvironment(t *testing.T) {
	if v, ok := os.LookupEnv("GOLANG_PROTOBUF_REGISTRATION_CONFLICT"); ok && v == "ignore" {
		t.Error("conflicts of protobuf registrations are still ignored")
	}
}

func ExampleCluster() {
	r, err := lockstep.Explore(context.Background(), lockstep.Plan{
		System:   v35.Cluster{Nodes: 3},
		Strategy: strategy.Walk{Deliver: 10, Drop: 1, Timer: 1, Request: 1, Steps: 200},
		Spec:     etcdraft.Everything,
		Runs:     100,
	})
	fmt.Println(r.Target, r.Runs, r.Verdict(), err)
	// Output: etcdraft35 100 pass <nil>
}
