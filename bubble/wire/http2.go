package wire

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep/internal/http2"
)

// HTTP2 is HTTP/2 without encryption, and so gRPC. The type is the method and path of the request that a frame belongs
// to; with gRPC it is "Service/Method". The type of the answer has the suffix " answer". Of several frames in one
// write, frames of requests have priority over frames of the connection.
func HTTP2(Conn) Decoder {
	return &twoWay{
		out:   half{request: true, frames: http2.NewReader(true)},
		back:  half{frames: http2.NewReader(false)},
		names: map[uint32]string{},
	}
}

// twoWay decodes a connection.
type twoWay struct {
	out, back half
	names     map[uint32]string // of requests, by stream
}

// half is one direction of a connection.
type half struct {
	request bool
	frames  *http2.Reader
	rest    []byte
}

// Decode decodes the data of one direction.
func (t *twoWay) Decode(byDialer bool, data []byte) (kind, text string) {
	d := &t.back
	if byDialer {
		d = &t.out
	}
	d.rest = append(d.rest, data...)
	skip, begun, err := d.frames.Skip(d.rest)
	switch {
	case err != nil:
		d.rest = nil
		return "", ""
	case !begun:
		return "preface", ""
	case skip > 0:
		d.rest, kind = d.rest[skip:], "preface"
	}
	var texts []string
	weight := 0
	for {
		f, length, err := d.frames.Next(d.rest)
		if length == 0 {
			break
		}
		d.rest = d.rest[length:]
		name, what, counts := t.frame(d, f, err)
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

// isSettings reports whether the data starts with a SETTINGS frame, which is the first frame of an HTTP/2 endpoint.
func isSettings(data []byte) bool {
	return len(data) >= 9 && data[0] == 0 && data[1] == 0 && data[2]%6 == 0 && data[3] == http2.Settings &&
		binary.BigEndian.Uint32(data[5:]) == 0
}

// frame returns the name, the content and the priority of a frame.
func (t *twoWay) frame(d *half, f http2.Frame, wrong error) (name, text string, counts int) {
	name = f.Name()
	text = fmt.Sprintf("%s %d bytes", name, len(f.Payload))
	switch f.Type {
	case http2.Headers, http2.Continuation:
		fields := t.headers(d, f)
		if wrong != nil {
			fields = wrong.Error()
		}
		text = fmt.Sprintf("%s stream=%d %s", name, f.Stream, fields)
		return t.ofStream(d, f.Stream), strings.TrimSpace(text), 4
	case http2.Data:
		return t.ofStream(d, f.Stream), fmt.Sprintf("%s stream=%d %d bytes", name, f.Stream, len(f.Payload)), 3
	case http2.Reset:
		return t.ofStream(d, f.Stream) + " reset", fmt.Sprintf("%s stream=%d", name, f.Stream), 4
	case http2.GoAway, http2.Settings:
		return name, text, 2
	default:
		return name, text, 1
	}
}

// ofStream is the name of a stream's data in one direction.
func (t *twoWay) ofStream(d *half, stream uint32) string {
	name := t.names[stream]
	if name == "" {
		name = "stream"
	}
	if !d.request {
		name += " answer"
	}
	return name
}

// headers describes the relevant header fields.
func (t *twoWay) headers(d *half, f http2.Frame) string {
	var method, path, content string
	var words []string
	for _, x := range f.Fields {
		switch x.Name {
		case ":method":
			method = x.Value
		case ":path":
			path = x.Value
		case "content-type":
			content = x.Value
		case ":status", "grpc-status", "grpc-message":
			words = append(words, x.Name+"="+x.Value)
		}
	}
	if d.request && path != "" {
		path, _, _ = strings.Cut(path, "?")
		name := method + " " + path
		if strings.HasPrefix(content, "application/grpc") {
			name = rpcName(path)
		}
		t.names[f.Stream] = name
		words = append(words, name)
	}
	return strings.Join(words, " ")
}

// rpcName is "Service/Method" of "/package.Service/Method".
func rpcName(path string) string {
	service, method, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return service[strings.LastIndexByte(service, '.')+1:] + "/" + method
}
