package zookeeper

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/internal/testkit/servertest"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// packet returns a packet of the quorum port, with data and identities.
func packet(kind uint32, zxid uint64, data string, ids ...string) []byte {
	b := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(nil, kind), zxid)
	field := func(text string) {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(text))), text...)
	}
	if data == "" {
		b = binary.BigEndian.AppendUint32(b, 1<<32-1) // none
	} else {
		field(data)
	}
	if len(ids) == 0 {
		return binary.BigEndian.AppendUint32(b, 1<<32-1)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(ids)/2))
	for _, w := range ids {
		field(w)
	}
	return b
}

// vote returns a notification, with further bytes after the vote.
func vote(state uint32, leader, zxid, epoch uint64, more int) []byte {
	b := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(28+more)), state)
	for _, n := range []uint64{leader, zxid, epoch} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return append(b, make([]byte, more)...)
}

// Any split of a stream yields the same packets; a snapshot and heartbeats yield none.
func TestQuorum(t *testing.T) {
	snapshot := bytes.Repeat([]byte("\x00\x00\x00\x0aBenWasHer-\x00\x00"), 9)
	stream := bytes.Join([][]byte{
		packet(17, 7<<32, "\x00\x00\x00\x07"),
		packet(15, 6<<32|5, ""),
		snapshot,
		signature,
		packet(10, 7<<32, ""),
		packet(5, 0, "data", "ip", "127.0.0.1", "world", "anyone"),
		packet(2, 7<<32|1, "txn"),
		packet(4, 7<<32|1, ""),
	}, nil)
	want := "LEADERINFO zxid=0x700000000 {28672 1};SNAP zxid=0x600000005 {24576 2};NEWLEADER zxid=0x700000000 " +
		"{28672 2};PROPOSAL zxid=0x700000001 {28673 3};COMMIT zxid=0x700000001 {28673 5}"
	for piece := range len(stream) {
		packets, rest, err := follow(t, Quorum, stream, piece+1)
		if got := words(packets); got != want || rest != 0 || err != nil {
			t.Fatalf("in pieces of %d: %s, %d bytes are left, %v", piece+1, got, rest, err)
		}
	}
	for name, wrong := range map[string][]byte{
		"there is no packet 77":    packet(77, 1, ""),
		"packet 2: 16777216 bytes": append(packet(2, 1, "")[:12], 1, 0, 0, 0),
		"packet 2: -2 bytes":       append(packet(2, 1, "")[:12], 255, 255, 255, 254),
		"packet 3: 101 identities": append(packet(3, 1, "")[:16], 0, 0, 0, 101),
	} {
		d, _ := Quorum()
		if _, n, err := d.Next(wrong); err == nil || n != 0 || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
}

func words(packets []process.Packet) string {
	var all []string
	for _, p := range packets {
		all = append(all, fmt.Sprintf("%s %s {%d %d}", p.Type, p.Text, p.Tag.Phase, p.Tag.Round))
	}
	return strings.Join(all, ";")
}

func TestElection(t *testing.T) {
	stream := bytes.Join([][]byte{vote(0, 3, 1<<32|2, 4, 0), vote(2, 1<<64-1, 0, 1<<64-1, 12), vote(9, 1, 0, 1, 300)},
		nil)
	want := "Notification LOOKING leader=3 zxid=0x100000002 round=4 {4096 0};Notification LEADING leader=-1 " +
		"zxid=0x0 round=-1 {0 0};Notification 9 leader=1 zxid=0x0 round=1 {0 0}"
	for piece := range len(stream) {
		packets, rest, err := follow(t, Election, stream, piece+1)
		if got := words(packets); got != want || rest != 0 || err != nil {
			t.Fatalf("in pieces of %d: %s, %d bytes are left, %v", piece+1, got, rest, err)
		}
	}
	for _, wrong := range [][]byte{{0, 0, 0, 27}, {0, 8, 0, 1}, {255, 255, 255, 255}} {
		d, _ := Election()
		if _, n, err := d.Next(wrong); err == nil || n != 0 {
			t.Errorf("%v: %d, %v", wrong, n, err)
		}
	}
}

// For any input, a decoder consumes only bytes that exist, and requests more only if more could help. A stream that
// arrives at once and one that arrives in pieces yield the same packets.
func FuzzDecoders(f *testing.F) {
	f.Add(packet(2, 7<<32|1, "txn", "ip", "me"), 3)
	f.Add(append(append(packet(15, 1, ""), "snapshot"...), signature...), 5)
	f.Add(vote(0, 3, 1<<32|2, 4, 20), 7)
	f.Add([]byte{0, 0, 0, 2, 255, 255}, 1)
	f.Fuzz(func(t *testing.T, stream []byte, piece int) {
		for _, protocol := range []process.Protocol{Quorum, Election} {
			whole, _, wrong := follow(t, protocol, stream, len(stream))
			parts, _, again := follow(t, protocol, stream, max(1, min(piece, 1<<16)))
			if words(whole) != words(parts) || (wrong == nil) != (again == nil) {
				t.Fatalf("%s, %v; in pieces of %d: %s, %v", words(whole), wrong, piece, words(parts), again)
			}
		}
	})
}

// follow passes a stream to a decoder of a protocol in pieces.
func follow(t *testing.T, protocol process.Protocol, stream []byte,
	piece int) (packets []process.Packet, rest int, wrong error) {
	t.Helper()
	d, _ := protocol()
	return servertest.Follow(t, d, stream, piece)
}

// A proposal of unmodified servers is held while time passes, and the write completes only after its delivery and
// acknowledgement.
func TestHeldProposal(t *testing.T) {
	outside.JVM(t)
	sc := scenario.New("a proposal comes late")
	waits := scenario.Count("waits")
	sc.If(scenario.IsSend(), scenario.Type("PROPOSAL")).Then(scenario.Store("late"))
	sc.If(scenario.Did(trace.Wait), waits.Lt(5)).Then(waits.Incr())
	sc.If(scenario.Did(trace.Wait), waits.Ge(5)).Then(scenario.DeliverAll("late"))
	plan := lockstep.Plan{
		System:   Cluster{Light: true, Harness: "3:k0=5", StartTimeout: 5 * time.Minute},
		Spec:     Properties,
		Settle:   Settle,
		Workers:  1,
		Scratch:  t.TempDir(),
		Runs:     1,
		Scenario: sc,
		Strategy: strategy.Walk{Deliver: 20, Request: 20, Wait: 1, Steps: 60},
	}
	tr, err := lockstep.Record(t.Context(), plan, 0)
	if err != nil {
		t.Fatal(err)
	}
	sent, delivered, acknowledged, done := place(tr, "PROPOSAL")
	if sent < 0 || delivered <= sent+1 || acknowledged < delivered || done < acknowledged ||
		tr.Outcome.Verdict != trace.Pass {
		t.Errorf("sent in step %d, delivered in %d, acknowledged in %d, done in %d: %+v", sent, delivered, acknowledged,
			done, tr.Outcome)
	}
}

// A dropped notification takes its connection with it, and servers nevertheless agree when messages are delivered
// again.
func TestDroppedMessages(t *testing.T) {
	outside.JVM(t)
	plan := lockstep.Plan{
		System:   Cluster{Light: true, Harness: "3:k0=5; 1:k1=7", StartTimeout: 5 * time.Minute},
		Spec:     Properties,
		Settle:   Settle,
		Workers:  1,
		Scratch:  t.TempDir(),
		Runs:     1,
		Strategy: strategy.Walk{Deliver: 20, Drop: 2, Request: 20, Wait: 1, Steps: 60},
	}
	if *long {
		plan.Runs = 20
	}
	agrees(t, plan)
}

// place returns four steps, or -1 for none: the first message of a type was sent, the first was delivered, the first
// later ACK was sent, and the first answer was received.
func place(tr *trace.Trace, kind string) (sent, delivered, acknowledged, done int) {
	sent, delivered, acknowledged, done = -1, -1, -1, -1
	first := func(at *int, i int) {
		if *at < 0 {
			*at = i
		}
	}
	for i, r := range tr.Records {
		if m, ok := tr.Message(r.Step.Msg); ok && r.Step.Kind == trace.Deliver && m.Type == kind {
			first(&delivered, i)
		}
		for _, m := range r.Sent {
			switch {
			case m.Type == kind:
				first(&sent, i)
			case m.Type == "ACK" && delivered >= 0:
				first(&acknowledged, i)
			}
		}
		for _, e := range r.Events {
			if e.Type == spec.EventReturn {
				first(&done, i)
			}
		}
	}
	return sent, delivered, acknowledged, done
}
