package ratis

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/process"
)

// TestHeartbeat shows without a network why servers of 1.0.0 apply entries that no other server has. It calls the
// methods of one server with the messages that others may send. The heartbeat of a new leader makes the server commit
// entries that it alone has. After that it refuses the leader's entries indefinitely. It does not if it learned the
// term before, and not in 3.3.0.
func TestHeartbeat(t *testing.T) {
	if !*long {
		t.Skip("shows a defect of servers and not of ours; -long makes it")
	}
	outside.JVM(t)
	for _, c := range []struct {
		version string
		voted   bool
		// the reply to the heartbeat of the new leader, and how far the server has committed and applied then
		heartbeat string
		last      string // its last reply, and the terms of its entries
	}{
		{"1.0.0", false, "SUCCESS term=1 next=3, 2 2", "INCONSISTENCY 1 1 1"},
		{"1.0.0", true, "SUCCESS term=2 next=3, 0 0", "SUCCESS 1 2 2"},
		{"3.3.0", false, "SUCCESS term=1 next=3, 0 0", "SUCCESS 1 2 2"},
		{"3.3.0", true, "SUCCESS term=2 next=3, 0 0", "SUCCESS 1 2 2"},
	} {
		t.Run(fmt.Sprint(c.version, " voted=", c.voted), func(t *testing.T) {
			var heartbeat, last string
			for _, line := range replies(t, c.version, c.voted) {
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

// replies starts the server under test, and returns its output.
func replies(t *testing.T, version string, voted bool) (lines []string) {
	dir := t.TempDir()
	arguments := func(host string, ports []string) []string {
		if voted {
			return []string{host, ports[0], dir, "voted"}
		}
		return []string{host, ports[0], dir}
	}
	for line := range strings.Lines(alone(t, version, "Heartbeat", arguments)) {
		if text, ok := strings.CutPrefix(line, "STEP "); ok {
			lines = append(lines, strings.TrimSpace(text))
		}
	}
	return lines
}

// alone runs a class of the directory testdata, with two separate ports, and returns its output.
func alone(t *testing.T, version, class string, arguments func(host string, ports []string) []string) string {
	t.Helper()
	java, err := prepare(t.Context(), version)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.ToLower(class)
	if _, err := java.Compile(t.Context(), "ratis-"+name, "", os.DirFS("testdata/"+name)); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	keeper, err := process.NewSupervisor(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = keeper.Close() }()
	var host string
	var ports []string
	for range 2 {
		at, port, _ := net.SplitHostPort(keeper.Port())
		host, ports = at, append(ports, port)
	}
	cmd := java.Command(class, arguments(host, ports)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// cut3 splits a line into the input, the reply, and the state.
func cut3(t *testing.T, line string) (said, answered, state string) {
	parts := strings.Split(line, " | ")
	if len(parts) != 3 {
		t.Fatalf("%q does not have three parts", line)
	}
	return parts[0], parts[1], parts[2]
}

// TestDeadlock shows without Ratis servers what happens to requests that share a client over Netty. In 1.0.0 the
// client's library deadlocks with itself, and in 3.3.0 it abandons all but one of them.
func TestDeadlock(t *testing.T) {
	if !*long {
		t.Skip("shows defects of the client's library and not of ours; -long makes it")
	}
	outside.JVM(t)
	for version, words := range map[string][]string{
		// one waits for the other's loop, the other for the one's lock
		"1.0.0": {"DEADLOCK after ", "NettyRpcProxy$Connection.close", "NettyRpcProxy$Connection.pollReply"},
		"3.3.0": {"RETRIES after ", "THROWN org.apache.ratis.protocol.exceptions.AlreadyClosedException: "},
	} {
		t.Run(version, func(t *testing.T) {
			out := alone(t, version, "Deadlock", func(host string, ports []string) []string {
				return []string{host, ports[0], ports[1], "4", "60"}
			})
			t.Log(out)
			for _, w := range words {
				if !strings.Contains(out, w) {
					t.Errorf("the output does not contain %q", w)
				}
			}
		})
	}
}
