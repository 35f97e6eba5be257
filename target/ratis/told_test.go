package ratis

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/outside"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/trace"
)

// TestTold shows without any network why servers of 1.0.0 apply what nobody else has: one of them is told by calls of its methods what others may
// say. The heartbeat of a new leader has it commit what it alone has, and after that it refuses the leader's entries for ever; but not if it heard of the term before, and
// not in 3.3.0.
func TestTold(t *testing.T) {
	if !*long {
		t.Skip("shows a defect of servers and not of ours; -long makes it")
	}
	outside.Programs(t, "java", "mvn")
	for _, c := range []struct {
		version   string
		voted     bool
		heartbeat string // the answer to the heartbeat of the new leader, and how far the server has committed and applied then
		last      string // its last answer, and the terms of its entries
	}{
		{"1.0.0", false, "SUCCESS term=1 next=3, 2 2", "INCONSISTENCY 1 1 1"},
		{"1.0.0", true, "SUCCESS term=2 next=3, 0 0", "SUCCESS 1 2 2"},
		{"3.3.0", false, "SUCCESS term=1 next=3, 0 0", "SUCCESS 1 2 2"},
		{"3.3.0", true, "SUCCESS term=2 next=3, 0 0", "SUCCESS 1 2 2"},
	} {
		t.Run(fmt.Sprint(c.version, " voted=", c.voted), func(t *testing.T) {
			var heartbeat, last string
			for _, line := range told(t, c.version, c.voted) {
				t.Log(line)
				said, answered, state := cut3(t, line)
				s, err := parseState(state)
				if err != nil {
					t.Fatal(err)
				}
				if said == "AppendEntries n3 term=2 previous=1:0 entries=[] commit=2" {
					heartbeat = fmt.Sprintf("%s, %d %d", answered, s.Commit, s.Applied)
				}
				result, _, _ := strings.Cut(answered, " ")
				last = result
				for _, e := range s.Log {
					last += " " + e[:1]
				}
			}
			if heartbeat != c.heartbeat || last != c.last {
				t.Errorf("heartbeat: %s, want %s; last: %s, want %s", heartbeat, c.heartbeat, last, c.last)
			}
		})
	}
}

// told starts the server that is told things, and returns what it tells.
func told(t *testing.T, version string, voted bool) (lines []string) {
	java, err := prepare(t.Context(), version)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := java.Compile(t.Context(), "ratis-told", "", os.DirFS("testdata/told")); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	keeper, err := process.NewSupervisor(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = keeper.Close() }()
	host, port, _ := net.SplitHostPort(keeper.Port())
	arguments := []string{host, port, folder + "/data"}
	if voted {
		arguments = append(arguments, "voted")
	}
	cmd := java.Command("Told", arguments...)
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if text, ok := strings.CutPrefix(line, "TOLD "); ok {
			lines = append(lines, strings.TrimSpace(text))
		}
	}
	return lines
}

// cut3 cuts a line into what was said, what was answered, and the state.
func cut3(t *testing.T, line string) (said, answered, state string) {
	parts := strings.Split(line, " | ")
	if len(parts) != 3 {
		t.Fatalf("%q is not understood", line)
	}
	return parts[0], parts[1], parts[2]
}

// goes is how often the leader is cut off and comes back.
var goes = flag.Int("goes", 20, "how often a leader is cut off and comes back")

// TestReturns shows the same with three servers and their own messages, without the engine: a leader is cut off, gets a request, and comes back when
// others have committed something else. It depends on who speaks first then, and whether that is a heartbeat.
func TestReturns(t *testing.T) {
	if !*long {
		t.Skip("shows a defect of servers and not of ours; -long makes it")
	}
	outside.Programs(t, "java", "mvn")
	c := Cluster{Version: *version, Control: byTime, Warm: true, Patience: *patience}
	place := &lockstep.Place{}
	made, err := c.Deploy(place)
	if err != nil {
		t.Fatal(err)
	}
	d := made.(*deployment)
	defer func() {
		folder, _ := place.Folder()
		if err := errors.Join(d.Close(), os.RemoveAll(folder)); err != nil {
			t.Error(err)
		}
	}()
	came, apart := 0, 0
	for range *goes {
		found, ok := d.returns(t)
		if !ok {
			continue
		}
		if came++; found != "" {
			apart++
			t.Log(found)
		}
	}
	t.Logf("%s: the leader came back in %d of %d goes, and servers applied different entries in %d of these", *version, came, *goes, apart)
	if harmful := *version == "1.0.0"; came == 0 || apart > 0 && !harmful || apart == 0 && harmful {
		t.Errorf("%d of %d of %d", apart, came, *goes)
	}
}

// returns makes one go. It tells what two servers have both applied at one index, and whether the leader came back as it was to.
func (d *deployment) returns(t *testing.T) (found string, ok bool) {
	ctx := t.Context()
	begin := []func() error{d.Begin, d.Launch, func() error { return d.greet(ctx) }, func() error { return d.agree(ctx) }}
	for _, do := range begin {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	states, err := d.states(ctx)
	old := lockstep.Node(leader(states))
	if err != nil || old == 0 {
		t.Log("nobody leads any more: ", err)
		return "", false
	}
	others := trace.AllNodes(d.options.Nodes).Without(old)
	d.Network.Cut(func(from lockstep.Node) lockstep.Nodes {
		if from == old {
			return others
		}
		return trace.NodesOf(old)
	})
	last, term := states[old-1].last(), states[old-1].Term
	limit, cancel := context.WithTimeout(ctx, 20*time.Second)
	var answered sync.WaitGroup
	answered.Go(func() { _, _ = process.Order(limit, d.client.Host, "send") })
	defer answered.Wait()
	defer cancel()
	ok, _ = d.until(limit, 10*time.Second, func(states []State, err error) bool {
		alone := states[old-1]
		return err == nil && alone.Term == term && alone.last() > last && slices.ContainsFunc(within(states, others), func(s State) bool { return s.Leads && s.Commit > last })
	})
	d.Network.Cut(process.Whole)
	_, _ = d.until(limit, 5*time.Second, func(states []State, err error) bool {
		found = conflict(states)
		return err == nil && (found != "" || differ(states) == "")
	})
	return found, ok
}
