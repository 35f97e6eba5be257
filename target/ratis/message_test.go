package ratis

import (
	"bytes"
	"encoding/binary"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	lockstephttp2 "github.com/lockstep-go/lockstep/internal/http2"
	"github.com/lockstep-go/lockstep/internal/testkit/servertest"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/trace"
)

// num and msg append a field to a protobuf message.
func num(field int, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, uint64(field)<<3), v)
}

func msg(field int, parts ...[]byte) []byte {
	body := bytes.Join(parts, nil)
	return append(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(field)<<3|2), uint64(len(body))), body...)
}

const minusOne = 1<<64 - 1

// The bodies of messages, as servers write them, and the expected packets.
var bodies = []struct {
	method string
	said   bool
	number int // at the Netty port
	body   []byte
	want   process.Packet
}{
	{
		"requestVote",
		true,
		1,
		bytes.Join([][]byte{msg(1, msg(1, []byte("n1"))), num(2, 7), msg(3, num(1, 6), num(2, 4))}, nil),
		process.Packet{Type: "RequestVote", Tag: trace.Tag{Phase: 7}, Progress: 5, Text: "term=7 last=6:4"},
	},
	{"requestVote", true, 1, bytes.Join([][]byte{num(2, 1), num(4, 1)}, nil),
		process.Packet{Type: "RequestVote", Tag: trace.Tag{Phase: 1}, Text: "term=1 last=-1:-1 pre-vote"}},
	{"requestVote", false, 1, bytes.Join([][]byte{msg(1, num(15, 1)), num(2, 7)}, nil),
		process.Packet{Type: "RequestVoteReply", Tag: trace.Tag{Phase: 7, Round: 1}, Text: "term=7 granted=true"}},
	{
		"appendEntries",
		true,
		2,
		bytes.Join(
			[][]byte{msg(1), num(2, 7), msg(3, num(1, 6), num(2, 4)), msg(4, num(2, 5)), msg(4, num(2, 6)), num(5, 4)},
			nil),
		process.Packet{
			Type:     "AppendEntries",
			Tag:      trace.Tag{Phase: 7, Round: 2},
			Progress: 5,
			Text:     "term=7 previous=6:4 entries=2 commit=4",
		},
	},
	{"appendEntries", true, 2, bytes.Join([][]byte{num(2, 7), num(5, minusOne)}, nil),
		process.Packet{
			Type: "AppendEntries",
			Tag:  trace.Tag{Phase: 7, Round: 2},
			Text: "term=7 previous=-1:-1 entries=0 commit=-1",
		}},
	{"appendEntries", false, 2, bytes.Join([][]byte{msg(1), num(2, 7), num(3, 9), num(4, 2), num(5, 8)}, nil),
		process.Packet{
			Type:     "AppendEntriesReply",
			Tag:      trace.Tag{Phase: 7, Round: 3},
			Progress: 9,
			Text:     "term=7 INCONSISTENCY next=9 commit=8",
		}},
	{
		"installSnapshot",
		true,
		3,
		num(2, 7),
		process.Packet{Type: "InstallSnapshot", Tag: trace.Tag{Phase: 7, Round: 2}, Text: "term=7"},
	},
	{
		"installSnapshot",
		false,
		3,
		num(2, 7),
		process.Packet{Type: "InstallSnapshotReply", Tag: trace.Tag{Phase: 7, Round: 3}, Text: "term=7"},
	},
}

// follow decodes a direction piece by piece, to its end.
func follow(t *testing.T, d process.Decoder, data []byte, piece int) []process.Packet {
	t.Helper()
	all, rest, err := servertest.Follow(t, d, data, piece)
	if err != nil || rest > 0 {
		t.Fatalf("%v, %d bytes are left", err, rest)
	}
	return all
}

func TestNetty(t *testing.T) {
	framed := func(body []byte) []byte { return append(binary.AppendUvarint(nil, uint64(len(body))), body...) }
	for _, piece := range []int{1, 3, 1000} {
		for _, c := range bodies {
			said, answered := Netty()
			d := answered
			if c.said {
				d = said
			}
			data := append(framed(msg(4, []byte("a client's"))), framed(msg(c.number, c.body))...)
			if got := follow(t, d, data, piece); len(got) != 1 || got[0] != c.want {
				t.Errorf("%s in pieces of %d: %+v, want %+v", c.method, piece, got, c.want)
			}
		}
	}
	for _, bad := range []string{
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		"\xff\xff\xff\x7f",
		"\x02\x0a\x7f",
		"\x02\x0f\x00",
		"\x02\x00\x00",
		"\x04\x0a\x02\x08\x80",
	} {
		said, _ := Netty()
		if p, n, err := said.Next([]byte(bad)); err == nil {
			t.Errorf("%q is %+v of %d bytes", bad, p, n)
		}
	}
}

// spoken returns the streams of a gRPC client and server, as Go's own library writes them. They contain a client call,
// calls between servers, and headers that refer to earlier ones. Messages are split or share a frame, frames have
// padding, and one header spans two frames.
func spoken(t *testing.T) (said, answered []byte) {
	t.Helper()
	var to, back bytes.Buffer
	to.WriteString(http2.ClientPreface)
	client, server := http2.NewFramer(&to, nil), http2.NewFramer(&back, nil)
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	stream := uint32(1)
	call := func(path string, request, reply [][]byte) {
		block.Reset()
		for _, f := range []hpack.HeaderField{
			{Name: ":method", Value: "POST"},
			{Name: ":path", Value: path},
			{Name: "te", Value: "trailers"},
		} {
			must(encoder.WriteField(f))
		}
		half := block.Len() / 2
		must(
			client.WriteHeaders(
				http2.HeadersFrameParam{
					StreamID:      stream,
					BlockFragment: block.Bytes()[:half],
					PadLength:     3,
					Priority:      http2.PriorityParam{Weight: 5},
				},
			),
		)
		must(client.WriteContinuation(stream, true, block.Bytes()[half:]))
		for _, r := range request {
			must(client.WriteDataPadded(stream, false, r, make([]byte, 4)))
		}
		for _, r := range reply {
			must(server.WriteData(stream, false, r))
		}
		stream += 2
	}
	must(client.WriteSettings())
	must(server.WritePing(true, [8]byte{}))
	call("/ratis.grpc.RaftClientProtocolService/unordered", [][]byte{[]byte("what clients say")}, nil)
	for i := 0; i < len(bodies); i++ {
		c := bodies[i]
		m := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(c.body))), c.body...)
		pieces := [][]byte{m[:3], m[3:]}
		if c.said {
			call(service+c.method, pieces, nil)
		} else {
			call(service+c.method, nil, pieces)
		}
	}
	return to.Bytes(), back.Bytes()
}

func TestGRPC(t *testing.T) {
	toServer, toClient := spoken(t)
	for _, piece := range []int{1, 7, 100_000} {
		said, answered := GRPC()
		asked, answers := follow(t, said, toServer, piece), follow(t, answered, toClient, piece)
		for _, c := range bodies {
			from := &answers
			if c.said {
				from = &asked
			}
			if len(*from) == 0 || (*from)[0] != c.want {
				t.Fatalf("%s in pieces of %d: %+v, want %+v", c.method, piece, *from, c.want)
			}
			*from = (*from)[1:]
		}
		if len(asked)+len(answers) > 0 {
			t.Errorf("beside that: %+v, %+v", asked, answers)
		}
	}
	said, _ := GRPC()
	if _, _, err := said.Next([]byte("GET / HTTP/1.1")); err == nil ||
		err.Error() != "ratis: at the gRPC port: http2: a connection that does not begin with the preface" {
		t.Error(err)
	}
}

// For any input, decoders consume only bytes that exist and do not panic.
func FuzzDecoders(f *testing.F) {
	for _, c := range bodies {
		f.Add(append(binary.AppendUvarint(nil, uint64(len(c.body))), c.body...))
	}
	f.Add([]byte("\x00\x00\x04\x01\x0c\x00\x00\x00\x01\x05\x00\x00\x00"))
	f.Add([]byte("\x00\x00\x02\x00\x08\x00\x00\x00\x01\x05\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, b := Netty()
		c, d := GRPC()
		c.(*httpDecoder).frames = lockstephttp2.NewReader(false)
		c.(*httpDecoder).calls.set(1, "appendEntries")
		for _, decoder := range []process.Decoder{a, b, c, d} {
			_, _, _ = servertest.Follow(t, decoder, data, len(data))
		}
	})
}
