package cassandra

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/servertest"
	"github.com/lockstep-go/lockstep/process"
)

const ringOne, ringTwo = "127.9.9.1", "127.9.9.2"

// greeting returns the first part of a server's handshake, with flags.
func greeting(flags uint32, from string) []byte {
	b := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, magic), flags)
	return append(binary.BigEndian.AppendUint32(b, 7), place(from)...)
}

// place returns an address as it is on the wire.
func place(address string) []byte {
	b := []byte{4, 0, 0, 0, 0}
	_, _ = fmt.Sscanf(address, "%d.%d.%d.%d", &b[1], &b[2], &b[3], &b[4])
	return b
}

// said returns a message, with parameters as names and values.
func said(from string, number, verb uint32, payload string, params ...string) []byte {
	b := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, magic), number)
	b = append(binary.BigEndian.AppendUint32(b, 99), place(from)...)
	b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, verb), uint32(len(params)/2))
	for i, p := range params {
		if i%2 == 0 {
			b = binary.BigEndian.AppendUint16(b, uint16(len(p)))
		} else {
			b = binary.BigEndian.AppendUint32(b, uint32(len(p)))
		}
		b = append(b, p...)
	}
	return append(binary.BigEndian.AppendUint32(b, uint32(len(payload))), payload...)
}

// commit returns the payload of a prepare, proposal or commit: a row, a ballot and an update.
func commit(row string, id byte, update string) string {
	return string(binary.BigEndian.AppendUint16(nil, uint16(len(row)))) + row +
		strings.Repeat(string([]byte{id}), 16) + update
}

func started() *tracker {
	b := &tracker{}
	b.begin("run1")
	return b
}

// follow passes a stream to the decoder of a server's connections in pieces.
func follow(t *testing.T, b *tracker, to string, stream []byte,
	piece int) (packets []process.Packet, rest int, wrong error) {
	t.Helper()
	d, _ := b.protocol(to)()
	return servertest.Follow(t, d, stream, piece)
}

func words(packets []process.Packet) string {
	var all []string
	for _, p := range packets {
		all = append(all, fmt.Sprintf("%s %s {%d %d}", p.Type, p.Text, p.Tag.Phase, p.Tag.Round))
	}
	return strings.Join(all, ";")
}

// Any split of a stream yields the same messages: those of Paxos about the run's row, and their responses. Ballots are
// in the order of preparation. Gossip, reads, other rows and responses to other requests yield none.
func TestProtocol(t *testing.T) {
	asking := bytes.Join([][]byte{
		greeting(7<<8, ringOne),
		said(ringOne, 1, 14, "syn"),
		said(ringOne, 2, 33, commit("run1", 5, "")),
		said(ringOne, 3, 3, "read", "TRACE", "key", "", ""),
		said(ringOne, 4, 34, commit("run1", 5, "update")),
		said(ringOne, 5, 35, commit("run0", 5, "update")),
		said(ringOne, 6, 35, commit("run1", 5, "update")),
		said(ringOne, 7, 33, commit("run1", 9, "")),
		said(ringOne, 8, 33, "\x00"),
		said(ringOne, 9, 34, commit("run1", 5, "update")),
	}, nil)
	answering := bytes.Join([][]byte{
		greeting(7<<8, ringTwo),
		said(ringTwo, 2, 4, "\x01"+commit("run1", 5, "")),
		said(ringTwo, 3, 4, "data"),
		said(ringTwo, 4, 4, "\x00"),
		said(ringTwo, 6, 4, ""),
		said(ringTwo, 6, 4, ""),
		said(ringTwo, 7, 4, "\x01"+commit("run1", 5, "update")),
	}, nil)
	for piece := range len(asking) {
		b := started()
		asked, rest, err := follow(t, b, ringTwo, asking, piece+1)
		want := "PREPARE ballot 1 {1 0};PROPOSE ballot 1 {1 2};COMMIT ballot 1 {1 4};PREPARE ballot 2 {2 0};PROPOSE " +
			"ballot 2, with ballot 1 {2 2}"
		if got := words(asked); got != want || rest != 0 || err != nil {
			t.Fatalf("in pieces of %d: %s, %d bytes are left, %v", piece+1, got, rest, err)
		}
		answered, rest, err := follow(t, b, ringOne, answering, piece+1)
		want = "PREPARE_RESPONSE ballot 1, yes {1 1};PROPOSE_RESPONSE ballot 1, no {1 3};COMMIT_RESPONSE ballot 1 {1 " +
			"5};PREPARE_RESPONSE ballot 2, yes, in progress is that of ballot 1 {2 1}"
		if got := words(answered); got != want || rest != 0 || err != nil {
			t.Fatalf("in pieces of %d: %s, %d bytes are left, %v", piece+1, got, rest, err)
		}
	}
	if packets, _, err := follow(t, started(), ringTwo, append(greeting(7<<8|streaming, ringOne), "anything"...),
		3); len(packets) > 0 || err != nil {
		t.Errorf("a stream of data: %v, %v", packets, err)
	}
}

// The first part of a handshake passes alone: the rest comes only after the response, and no other connection is
// accepted meanwhile.
func TestGreeting(t *testing.T) {
	d, answers := started().protocol(ringTwo)()
	hello := greeting(7<<8, ringOne)
	if _, n, err := d.Next(hello[:8]); n != 8 || err != nil || answers != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if _, n, err := d.Next(hello[8:]); n != 9 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestWrongProtocol(t *testing.T) {
	hello := greeting(7<<8, ringOne)
	for name, wrong := range map[string][]byte{
		"0x1020304 in place of the magic number": {1, 2, 3, 4},
		"a connection that is compressed":        greeting(7<<8|squeezed, ringOne),
		"an address of 7 bytes":                  append(hello[:12:12], 7),
		"port, 16777216 bytes":                   append(hello, append(said(ringOne, 1, 3, "")[:25], 1, 0, 0, 0)...),
		"port, 101 parameters":                   append(hello, append(said(ringOne, 1, 3, "")[:21], 0, 0, 0, 101)...),
		"port, an address of 9 bytes":            append(hello, append(said(ringOne, 1, 3, "")[:12], 9)...),
	} {
		if _, _, err := follow(t, started(), ringTwo, wrong, len(wrong)); err == nil ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A round is whole when it was sent to all others.
func TestWhole(t *testing.T) {
	b := started()
	if whole, answers := b.whole(); !whole || answers != 0 {
		t.Error(whole, answers)
	}
	from := [4]byte{127, 9, 9, 1}
	for i, want := range []bool{false, true, false, true} {
		b.packet(message{from: from, number: uint32(i), verb: 33 + uint64(i/2), payload: []byte(commit("run1", 5, ""))})
		if whole, _ := b.whole(); whole != want {
			t.Errorf("after %d: %t", i+1, whole)
		}
	}
	b.packet(message{to: from, number: 2, verb: 4, payload: []byte{1}})
	b.packet(message{to: from, number: 2, verb: 4, payload: []byte{1}}) // no request is pending
	if _, answers := b.whole(); answers != 1 {
		t.Errorf("%d answers", answers)
	}
}

// For any input, the decoder consumes only bytes that exist, and requests more only if more could help. A stream that
// arrives at once and one that arrives in pieces yield the same packets.
func FuzzProtocol(f *testing.F) {
	f.Add(append(greeting(7<<8, ringOne), said(ringOne, 1, 33, commit("run1", 5, ""), "a", "b")...), 3)
	f.Add(append(greeting(7<<8, ringTwo), said(ringTwo, 1, 4, "\x01")...), 5)
	f.Add(greeting(streaming, ringOne), 1)
	f.Fuzz(func(t *testing.T, stream []byte, piece int) {
		whole, _, wrong := follow(t, started(), ringTwo, stream, len(stream))
		parts, _, again := follow(t, started(), ringTwo, stream, max(1, min(piece, 1<<16)))
		if words(whole) != words(parts) || (wrong == nil) != (again == nil) {
			t.Fatalf("%s, %v; in pieces of %d: %s, %v", words(whole), wrong, piece, words(parts), again)
		}
	})
}

// Server responses are parsed as rows of texts and booleans, and never trusted.
func TestResult(t *testing.T) {
	text := func(s string) string { return string(binary.BigEndian.AppendUint16(nil, uint16(len(s)))) + s }
	rows := "\x00\x00\x00\x02" + "\x00\x00\x00\x01" + "\x00\x00\x00\x02" + text("lockstep") + text("tests") +
		text("[applied]") + "\x00\x04" + text("value_1") + "\x00\x0d" +
		"\x00\x00\x00\x02" + "\x00\x00\x00\x01\x01" + "\x00\x00\x00\x01A" + "\x00\x00\x00\x01\x00" + "\xff\xff\xff\xff"
	got, err := result([]byte(rows))
	if fmt.Sprint(got) != "[map[[applied]:true value_1:A] map[[applied]:false]]" || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	for n := 4; n < len(rows); n++ {
		if got, err := result([]byte(rows[:n])); err == nil {
			t.Errorf("%d bytes: %v", n, got)
		}
	}
	if got, err := result([]byte("\x00\x00\x00\x01")); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := result([]byte(strings.Replace(rows, "\x00\x0d", "\x00\x09", 1))); err == nil ||
		!strings.Contains(err.Error(), "column value_1 is of type 0x9") {
		t.Error(err)
	}
}

// A client distinguishes a transaction that was decided from one that may have been.
func TestComplaint(t *testing.T) {
	for kind, want := range map[string]bool{"SIMPLE": true, "CAS": false} {
		body := "\x00\x00\x11\x00\x00\x04late\x00\x04\x00\x00\x00\x01\x00\x00\x00\x02" +
			string([]byte{0, byte(len(kind))}) + kind
		if c := complaint([]byte(body)); c.decided() != want || c.Error() != "late (0x1100)" || c.kind != kind {
			t.Errorf("%+v", c)
		}
	}
	if c := complaint([]byte("\x00\x00\x10\x00\x00\x04gone")); c.decided() || c.text != "gone" {
		t.Errorf("%+v", c)
	}
}
