package remote_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/remote"
	"github.com/lockstep-go/lockstep/remote/client"
)

// variable returns the value of a variable in the environment of a command.
func variable(cmd *exec.Cmd, name string) (value string) {
	for _, pair := range cmd.Env {
		if after, ok := strings.CutPrefix(pair, name+"="); ok {
			value = after
		}
	}
	return value
}

// A process on the same machine that has the address of a deployment, but not its token, cannot take the place of a
// replica.
func TestIntruder(t *testing.T) {
	var stats remote.Stats
	var started []*exec.Cmd
	system := processes("elector")
	system.Stats = &stats
	plain := system.Command
	system.Command = func(node lockstep.Node, dir string) *exec.Cmd {
		started = append(started, plain(node, dir))
		return started[len(started)-1]
	}
	tokens := map[string]bool{}
	for range 2 {
		started = nil
		d, err := system.Deploy(t.Context(), &lockstep.Env{})
		if err != nil {
			t.Fatal(err)
		}
		url, token := variable(started[0], client.URLVariable), variable(started[0], client.TokenVariable)
		tokens[token] = true
		for given, want := range map[string]string{"": "the token is missing", "guess": "the token is wrong"} {
			for node := 1; node <= system.Nodes; node++ {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				err := client.Connect(client.Options{URL: url, Node: node, Token: given}).Run(ctx, client.Handlers{})
				if cancel(); err == nil || !strings.Contains(err.Error(), want) ||
					!strings.Contains(err.Error(), client.TokenVariable) {
					t.Errorf("token %q as node %d: %v, want %q", given, node, err, want)
				}
			}
		}
		if err := remote.AskAll(t.Context(), d, 6); err != nil {
			t.Errorf("the replicas were not served: %v", err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(tokens) != 2 || tokens[""] || stats.Refused.Load() != 12 {
		t.Errorf("tokens %v, %d connections refused", tokens, stats.Refused.Load())
	}
}
