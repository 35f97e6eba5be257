package ratis

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/lockstep-go/lockstep/process"
)

// GRPC is the protocol of the transport of that name: HTTP/2, with a stream for each call. A frame is a packet; it has a type when it
// completes a message between servers.
func GRPC() (said, answered process.Decoder) {
	calls := &streams{method: map[uint32]string{}}
	return newHTTP(calls, clientMethods, []byte(http2.ClientPreface)), newHTTP(calls, serverMethods, nil)
}

// service is the one that servers offer each other.
const service = "/ratis.grpc.RaftServerProtocolService/"

// The messages of methods, in both directions.
var (
	clientMethods = map[string]func([]byte) (process.Packet, error){"requestVote": requestVote, "appendEntries": appendEntries, "installSnapshot": snapshot("InstallSnapshot", appending)}
	serverMethods = map[string]func([]byte) (process.Packet, error){"requestVote": votedReply, "appendEntries": appendReply, "installSnapshot": snapshot("InstallSnapshotReply", appended)}
)

// streams knows the methods that the streams of a connection call: both directions ask.
type streams struct {
	sync.Mutex
	method map[uint32]string
}

func (s *streams) of(stream uint32) string {
	s.Lock()
	defer s.Unlock()
	return s.method[stream]
}

func (s *streams) set(stream uint32, method string) {
	s.Lock()
	defer s.Unlock()
	s.method[stream] = method
}

// httpDecoder decodes one direction of a connection.
type httpDecoder struct {
	calls   *streams
	methods map[string]func([]byte) (process.Packet, error)
	preface []byte // that is still to come
	headers *hpack.Decoder
	path    string            // in the headers being read
	block   []byte            // headers that have not ended
	rest    map[uint32][]byte // of messages that have not ended, by stream
}

func newHTTP(calls *streams, methods map[string]func([]byte) (process.Packet, error), preface []byte) *httpDecoder {
	d := &httpDecoder{calls: calls, methods: methods, preface: preface, rest: map[uint32][]byte{}}
	d.headers = hpack.NewDecoder(4096, func(f hpack.HeaderField) {
		if f.Name == ":path" {
			d.path = f.Value
		}
	})
	d.headers.SetAllowedMaxDynamicTableSize(1 << 20) // as the other side may have allowed
	return d
}

// frameHead is the length of what comes before the content of a frame.
const frameHead = 9

var errFrame = errors.New("ratis: this is no frame of HTTP/2")

// Next takes a frame.
func (d *httpDecoder) Next(data []byte) (process.Packet, int, error) {
	if n := len(d.preface); n > 0 {
		if !bytes.HasPrefix(d.preface, data[:min(n, len(data))]) {
			return process.Packet{}, 0, errors.New("ratis: at the gRPC port, this is not HTTP/2")
		}
		if len(data) < n {
			return process.Packet{}, 0, nil
		}
		d.preface = nil
		return process.Packet{}, n, nil
	}
	if len(data) < frameHead {
		return process.Packet{}, 0, nil
	}
	length := int(data[0])<<16 | int(data[1])<<8 | int(data[2])
	end := frameHead + length
	if len(data) < end {
		return process.Packet{}, 0, nil
	}
	kind, flags, stream := http2.FrameType(data[3]), http2.Flags(data[4]), binary.BigEndian.Uint32(data[5:])&(1<<31-1)
	p, err := d.frame(kind, flags, stream, data[frameHead:end])
	if err != nil {
		return process.Packet{}, 0, err
	}
	return p, end, nil
}

// frame takes the content of a frame.
func (d *httpDecoder) frame(kind http2.FrameType, flags http2.Flags, stream uint32, content []byte) (p process.Packet, err error) {
	switch kind {
	case http2.FrameHeaders:
		if content, err = unpad(content, flags.Has(http2.FlagHeadersPadded)); err != nil {
			return p, err
		}
		if flags.Has(http2.FlagHeadersPriority) {
			if len(content) < 5 {
				return p, errFrame
			}
			content = content[5:]
		}
		d.block = append(d.block[:0], content...)
		return p, d.name(stream, flags.Has(http2.FlagHeadersEndHeaders))
	case http2.FrameContinuation:
		if d.block = append(d.block, content...); len(d.block) > maxMessage {
			return p, errFrame
		}
		return p, d.name(stream, flags.Has(http2.FlagContinuationEndHeaders))
	case http2.FrameData:
		if content, err = unpad(content, flags.Has(http2.FlagDataPadded)); err != nil {
			return p, err
		}
		p, err = d.data(stream, content)
		if flags.Has(http2.FlagDataEndStream) {
			delete(d.rest, stream)
		}
		return p, err
	case http2.FrameRSTStream:
		delete(d.rest, stream)
	}
	return p, nil
}

// unpad takes the padding off, where there is one.
func unpad(content []byte, padded bool) ([]byte, error) {
	if !padded {
		return content, nil
	}
	if len(content) == 0 || int(content[0]) > len(content)-1 {
		return nil, errFrame
	}
	return content[1 : len(content)-int(content[0])], nil
}

// name reads headers that are whole, and notes what the stream calls.
func (d *httpDecoder) name(stream uint32, whole bool) error {
	if !whole {
		return nil
	}
	d.path = ""
	if _, err := d.headers.Write(d.block); err != nil {
		return fmt.Errorf("ratis: headers at the gRPC port: %w", err)
	}
	if err := d.headers.Close(); err != nil {
		return fmt.Errorf("ratis: headers at the gRPC port: %w", err)
	}
	if method, ok := strings.CutPrefix(d.path, service); ok {
		d.calls.set(stream, method)
	}
	return nil
}

// messageHead is the length of what comes before a message: whether it is compressed, and its length.
const messageHead = 5

// data takes what a frame brings of the messages of a stream.
func (d *httpDecoder) data(stream uint32, content []byte) (process.Packet, error) {
	read := d.methods[d.calls.of(stream)]
	if read == nil {
		return process.Packet{}, nil
	}
	rest := slices.Concat(d.rest[stream], content)
	var whole []process.Packet
	for len(rest) >= messageHead {
		length := binary.BigEndian.Uint32(rest[1:])
		if rest[0] != 0 || length > maxMessage {
			return process.Packet{}, fmt.Errorf("ratis: at the gRPC port, a message of %d bytes, or a compressed one", length)
		}
		if uint32(len(rest)-messageHead) < length {
			break
		}
		p, err := read(rest[messageHead:][:length])
		if err != nil {
			return p, fmt.Errorf("ratis: %s at the gRPC port: %w", d.calls.of(stream), err)
		}
		whole, rest = append(whole, p), rest[messageHead+length:]
	}
	d.rest[stream] = rest // of our own
	if len(whole) == 0 {
		return process.Packet{}, nil
	}
	return together(whole), nil
}
