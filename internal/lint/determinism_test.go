package main

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

func TestDeterminism(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), determinism, "a", "b", module+"/bubble")
}

func TestCheckedPackages(t *testing.T) {
	for path, want := range map[string]bool{
		module: true, module + "/trace": true, module + "/distal/explore": true, module + "/target/smr": true,
		module + "/rounds": true, module + "/shrink": true, module + "/replay": true, module + "/bubble/rpc": true,
		module + "/target/etcdraft": true, module + "/target/nats": true, module + "/target/kafka": false,
		module + "/target/bftsmart/agent": false,
		module + "/cmd/lockstep":          false, module + "/internal/pool": false, module + "/tracer": false,
		"fmt": false,
	} {
		if checked(path) != want {
			t.Errorf("checked(%q) = %v", path, !want)
		}
	}
}
