package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// campaignOf runs a campaign and returns its digest and the command that reruns it.
func campaignOf(t *testing.T, args []string) (digest, again string) {
	t.Helper()
	var out, errOut bytes.Buffer
	if status := testApp.execute(context.Background(), "lockstep", append(args, "--json"), &out,
		&errOut); status == statusFailure {
		t.Fatalf("%q: %s", args, errOut.String())
	}
	var d struct{ Digest, Rerun string }
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	return d.Digest, d.Rerun
}

// The command that a campaign prints reruns it when pasted into a shell.
func TestAgain(t *testing.T) {
	tier.NotShort(t)
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		{"run", "smr", "--runs", "50", "--workers", "2"},
		{
			"run", "raft", "--set", "changes=remove 2; add 2", "--set", "requests=2", "--nodes", "4", "--strategy",
			"walk:steps=80", "--runs", "40", "--seed", "9",
		},
		{
			"run", "smr-bug", "--runs", "300", "--keep-going", "--no-shrink", "--steps", "60", "--settle", "0",
			"--step-timeout", "2m",
		},
		{
			"run", "register", "--strategy", "partition", "--runs", "20", "--coverage", "--operations", "read,write it",
			"--cover-crashes",
		},
	} {
		digest, again := campaignOf(t, args)
		words, err := exec.Command("sh", "-c", `printf '%s\n' `+again).Output()
		if err != nil {
			t.Fatal(err)
		}
		pasted := strings.Split(strings.TrimSuffix(string(words), "\n"), "\n")[1:]
		if got, same := campaignOf(t, pasted); got != digest || same != again {
			t.Errorf("%q:\n%s\nmakes %s, not %s, and says %s", args, again, got, digest, same)
		}
		for i, a := range args {
			if strings.HasPrefix(a, "--") && a != "--workers" && !slices.Contains(pasted, a) {
				t.Errorf("%s lacks %s", again, args[i])
			}
		}
	}
}
