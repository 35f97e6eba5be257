package wire

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// preface is what a client of HTTP/2 begins with.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// HTTP2 is HTTP/2 in the clear, and so gRPC. The type is the method and path of the request that
// a frame belongs to, of gRPC "Service/Method"; that of the answer has the word "answer" behind.
// Of several frames written at once, those of requests count more than those of the connection.
func HTTP2(Conn) Decoder {
	h := &http2{names: map[uint32]string{}}
	h.out.request = true
	return h
}

// http2 follows a connection.
type http2 struct {
	out, back half
	names     map[uint32]string // of requests, by stream
}

// half is one direction.
type half struct {
	request bool
	begun   bool // the preface was seen
	hpack   hpack
	block   []byte // of header fields that goes on in the next frame
	rest    []byte
}

// Types of frames.
const (
	frameData, frameHeaders, frameReset, frameSettings, framePing, frameGoAway, frameWindow, frameMore = 0, 1, 3, 4, 6, 7, 8, 9
)

var frameNames = map[byte]string{frameData: "DATA", frameHeaders: "HEADERS", 2: "PRIORITY", frameReset: "RST_STREAM", frameSettings: "SETTINGS",
	5: "PUSH_PROMISE", framePing: "PING", frameGoAway: "GOAWAY", frameWindow: "WINDOW_UPDATE", frameMore: "CONTINUATION"}

// Decode follows the direction.
func (h *http2) Decode(byDialer bool, data []byte) (kind, text string) {
	d := &h.back
	if byDialer {
		d = &h.out
	}
	d.rest = append(d.rest, data...)
	if d.request && !d.begun {
		if len(d.rest) < len(preface) {
			return "preface", ""
		}
		d.rest, d.begun = d.rest[len(preface):], true
		kind = "preface"
	}
	var texts []string
	weight := 0
	for len(d.rest) >= 9 {
		size := int(d.rest[0])<<16 | int(d.rest[1])<<8 | int(d.rest[2])
		if len(d.rest) < 9+size {
			break
		}
		f := frame{kind: d.rest[3], flags: d.rest[4], stream: binary.BigEndian.Uint32(d.rest[5:]) &^ (1 << 31), payload: d.rest[9 : 9+size]}
		d.rest = d.rest[9+size:]
		name, what, counts := h.frame(d, f)
		if counts > weight {
			kind, weight = name, counts
		}
		texts = append(texts, what)
	}
	if len(d.rest) > longest {
		d.rest = nil
	}
	return kind, strings.Join(texts, "; ")
}

// frame is one frame.
type frame struct {
	kind, flags byte
	stream      uint32
	payload     []byte
}

// isSettings reports whether bytes begin with the frame that an end of HTTP/2 begins with.
func isSettings(data []byte) bool {
	return len(data) >= 9 && data[0] == 0 && data[1] == 0 && data[2]%6 == 0 && data[3] == frameSettings && binary.BigEndian.Uint32(data[5:]) == 0
}

// frame names a frame, says what is in it, and how much it counts.
func (h *http2) frame(d *half, f frame) (name, text string, counts int) {
	name = frameNames[f.kind]
	if name == "" {
		name = fmt.Sprintf("frame %d", f.kind)
	}
	text = fmt.Sprintf("%s %d bytes", name, len(f.payload))
	switch f.kind {
	case frameHeaders, frameMore:
		fields := h.headers(d, f)
		text = fmt.Sprintf("%s stream=%d %s", name, f.stream, fields)
		return h.ofStream(d, f.stream), strings.TrimSpace(text), 4
	case frameData:
		return h.ofStream(d, f.stream), fmt.Sprintf("%s stream=%d %d bytes", name, f.stream, len(f.payload)), 3
	case frameReset:
		return h.ofStream(d, f.stream) + " reset", fmt.Sprintf("%s stream=%d", name, f.stream), 4
	case frameGoAway, frameSettings:
		return name, text, 2
	default:
		return name, text, 1
	}
}

// ofStream is the name of what a stream carries in a direction.
func (h *http2) ofStream(d *half, stream uint32) string {
	name := h.names[stream]
	if name == "" {
		name = "stream"
	}
	if !d.request {
		name += " answer"
	}
	return name
}

// headers reads a block of header fields, which may come in several frames, and puts those that
// matter into words.
func (h *http2) headers(d *half, f frame) string {
	const endHeaders, padded, priority = 0x4, 0x8, 0x20
	p := f.payload
	if f.kind == frameHeaders {
		pad := 0
		if f.flags&padded != 0 && len(p) > 0 {
			pad, p = int(p[0]), p[1:]
		}
		if f.flags&priority != 0 && len(p) >= 5 {
			p = p[5:]
		}
		p = p[:max(0, len(p)-pad)]
		d.block = d.block[:0]
	}
	d.block = append(d.block, p...)
	if f.flags&endHeaders == 0 {
		return ""
	}
	fields, err := d.hpack.decode(d.block)
	if err != nil {
		return err.Error()
	}
	var method, path, content string
	var words []string
	for _, x := range fields {
		switch x.name {
		case ":method":
			method = x.value
		case ":path":
			path = x.value
		case "content-type":
			content = x.value
		case ":status", "grpc-status", "grpc-message":
			words = append(words, x.name+"="+x.value)
		}
	}
	if d.request && path != "" {
		path, _, _ = strings.Cut(path, "?")
		name := method + " " + path
		if strings.HasPrefix(content, "application/grpc") {
			name = rpcName(path)
		}
		h.names[f.stream] = name
		words = append(words, name)
	}
	return strings.Join(words, " ")
}

// rpcName is "Service/Method" of "/package.Service/Method".
func rpcName(path string) string {
	service, method, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return service[strings.LastIndexByte(service, '.')+1:] + "/" + method
}
