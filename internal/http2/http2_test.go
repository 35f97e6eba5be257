package http2_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/net/http2/hpack"

	"github.com/lockstep-go/lockstep/internal/http2"
)

// frame is a frame on the wire.
func frame(kind, flags byte, stream uint32, payload ...byte) []byte {
	n := len(payload)
	return append(
		binary.BigEndian.AppendUint32([]byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags}, stream),
		payload...)
}

// connection returns the bytes of a client: two requests with the same header fields, the first in two frames with
// padding and priority, and data with padding.
func connection() []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	fields := func() []byte {
		block.Reset()
		for _, f := range []hpack.HeaderField{
			{Name: ":method", Value: "POST"},
			{Name: ":path", Value: "/service/method"},
		} {
			_ = encoder.WriteField(f) // a write to a buffer never fails
		}
		return slices.Clone(block.Bytes())
	}
	one, two := fields(), fields()
	head := append([]byte{3, 0, 0, 0, 0, 5}, one[:4]...)
	return slices.Concat(
		[]byte(http2.Preface),
		frame(http2.Settings, 0, 0),
		frame(http2.Headers, 0x28, 1, append(head, 0, 0, 0)...),
		frame(http2.Continuation, 0x4, 1, one[4:]...),
		frame(
			http2.Headers,
			0x5,
			3,
			two...),
		frame(http2.Data, 0x9, 1, 2, 'h', 'i', 0, 0),
		frame(77, 0, 0),
		frame(http2.Reset, 0, 5, 0, 0, 0, 0),
	)
}

// read returns the frames of a stream as text, read in pieces of the given size.
func read(t testing.TB, stream []byte, client bool, piece int) (words []string) {
	t.Helper()
	r := http2.NewReader(client)
	var have []byte
	for len(stream) > 0 {
		n := min(piece, len(stream))
		have, stream = append(have, stream[:n]...), stream[n:]
		skip, begun, err := r.Skip(have)
		if err != nil {
			return append(words, err.Error())
		}
		for have = have[skip:]; begun; {
			f, length, err := r.Next(have)
			if length > len(have) {
				t.Fatalf("%d of %d bytes", length, len(have))
			}
			if length == 0 {
				break
			}
			have = have[length:]
			if err != nil {
				return append(words, err.Error())
			}
			content, err := f.Content()
			if f.Type != http2.Data {
				content = nil
			}
			word := fmt.Sprintf("%s %d %s", f.Name(), f.Stream, content)
			for _, x := range f.Fields {
				word += " " + x.Name + "=" + x.Value
			}
			if f.Ends() {
				word += " end"
			}
			if err != nil {
				word += " " + err.Error()
			}
			words = append(words, word)
		}
	}
	return words
}

func TestReader(t *testing.T) {
	want := []string{
		"SETTINGS 0 ",
		"HEADERS 1 ",
		"CONTINUATION 1  :method=POST :path=/service/method",
		"HEADERS 3  :method=POST :path=/service/method end",
		"DATA 1 hi end",
		"frame 77 0 ",
		"RST_STREAM 5  end",
	}
	for _, piece := range []int{1, 7, 1 << 20} {
		if got := read(t, connection(), true, piece); !slices.Equal(got, want) {
			t.Errorf("in pieces of %d: %q\ninstead of %q", piece, got, want)
		}
	}
}

func TestWrong(t *testing.T) {
	for want, stream := range map[string][]byte{
		"http2: a connection that does not begin with the preface": []byte("GET / HTTP/1.1\r\n\r\n"),
	} {
		if got := read(t, stream, true, 5); len(got) != 1 || got[0] != want {
			t.Errorf("%q instead of %q", got, want)
		}
	}
	for want, stream := range map[string][]byte{
		"http2: header fields: decoding error: invalid indexed representation index 99": frame(http2.Headers, 0x4, 1,
			0x80|99),
		"http2: a frame that is shorter than its padding": frame(http2.Headers, 0x2c, 1,
			1, 0),
		"http2: header fields of more than 1048576 bytes": append(frame(http2.Headers, 0,
			1, make([]byte, 1<<20)...), frame(http2.Continuation, 0, 1, 0)...),
	} {
		if got := read(t, stream, false, 1<<20); len(got) == 0 || got[len(got)-1] != want {
			t.Errorf("%q instead of %q", got, want)
		}
	}
}

// Whatever the input is, the reader takes no more bytes than there are.
func FuzzReader(f *testing.F) {
	f.Add(connection())
	f.Add(frame(http2.Headers, 0x2c, 1, 1, 0))
	f.Fuzz(func(t *testing.T, stream []byte) {
		read(t, stream, false, 3)
		read(t, stream, true, 1000)
	})
}
