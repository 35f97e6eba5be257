package bftsmart

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/trace"
)

// serialize returns an Externalizable object as Java writes it: of a subclass of SystemMessage, with data in blocks of
// a size.
func serialize(class string, data []byte, size int) []byte {
	out := []byte(serialized)
	out = append(out, objectMark)
	for _, name := range []string{class, "bftsmart.communication.SystemMessage"} {
		out = append(out, classMark)
		out = binary.BigEndian.AppendUint16(out, uint16(len(name)))
		out = append(append(out, name...), 1, 2, 3, 4, 5, 6, 7, 8, 0x0c, 0, 0, endMark)
	}
	out = append(out, noClass)
	for piece := range slices.Chunk(data, size) {
		if len(piece) < 256 {
			out = append(out, blockMark, byte(len(piece)))
		} else {
			out = binary.BigEndian.AppendUint32(append(out, longBlockMark), uint32(len(piece)))
		}
		out = append(out, piece...)
	}
	return append(out, noClass, endMark)
}

const (
	consensusClass = "bftsmart.consensus.messages.ConsensusMessage"
	changeClass    = "bftsmart.tom.leaderchange.LCMessage"
)

// vote returns the data of a consensus message.
func vote(sender, number, epoch, kind int, value string) []byte {
	var data []byte
	for _, n := range []int{sender, number, epoch, kind, len(value)} {
		data = binary.BigEndian.AppendUint32(data, uint32(n))
	}
	return append(append(data, value...), 0)
}

func TestDecode(t *testing.T) {
	long := strings.Repeat("x", 3000)
	change := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte{0, 0, 0, 1}, 3), 7)
	for want, body := range map[string][]byte{
		"WRITE sender=4 consensus=2 epoch=1 value=6162": serialize(consensusClass, vote(3, 2, 1, propose+1, "ab"),
			1024),
		"ACCEPT sender=1 consensus=0 epoch=0 value=": serialize(consensusClass, vote(0, 0, 0, propose+2, ""), 1024),
		"PROPOSE sender=1 consensus=0 epoch=0 value=" + strings.Repeat("78", len(long)): serialize(consensusClass,
			vote(0, 0, 0, propose, long), 1024),
		"STOP sender=2 epoch=7": serialize(changeClass, change, 1024),
		"ForwardedMessage sender=3 epoch=0": serialize("bftsmart.tom.core.messages.ForwardedMessage",
			[]byte{0, 0, 0, 2, 9}, 1024),
	} {
		m, err := Decode(body)
		if err != nil || m.String() != want {
			t.Errorf("%v, %v instead of %s", m, err, want)
		}
	}
}

// A forged vote has another value and is otherwise unchanged; an impossible forgery is refused.
func TestForge(t *testing.T) {
	original := serialize(consensusClass, vote(3, 2, 1, propose+1, "ab"), 1024)
	forged, m, err := forge(original, "WRITE sender=4 consensus=2 epoch=1 value=7a7a")
	if err != nil || string(m.Value) != "zz" ||
		!bytes.Equal(forged, serialize(consensusClass, vote(3, 2, 1, propose+1, "zz"), 1024)) {
		t.Errorf("%v, %v", m, err)
	}
	for text, want := range map[string]string{
		"WRITE sender=4 consensus=2 epoch=1 value=7a":    "a value of 2 bytes",
		"WRITE sender=4 consensus=2 epoch=1 value=7a7":   "an even number",
		"ACCEPT sender=4 consensus=2 epoch=1 value=7a7a": "can only become WRITE sender=4",
		"nonsense": "can only become WRITE sender=4",
	} {
		if _, _, err := forge(original, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v does not contain %q", text, err, want)
		}
	}
	pieces := serialize(consensusClass, vote(0, 0, 0, propose, strings.Repeat("x", 3000)), 1024)
	if _, _, err := forge(pieces,
		"PROPOSE sender=1 consensus=0 epoch=0 value="+strings.Repeat("7a", 3000)); err == nil ||
		!strings.Contains(err.Error(), "not in one piece") {
		t.Error(err)
	}
}

// A message is forged from the last one with the same text.
func TestOriginal(t *testing.T) {
	bodies := [][]byte{
		serialize(consensusClass, vote(3, 2, 1, propose+1, "ab"), 1024),
		serialize(consensusClass, vote(3, 2, 1, propose+1, "cd"), 1024),
		serialize(consensusClass, vote(3, 2, 0, propose+1, "ef"), 1024),
		[]byte("nonsense"),
	}
	at := func(id trace.ID) []byte { return bodies[id-1] }
	if got := original("WRITE sender=4 consensus=2 epoch=1 value=00", 5, at); !bytes.Equal(got, bodies[1]) {
		t.Errorf("%q", got)
	}
	if got := original("ACCEPT sender=4 consensus=2 epoch=1 value=00", 5, at); got != nil {
		t.Errorf("%q", got)
	}
}

// Any data on the wire is decoded or refused.
func FuzzDecode(f *testing.F) {
	f.Add(serialize(consensusClass, vote(3, 2, 1, propose+1, "ab"), 1024))
	f.Add(serialize(changeClass, []byte{0, 0, 0, 1, 0, 0, 0, 3}, 4))
	f.Add([]byte(serialized))
	f.Fuzz(func(_ *testing.T, body []byte) {
		m, err := Decode(body)
		if err == nil {
			_, _, _ = forge(body, m.String())
		}
	})
}
