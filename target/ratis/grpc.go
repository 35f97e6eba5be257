package ratis

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/lockstep-go/lockstep/internal/http2"
	"github.com/lockstep-go/lockstep/process"
)

// GRPC is the protocol of the gRPC transport: HTTP/2, with a stream for each call. A frame is a packet; it has a type
// if it completes a message between servers.
func GRPC() (said, answered process.Decoder) {
	calls := &streams{method: map[uint32]string{}}
	return newHTTP(calls, clientMethods, true), newHTTP(calls, serverMethods, false)
}

// service is the service that servers offer each other.
const service = "/ratis.grpc.RaftServerProtocolService/"

// The messages of methods, in both directions.
var (
	clientMethods = map[string]func([]byte) (process.Packet, error){
		"requestVote":     requestVote,
		"appendEntries":   appendEntries,
		"installSnapshot": snapshot("InstallSnapshot", appending),
	}
	serverMethods = map[string]func([]byte) (process.Packet, error){
		"requestVote":     votedReply,
		"appendEntries":   appendReply,
		"installSnapshot": snapshot("InstallSnapshotReply", appended),
	}
)

// streams records the methods that the streams of a connection call: both directions need them.
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
	frames  *http2.Reader
	rest    map[uint32][]byte // of incomplete messages, by stream
}

func newHTTP(calls *streams, methods map[string]func([]byte) (process.Packet, error), client bool) *httpDecoder {
	return &httpDecoder{calls: calls, methods: methods, frames: http2.NewReader(client), rest: map[uint32][]byte{}}
}

// Next reads a frame.
func (h *httpDecoder) Next(data []byte) (p process.Packet, length int, err error) {
	if length, begun, err := h.frames.Skip(data); err != nil || length > 0 || !begun {
		return p, length, atPort(err)
	}
	f, length, err := h.frames.Next(data)
	if err == nil && length > 0 {
		p, err = h.frame(f)
	}
	return p, length, atPort(err)
}

// atPort adds the location to an error.
func atPort(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("ratis: at the gRPC port: %w", err)
}

// frame processes the content of a frame: the name of a stream's method, or messages.
func (h *httpDecoder) frame(f http2.Frame) (p process.Packet, err error) {
	for _, field := range f.Fields {
		if method, ok := strings.CutPrefix(field.Value, service); ok && field.Name == ":path" {
			h.calls.set(f.Stream, method)
		}
	}
	if f.Type == http2.Data {
		content, err := f.Content()
		if err != nil {
			return p, err
		}
		if p, err = h.data(f.Stream, content); err != nil {
			return p, err
		}
	}
	if f.Ends() {
		delete(h.rest, f.Stream)
	}
	return p, nil
}

// messageHead is the length of a message's prefix: whether it is compressed, and its length.
const messageHead = 5

// data processes the part of a stream's messages in a frame.
func (h *httpDecoder) data(stream uint32, content []byte) (process.Packet, error) {
	read := h.methods[h.calls.of(stream)]
	if read == nil {
		return process.Packet{}, nil
	}
	rest := slices.Concat(h.rest[stream], content)
	var whole []process.Packet
	for len(rest) >= messageHead {
		length := binary.BigEndian.Uint32(rest[1:])
		if rest[0] != 0 || length > maxMessage {
			return process.Packet{}, fmt.Errorf("a message of %d bytes, or a compressed one", length)
		}
		if uint32(len(rest)-messageHead) < length {
			break
		}
		p, err := read(rest[messageHead:][:length])
		if err != nil {
			return p, fmt.Errorf("%s: %w", h.calls.of(stream), err)
		}
		whole, rest = append(whole, p), rest[messageHead+length:]
	}
	h.rest[stream] = rest // a copy, not a slice of the input
	if len(whole) == 0 {
		return process.Packet{}, nil
	}
	return together(whole), nil
}
