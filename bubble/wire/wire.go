// Package wire names what travels on sockets, so that pictures show messages instead of bytes.
//
// A [Protocol] makes a [Decoder] for each connection, which is given what either end wrote, in
// the order of writing. There is one for HTTP/1, one for HTTP/2 and so gRPC, one for net/rpc,
// one for lines of JSON, one for messages with their length in front; [Detect] takes the one
// that the first bytes look like, and [Ports] chooses by the port. A protocol of one's own is a
// function, see [Each] and [LengthPrefixed].
//
// Names are for people and for telling messages apart. A decoder that does not understand the
// bytes names nothing, and never fails.
package wire

import (
	"bytes"
	"strings"

	"github.com/lockstep-go/lockstep/internal/http2"
)

// Conn says which connection it is.
type Conn struct {
	Name string // as in "1>2:80#1": node 1 dialed port 80 of node 2, for the first time
	Port int    // that was dialed
	// Datagrams says that there is no connection: each is by itself, and the dialer is the one
	// who sends it.
	Datagrams bool
}

// Protocol makes the decoder of a connection; nil means that it has none.
type Protocol func(Conn) Decoder

// Decoder follows one connection.
type Decoder interface {
	// Decode names what was written at once: its type, in a word or two, and what is in it. An
	// empty type means that it is not known.
	Decode(byDialer bool, data []byte) (kind, text string)
}

// DecoderFunc is a decoder that is a function.
type DecoderFunc func(byDialer bool, data []byte) (kind, text string)

// Decode calls the function.
func (f DecoderFunc) Decode(byDialer bool, data []byte) (kind, text string) { return f(byDialer, data) }

// Each is the protocol in which every Write, or datagram, is a message: f names it.
func Each(f func(data []byte) (kind, text string)) Protocol {
	return func(Conn) Decoder {
		return DecoderFunc(func(_ bool, data []byte) (string, string) { return f(data) })
	}
}

// Ports takes the protocol of the port that was dialed; the one of port 0 is for all others.
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

// Detect takes the protocol that the dialer's first bytes look like. Of what the other end said
// before, only HTTP/2 is known.
func Detect(c Conn) Decoder {
	if c.Datagrams {
		return nil
	}
	return &detected{conn: c}
}

// detected is a decoder that is chosen at the first bytes.
type detected struct {
	conn   Conn
	chosen Decoder
	begun  bool
	early  []byte // what the other end said before
}

// Decode chooses, and decodes.
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

// looksLike is the protocol whose connections begin like that, or nil.
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

// message is one that was found in a stream.
type message struct {
	kind, text string // an empty kind: not one to be named
	size       int    // of the message, in bytes; 0: more bytes are needed to tell
}

// stream cuts one direction of a connection into messages.
type stream struct {
	parse func(data []byte) message
	rest  []byte // what is not understood yet
	skip  int    // bytes of the last message to come
	last  string // its kind
}

// longest is the most that a stream keeps while it waits for the rest of a message.
const longest = 1 << 20

// feed names what begins in the data: by the first message, with the texts of all.
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

// duplex follows both directions by a parser for each.
type duplex struct{ out, back stream }

func newDuplex(out, back func([]byte) message) *duplex {
	return &duplex{out: stream{parse: out}, back: stream{parse: back}}
}

// Decode follows the direction.
func (d *duplex) Decode(byDialer bool, data []byte) (kind, text string) {
	if byDialer {
		return d.out.feed(data)
	}
	return d.back.feed(data)
}

// tell shortens a text to one line.
func tell(data []byte) string {
	const most = 120
	text := strings.ToValidUTF8(string(data[:min(len(data), most)]), "?")
	text = strings.Join(strings.Fields(text), " ")
	if len(data) > most {
		text += "..."
	}
	return text
}
