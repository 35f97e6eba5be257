// Package wire decodes the data on sockets, so that diagrams show messages instead of bytes.
//
// A [Protocol] makes a [Decoder] for each connection. The decoder gets the data that either end wrote, in the order of
// writing. There are protocols for HTTP/1, for HTTP/2 and so gRPC, for net/rpc, for JSON lines, and for messages with a
// length prefix. [Detect] chooses one by the first bytes, and [Ports] chooses by the port. A custom protocol is a
// function, see [Each] and [LengthPrefixed].
//
// Names help people and distinguish messages. A decoder that does not understand the data returns empty names, and
// never fails.
package wire

import (
	"bytes"
	"strings"

	"github.com/lockstep-go/lockstep/internal/http2"
)

// Conn identifies a connection.
type Conn struct {
	Name string // as in "1>2:80#1": the first connection of node 1 to port 80 of node 2
	Port int    // the port that the dialer dialed
	// Datagrams says that there is no connection: each datagram is independent, and its sender counts as the dialer.
	Datagrams bool
}

// Protocol makes the decoder of a connection; nil means that the connection has none.
type Protocol func(Conn) Decoder

// Decoder decodes one connection.
type Decoder interface {
	// Decode returns the type of the data of one write, in a word or two, and its content. An empty type means that it
	// is unknown.
	Decode(byDialer bool, data []byte) (kind, text string)
}

// DecoderFunc makes a Decoder of a function.
type DecoderFunc func(byDialer bool, data []byte) (kind, text string)

// Decode calls the function.
func (d DecoderFunc) Decode(byDialer bool, data []byte) (kind, text string) { return d(byDialer, data) }

// Each is the protocol in which every Write, or datagram, is a message: f names it.
func Each(f func(data []byte) (kind, text string)) Protocol {
	return func(Conn) Decoder {
		return DecoderFunc(func(_ bool, data []byte) (string, string) { return f(data) })
	}
}

// Ports chooses a protocol by the port that was dialed. The entry of port 0 is the default.
func Ports(by map[int]Protocol) Protocol {
	return func(c Conn) Decoder {
		p := by[c.Port]
		if p == nil {
			p = by[0]
		}
		if p == nil {
			return nil
		}
		return p(c)
	}
}

// Detect chooses a protocol by the dialer's first bytes. If the other end sends first, it recognizes only HTTP/2.
func Detect(c Conn) Decoder {
	if c.Datagrams {
		return nil
	}
	return &detected{conn: c}
}

// detected is a decoder that is chosen by the first bytes.
type detected struct {
	conn   Conn
	chosen Decoder
	begun  bool
	early  []byte // data that the other end sent before
}

// Decode chooses a decoder, and decodes.
func (d *detected) Decode(byDialer bool, data []byte) (kind, text string) {
	if !d.begun && len(data) > 0 {
		d.choose(byDialer, data)
	}
	if d.chosen == nil {
		return "", ""
	}
	return d.chosen.Decode(byDialer, data)
}

func (d *detected) choose(byDialer bool, data []byte) {
	if !byDialer && !isSettings(data) {
		d.early = append(d.early, data[:min(len(data), longest-len(d.early))]...)
		return
	}
	d.begun = true
	p := Protocol(HTTP2)
	if byDialer {
		p = looksLike(data)
	}
	if p == nil {
		return
	}
	if d.chosen = p(d.conn); len(d.early) > 0 {
		d.chosen.Decode(false, d.early)
	}
	d.early = nil
}

// looksLike is the protocol whose connections begin with such data, or nil.
func looksLike(data []byte) Protocol {
	method, _, _ := bytes.Cut(data[:min(len(data), 10)], []byte(" "))
	switch {
	case bytes.HasPrefix(data, []byte(http2.Preface)):
		return HTTP2
	case isMethod(string(method)):
		return HTTP1
	case len(data) > 2 && data[0] == 22 && data[1] == 3:
		return TLS
	case data[0] == '{':
		return JSONLines
	case bytes.Contains(data, []byte("ServiceMethod")):
		return NetRPC
	}
	return nil
}

// message is a message in a stream.
type message struct {
	kind, text string // an empty kind: the message has no name
	size       int    // of the message, in bytes; 0: the parser needs more bytes
}

// stream splits one direction of a connection into messages.
type stream struct {
	parse func(data []byte) message
	rest  []byte // data that is not parsed yet
	skip  int    // bytes of the last message still to come
	last  string // the kind of the last message
}

// longest is the largest amount of data that a stream buffers while it waits for the rest of a message.
const longest = 1 << 20

// feed names the messages that start in the data: the kind of the first, with the texts of all.
func (s *stream) feed(data []byte) (kind, text string) {
	s.rest = append(s.rest, data...)
	var texts []string
	for len(s.rest) > 0 {
		if s.skip > 0 {
			n := min(s.skip, len(s.rest))
			s.rest, s.skip = s.rest[n:], s.skip-n
			continue
		}
		m := s.parse(s.rest)
		if m.size <= 0 {
			break
		}
		s.skip = m.size
		if m.kind == "" {
			continue
		}
		if s.last = m.kind; kind == "" {
			kind = m.kind
			texts = append(texts, m.text)
		} else {
			texts = append(texts, strings.TrimSpace(m.kind+" "+m.text))
		}
	}
	if len(s.rest) > longest {
		s.rest = nil
	}
	if kind == "" && s.last != "" {
		kind = s.last + " (more)"
	}
	return kind, strings.Join(texts, "; ")
}

// duplex decodes both directions, with a parser for each.
type duplex struct{ out, back stream }

func newDuplex(out, back func([]byte) message) *duplex {
	return &duplex{out: stream{parse: out}, back: stream{parse: back}}
}

// Decode decodes the data of one direction.
func (d *duplex) Decode(byDialer bool, data []byte) (kind, text string) {
	if byDialer {
		return d.out.feed(data)
	}
	return d.back.feed(data)
}

// shorten shortens data to one line of text.
func shorten(data []byte) string {
	const most = 120
	text := strings.ToValidUTF8(string(data[:min(len(data), most)]), "?")
	text = strings.Join(strings.Fields(text), " ")
	if len(data) > most {
		text += "..."
	}
	return text
}
