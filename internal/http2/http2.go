// Package http2 splits one direction of an HTTP/2 connection into frames and decodes their header fields, for programs
// that observe a connection.
package http2

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/net/http2/hpack"
)

// Preface is the client's first bytes, before its first frame.
const Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// The types of frames that this package distinguishes, and their names.
const (
	Data         = 0
	Headers      = 1
	Reset        = 3
	Settings     = 4
	GoAway       = 7
	Continuation = 9
)

var names = []string{
	"DATA",
	"HEADERS",
	"PRIORITY",
	"RST_STREAM",
	"SETTINGS",
	"PUSH_PROMISE",
	"PING",
	"GOAWAY",
	"WINDOW_UPDATE",
	"CONTINUATION",
}

// The flags of frames that this package distinguishes.
const (
	endStream  = 0x1
	endHeaders = 0x4
	padded     = 0x8
	priority   = 0x20
)

// Frame is one frame.
type Frame struct {
	Type, Flags byte
	Stream      uint32
	// Payload is the frame's payload, as on the wire.
	Payload []byte
	// Fields are the header fields of a block that ends with this frame.
	Fields []hpack.HeaderField
}

// Name returns the name of the frame's type.
func (f Frame) Name() string {
	if int(f.Type) < len(names) {
		return names[f.Type]
	}
	return fmt.Sprintf("frame %d", f.Type)
}

// Ends reports whether the frame is the last one of its sender on the stream.
func (f Frame) Ends() bool {
	return f.Type == Reset || (f.Type == Data || f.Type == Headers) && f.Flags&endStream != 0
}

// Content returns the payload of a frame of type Data or Headers, without padding and priority.
func (f Frame) Content() ([]byte, error) {
	p := f.Payload
	if f.Flags&padded != 0 {
		if len(p) == 0 || int(p[0]) > len(p)-1 {
			return nil, errPadding
		}
		p = p[1 : len(p)-int(p[0])]
	}
	if f.Type == Headers && f.Flags&priority != 0 {
		if len(p) < 5 {
			return nil, errPadding
		}
		p = p[5:]
	}
	return p, nil
}

var (
	errPreface = errors.New("http2: a connection that does not begin with the preface")
	errPadding = errors.New("http2: a frame that is shorter than its padding")
	errBlock   = fmt.Errorf("http2: header fields of more than %d bytes", maxBlock)
)

// The length of a frame's head, and the limits of header fields and of the table of fields that one end may allow the
// other.
const (
	head       = 9
	maxBlock   = 1 << 20
	firstTable = 4096
	maxTable   = 1 << 20
)

// Reader reads the frames of one direction.
type Reader struct {
	preface bool // the preface has not been read
	fields  *hpack.Decoder
	block   []byte // of header fields that continues in the next frame
}

// NewReader returns a reader of a client's bytes, which begin with the preface, or of a server's bytes.
func NewReader(client bool) *Reader {
	r := &Reader{preface: client, fields: hpack.NewDecoder(firstTable, nil)}
	r.fields.SetAllowedMaxDynamicTableSize(maxTable)
	return r
}

// Skip returns the length of the preface at the beginning of data if it has not been read, or else 0. It reports
// whether frames follow: otherwise the caller must wait for more data.
func (r *Reader) Skip(data []byte) (length int, frames bool, err error) {
	switch {
	case !r.preface:
		return 0, true, nil
	case !bytes.HasPrefix([]byte(Preface), data[:min(len(data), len(Preface))]):
		return 0, false, errPreface
	case len(data) < len(Preface):
		return 0, false, nil
	}
	r.preface = false
	return len(Preface), true, nil
}

// Next returns the frame at the beginning of data, and its length; 0 means that the caller must wait for more data.
// Next decodes the frame's header fields, so the caller must consume a returned frame. An error concerns these fields.
func (r *Reader) Next(data []byte) (f Frame, length int, err error) {
	if len(data) < head {
		return f, 0, nil
	}
	length = head + (int(data[0])<<16 | int(data[1])<<8 | int(data[2]))
	if len(data) < length {
		return f, 0, nil
	}
	f = Frame{
		Type:    data[3],
		Flags:   data[4],
		Stream:  binary.BigEndian.Uint32(data[5:]) &^ (1 << 31),
		Payload: data[head:length],
	}
	f.Fields, err = r.headers(f)
	return f, length, err
}

// headers decodes a block of header fields, which may come in several frames.
func (r *Reader) headers(f Frame) ([]hpack.HeaderField, error) {
	content := f.Payload
	switch f.Type {
	case Headers:
		var err error
		if content, err = f.Content(); err != nil {
			return nil, err
		}
		r.block = r.block[:0]
	case Continuation:
	default:
		return nil, nil
	}
	if len(r.block)+len(content) > maxBlock {
		return nil, errBlock
	}
	if r.block = append(r.block, content...); f.Flags&endHeaders == 0 {
		return nil, nil
	}
	fields, err := r.fields.DecodeFull(r.block)
	if err != nil {
		return nil, fmt.Errorf("http2: header fields: %w", err)
	}
	return fields, nil
}
