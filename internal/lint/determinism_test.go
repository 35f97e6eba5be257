package main

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

func TestDeterminism(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), determinism, "a", "b")
}

func TestCheckedPackages(t *testing.T) {
	for path, want := range map[string]bool{
		module: true, module + "/trace": true, module + "/distal/explore": true, module + "/target/smr": true,
		module + "/cmd/lockstep": false, module + "/internal/pool": false, module + "/tracer": false, "fmt": false,
	} {
		if checked(path) != want {
			t.Errorf("checked(%q) = %v", path, !want)
		}
	}
}
