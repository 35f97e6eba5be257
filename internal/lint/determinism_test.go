package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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

// Every package of the lists exists.
func TestListedPackages(t *testing.T) {
	for _, name := range slices.Concat(packages, realTime, bubbled) {
		if at, err := os.Stat(filepath.Join("../..", name)); err != nil || !at.IsDir() {
			t.Errorf("%s is no package: %v", name, err)
		}
	}
}

// The analyzers are those of the Go version in use.
func TestVet(t *testing.T) {
	help, err := exec.Command("go", "tool", "vet", "help").Output()
	if err != nil {
		t.Fatal(err)
	}
	text := string(help)
	_, list, found := strings.Cut(text, "Registered analyzers:\n\n")
	list, _, _ = strings.Cut(list, "\n\n")
	var want, got []string
	for line := range strings.Lines(list) {
		want = append(want, strings.Fields(line)[0])
	}
	for _, a := range vet {
		got = append(got, a.Name)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !found || len(want) < 30 || !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
