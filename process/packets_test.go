package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/processes"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// lines is the protocol of the echo servers: a line is a packet, whose type is its first word. An empty line is no
// message, and "wrong" violates the protocol.
type lines struct{}

func (lines) Next(data []byte) (Packet, int, error) {
	line, _, whole := bytes.Cut(data, []byte("\n"))
	kind, rest, _ := strings.Cut(string(line), " ")
	switch {
	case !whole:
		return Packet{}, 0, nil
	case kind == "wrong":
		return Packet{}, 0, errors.New("this is wrong")
	}
	height, _ := strconv.ParseInt(rest, 10, 64) // most have none
	return Packet{Type: kind, Text: rest, Progress: height}, len(line) + 1, nil
}

func inLines() (said, answered Decoder) { return lines{}, nil }

// decoded returns a network under control with a link that is decoded in one direction, and a connection through it.
func decoded(t *testing.T, more ...func(*Link)) (*Network, net.Conn) {
	t.Helper()
	s, _, address := supervised(t)
	n, l, via := network(t, Closes, address, s)
	l.Decode(inLines)
	for _, change := range more {
		change(l)
	}
	n.SetControlled(true)
	listens(t, l, true)
	return n, dial(t, via)
}

// comes waits for packets that wait.
func comes(t *testing.T, n *Network) (came []WaitingPacket) {
	t.Helper()
	processes.Until(func() bool {
		more, _, err := n.Poll()
		if err != nil {
			t.Fatal(err)
		}
		came = append(came, more...)
		return len(came) > 0
	})
	return came
}

func write(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := conn.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

// A packet waits for its release, and later packets wait behind it, in order. A packet without a type passes if nothing
// waits before it.
func TestPackets(t *testing.T) {
	n, conn := decoded(t)
	write(t, conn, "\necho o")
	write(t, conn, "ne\necho two\n\necho three\n")
	for i, want := range []string{"one", "two", "three"} {
		came := comes(t, n)
		if len(came) != 1 || came[0].Text != want || came[0].Type != "echo" || came[0].From != 1 || came[0].To != 2 ||
			came[0].Number != i+1 {
			t.Fatalf("%+v, not %s", came, want)
		}
		if n.Deliver(came[0].Number + 1) {
			t.Error("what has not arrived is passed on")
		}
		if err := n.AwaitIdle(t.Context(), time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if more, lost, err := n.Poll(); len(more)+len(lost) > 0 || err != nil {
			t.Fatalf("%v is not alone: %v, %v, %v", came, more, lost, err)
		}
		if !n.Deliver(came[0].Number) || n.Deliver(came[0].Number) {
			t.Error("it does not go on once")
		}
		heard(t, conn, want)
	}
	write(t, conn, "echo four\n")
	comes(t, n)
	n.SetControlled(false)
	heard(t, conn, "four")
	write(t, conn, "echo five\n")
	heard(t, conn, "five")
}

// A packet with more progress than all before waits until the limit is raised. Other packets, and those of
// clients, pass.
func TestHeights(t *testing.T) {
	n, conn := decoded(t)
	n.SetControlled(false)
	write(t, conn, "echo 4\n")
	heard(t, conn, "4")
	for _, higher := range []string{"5", "7"} {
		n.RaiseLimit()
		write(t, conn, "echo 4\n")
		heard(t, conn, "4")
		if risen, err := n.AwaitAboveLimit(t.Context(), time.Millisecond); risen || err != nil {
			t.Fatal(risen, err)
		}
		write(t, conn, "echo "+higher+"\necho 3\n")
		if risen, err := n.AwaitAboveLimit(t.Context(), time.Minute); !risen || err != nil {
			t.Fatal(risen, err)
		}
		if err := conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if k, err := conn.Read(make([]byte, 10)); err == nil {
			t.Fatalf("%d bytes pass", k)
		}
		if err := conn.SetReadDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		n.RaiseLimit()
		heard(t, conn, higher)
		heard(t, conn, "3")
	}
	n.RaiseLimit()
	write(t, conn, "echo 8\n")
	if risen, err := n.AwaitAboveLimit(t.Context(), time.Minute); !risen || err != nil {
		t.Fatal(risen, err)
	}
	n.ClearLimit()
	heard(t, conn, "8")
	n.RaiseLimit()
	write(t, conn, "echo 1\n")
	if risen, err := n.AwaitAboveLimit(t.Context(), time.Minute); !risen || err != nil {
		t.Fatal("what there was is not forgotten", risen, err)
	}
	n.Cut(func(lockstep.Node) lockstep.Nodes { return trace.AllNodes(2) })
	processes.Until(func() bool { _, err := conn.Read(make([]byte, 1)); return err != nil })
}

// A lost packet takes its connection with it, and later packets never arrive.
func TestPacketsBreak(t *testing.T) {
	n, conn := decoded(t)
	write(t, conn, "echo one\necho two\n")
	came := comes(t, n)
	if !n.Drop(came[0].Number) {
		t.Error("it does not wait")
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is not reset")
	}
	processes.Until(func() bool {
		more, lost, err := n.Poll()
		if len(more) > 0 || err != nil {
			t.Fatalf("%v, %v", more, err)
		}
		return slices.Equal(lost, []int{came[0].Number})
	})
	if n.Drop(came[0].Number) || n.Deliver(came[0].Number) {
		t.Error("it still waits")
	}
}

// Where a cut swallows, packets that cross it are lost one by one, waiting or not. Packets without a type pass, and the
// connection continues.
func TestPacketsSwallowed(t *testing.T) {
	s, _, address := supervised(t)
	n, l, via := network(t, Swallows, address, s)
	l.Decode(inLines)
	listens(t, l, true)
	conn := dial(t, via)
	write(t, conn, "echo one\n")
	heard(t, conn, "one")
	cut := func(from lockstep.Node) lockstep.Nodes {
		if from == 1 {
			return trace.NodesOf(2)
		}
		return 0
	}
	n.Cut(cut)
	write(t, conn, "echo two\n\necho three\n")
	if !silent(conn) || l.Connections() != 1 {
		t.Errorf("swallowed packets arrive, or their connection ends: %d connections", l.Connections())
	}
	n.Cut(NoCuts)
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	write(t, conn, "echo four\n")
	heard(t, conn, "four")
	n.SetControlled(true)
	write(t, conn, "echo five\necho six\n")
	if came := comes(t, n); !n.Drop(came[0].Number) {
		t.Error("a waiting packet is not lost")
	}
	if came := comes(t, n); came[0].Text != "six" || !n.Deliver(came[0].Number) {
		t.Errorf("behind a lost packet comes %+v", came)
	}
	heard(t, conn, "six")
}

// Independent packets pass in any order, and a lost packet takes nothing with it. A packet without a type overtakes
// waiting ones.
func TestPacketsLoose(t *testing.T) {
	n, conn := decoded(t, (*Link).SetUnordered)
	write(t, conn, "echo one\necho two\n\necho three\necho four\n")
	var came []WaitingPacket
	for len(came) < 4 {
		came = append(came, comes(t, n)...)
	}
	if n.Waiting() != 4 {
		t.Errorf("%d wait", n.Waiting())
	}
	for _, i := range []int{2, 1} {
		if !n.Deliver(came[i].Number) || n.Drop(came[i].Number) {
			t.Error("it does not go on once")
		}
		heard(t, conn, came[i].Text)
	}
	if !n.Drop(came[0].Number) || n.Deliver(came[0].Number) {
		t.Error("it is not lost once")
	}
	n.SetControlled(false)
	heard(t, conn, "four")
	write(t, conn, "echo five\n")
	heard(t, conn, "five")
	if more, lost, err := n.Poll(); len(more)+len(lost)+n.Waiting() > 0 || err != nil {
		t.Errorf("%v, %v, %v", more, lost, err)
	}
}

// If the connection of packets that wait aside ends, they are lost with it.
func TestPacketsLooseEnd(t *testing.T) {
	n, conn := decoded(t, (*Link).SetUnordered)
	write(t, conn, "echo one\necho two\n")
	for came := 0; came < 2; {
		came += len(comes(t, n))
	}
	n.SetOffline(2, true)
	var lost []int
	processes.Until(func() bool {
		_, more, err := n.Poll()
		if err != nil {
			t.Fatal(err)
		}
		lost = append(lost, more...)
		return len(lost) == 2
	})
	if n.Waiting() > 0 || n.Deliver(1) {
		t.Error("they still wait")
	}
}

// A detached packet is carried on request, any number of times, on the newest connection; so is a forged one.
func TestPacketsDetached(t *testing.T) {
	var link *Link
	n, conn := decoded(t, (*Link).SetDetached, func(l *Link) { link = l })
	write(t, conn, "echo one\necho two\n")
	var came []WaitingPacket
	for len(came) < 2 {
		came = append(came, comes(t, n)...)
	}
	one, two := came[0].Number, came[1].Number
	if got := string(n.Data(one)) + string(n.Data(two)); got != "echo one\necho two\n" || n.Data(99) != nil {
		t.Errorf("%q", got)
	}
	for _, c := range []struct {
		number int
		want   string
	}{{two, "two"}, {one, "one"}, {one, "one"}} {
		if !n.Deliver(c.number) || !n.Drop(c.number) {
			t.Errorf("%s is lost", c.want)
		}
		heard(t, conn, c.want)
	}
	n.SetOffline(1, true)
	if n.Deliver(one) {
		t.Error("a packet is carried without a connection")
	}
	n.SetOffline(1, false)
	listens(t, link, true)
	again := dial(t, link.listen)
	processes.Until(func() bool { return n.Deliver(one) })
	heard(t, again, "one")
	forged, err := n.Forge(1, 2, []byte("echo three\n"))
	if err != nil || !n.Deliver(forged) {
		t.Error(err)
	}
	heard(t, again, "three")
	if _, err := n.Forge(1, 1, nil); err == nil || err.Error() != "process: no link between nodes 1 and 1" {
		t.Error(err)
	}
	if _, lost, err := n.Poll(); len(lost) > 0 || err != nil {
		t.Errorf("%v, %v", lost, err)
	}
	n.SetControlled(false)
	if n.Waiting() > 0 || n.Data(one) != nil {
		t.Error("they still wait")
	}
}

// A stream that a decoder does not understand ends the connection and is reported.
func TestPacketsConfused(t *testing.T) {
	n, conn := decoded(t)
	write(t, conn, "wrong\n")
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is not reset")
	}
	if _, _, err := n.Poll(); err == nil || !strings.Contains(err.Error(), "what node 1 sends to 2: this is wrong") {
		t.Error(err)
	}
}

// A node that is gone has no connections until it is back, whatever the effect of a cut.
func TestGone(t *testing.T) {
	s, _, address := supervised(t)
	n, l, via := network(t, Stalls, address, s)
	for _, node := range []lockstep.Node{1, 2} {
		listens(t, l, true)
		conn := dial(t, via)
		said(t, conn, "before")
		n.SetOffline(node, true)
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Error("the connection is not reset")
		}
		listens(t, l, false)
		n.SetOffline(node, false)
	}
	listens(t, l, true)
	said(t, dial(t, via), "after")
}

// An early link accepts connections while the server listens elsewhere, and waits for the server.
func TestEarly(t *testing.T) {
	s, _, beside := supervised(t)
	target := s.Port()
	_, l, via := network(t, Closes, target, s)
	if err := l.AcceptEarly("192.0.2.1:1", time.Hour); err == nil ||
		!strings.Contains(err.Error(), "not on the loopback") {
		t.Error(err)
	}
	listens(t, l, false)
	if err := l.AcceptEarly(beside, time.Hour); err != nil {
		t.Fatal(err)
	}
	listens(t, l, true)
	conn := dial(t, via)
	write(t, conn, "echo early\n")
	late, err := s.Server("late")
	if err != nil {
		t.Fatal(err)
	}
	begin(t, late, target)
	heard(t, conn, "early")
	late.Kill()
	if err := l.AcceptEarly(beside, 0); err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", via); err == nil { // otherwise the link refused the connection while it opened
		defer conn.Close()
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Error("the timeout has no end")
		}
	}
}

// lettered is a system of echo servers whose requests to each other are messages of the engine.
var lettered = System{
	Name:         "letters",
	Nodes:        3,
	Pace:         time.Millisecond,
	StartTimeout: time.Minute,
	Messages:     true,
	Types:        []string{"line"},
	Events:       []string{"fate"},
	New: func(_ context.Context, c *Deployment) (Driver, error) {
		d, err := newEchoing(c)
		if err != nil {
			return Driver{}, err
		}
		for _, link := range c.Network.links {
			link.Decode(inLines)
		}
		driver := d.driver()
		driver.Before = func(s *lockstep.Step, out *lockstep.Outbox) {
			if s.Kind == trace.Deliver || s.Kind == trace.Drop {
				out.Event(lockstep.Event{Node: out.Message(s.Msg).From, Type: "fate", Text: fmt.Sprint(s.Kind)})
			}
		}
		// The answer comes when the request was delivered.
		driver.Request = func(ctx context.Context, s *lockstep.Step, _ *lockstep.Outbox) error {
			if err := d.up(ctx); err != nil {
				return err
			}
			conn, err := net.Dial("tcp", d.real[s.Node-1])
			if err != nil {
				return Inconclusive(err)
			}
			fmt.Fprintf(conn, "dial %s echo hello\n", d.via[s.Node%3])
			context.AfterFunc(ctx, func() { conn.Close() })
			return d.Network.AwaitIdle(ctx, 30*time.Millisecond)
		}
		driver.Quiesce = func(ctx context.Context, _ *lockstep.Step) error {
			return d.Network.AwaitIdle(ctx, time.Millisecond)
		}
		return driver, nil
	},
}

// Packets are messages of the engine: sent, delivered, dropped, and lost with a crash or a cut.
func TestLight(t *testing.T) {
	tier.NotShort(t)
	seen := map[string]int{}
	plan := lockstep.Plan{
		System:  lettered,
		Workers: 1,
		Runs:    6,
		Scratch: t.TempDir(),
		Spec: spec.OnEvent("any", "fate", func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
			seen[e.Text]++
			return nil
		}),
		Strategy: strategy.Walk{Request: 3, Deliver: 2, Drop: 1, Crash: 1, Restart: 1, Cut: 1, Heal: 1, Steps: 12},
	}
	result, err := lockstep.Explore(t.Context(), plan)
	if err != nil || result.Verdict() != trace.Pass {
		t.Fatalf("%v, %v, %v", result.Verdicts, result.Reasons, err)
	}
	if seen["deliver"] == 0 || seen["drop"] == 0 {
		t.Errorf("%v", seen)
	}
}
