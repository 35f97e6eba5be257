package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// root is the relative path of the repository's top directory.
const root = "../.."

// The go.work.sum of every workspace is complete: read-only commands do not change it. The full tier reads all of them.
func TestSumsAreComplete(t *testing.T) {
	tier.NotShort(t)
	outside.Program(t, "go")
	list := []struct{ dir, doc string }{
		{".", "./bubble"}, {"target/etcdserver", "."}, {"target/nats", "."}, {"target/tendermint", "."},
		{"internal/unknown/dragonboattest", "."}, {"internal/unknown/mqtttest", "."},
		{"internal/unknown/redsynctest", "."}, {"internal/unknown/serftest", "."},
	}
	for _, c := range list[:tier.Pick(1, len(list))] {
		file := filepath.Join(root, c.dir, "go.work.sum")
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"list", "-m", "all"},
			{"mod", "graph"},
			{"doc", c.doc},
			{"list", "-deps", "-test", "./..."},
		} {
			cmd := exec.Command("go", args...)
			cmd.Dir = filepath.Join(root, c.dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				outside.Missing(t, "go %s in %s: %v: %s", strings.Join(args, " "), c.dir, err, out)
			}
			after, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(before, after) {
				t.Errorf("go %s changes %s/go.work.sum; commit what it writes", strings.Join(args, " "), c.dir)
				before = after
			}
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"tidy", "up"}, {"modfile"}} {
		if err := run(t.Context(), args, &bytes.Buffer{}); err == nil || err.Error() != usage {
			t.Errorf("%q: %v", args, err)
		}
	}
}
