package wire

import (
	"encoding/json"
	"fmt"

	"connectrpc.com/connect"
)

// message is a type that the codecs can write and read.
type message interface {
	append(b []byte) []byte
	read(f field) error
}

// Binary returns the codec of protocol buffers, for clients.
func Binary() connect.Option { return connect.WithCodec(protoCodec{}) }

// Codecs returns the codecs of the service, for handlers.
func Codecs() []connect.Option {
	return []connect.Option{Binary(), connect.WithCodec(jsonCodec{"json"}),
		connect.WithCodec(jsonCodec{"json; charset=utf-8"})}
}

// protoCodec writes protocol buffers.
type protoCodec struct{}

func (protoCodec) Name() string { return "proto" }

func (p protoCodec) Marshal(m any) ([]byte, error) { return p.MarshalAppend(nil, m) }

// MarshalAppend lets Connect write into an existing buffer.
func (protoCodec) MarshalAppend(b []byte, m any) ([]byte, error) {
	if m, ok := m.(message); ok {
		return m.append(b), nil
	}
	return nil, fmt.Errorf("wire: %T is not a message", m)
}

func (protoCodec) Unmarshal(b []byte, m any) error {
	if m, ok := m.(message); ok {
		return fields(b, m.read)
	}
	return fmt.Errorf("wire: %T is not a message", m)
}

// Marshal encodes a message as protocol buffers.
func Marshal(m message) []byte { return m.append(nil) }

// Unmarshal reads a message that Marshal wrote.
func Unmarshal(b []byte, m message) error { return fields(b, m.read) }

// jsonCodec writes JSON, as protocol buffers define it. Connect knows it by two names.
type jsonCodec struct{ name string }

func (j jsonCodec) Name() string { return j.name }

func (jsonCodec) Marshal(m any) ([]byte, error) { return json.Marshal(m) }

func (jsonCodec) Unmarshal(b []byte, m any) error {
	if err := json.Unmarshal(b, m); err != nil {
		return fmt.Errorf("wire: %w", err)
	}
	return nil
}
