package wire

import (
	"bufio"
	"bytes"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
)

var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE"}

func isMethod(word string) bool { return slices.Contains(methods, word) }

// HTTP1 is HTTP/1. The type of a request is its method and path. The type of the answer is the same with the suffix "
// answer".
func HTTP1(Conn) Decoder {
	h := &http1{}
	return newDuplex(h.request, h.response)
}

// http1 decodes a connection.
type http1 struct {
	asked      []string // requests without an answer
	methods    []string // their methods
	chunkedOut bool     // the body of the request has chunked encoding
	chunkedIn  bool     // the body of the answer has
}

func (h *http1) request(data []byte) message {
	if h.chunkedOut {
		return chunk(data, &h.chunkedOut)
	}
	first, header, size := head(data)
	words := strings.Fields(first)
	if size == 0 || len(words) < 2 || !isMethod(words[0]) {
		return message{}
	}
	path, query, _ := strings.Cut(words[1], "?")
	h.asked, h.methods = append(h.asked, words[0]+" "+path), append(h.methods, words[0])
	size += body(header, &h.chunkedOut, 0)
	return message{kind: words[0] + " " + path, text: strings.TrimSpace(query), size: size}
}

func (h *http1) response(data []byte) message {
	if h.chunkedIn {
		return chunk(data, &h.chunkedIn)
	}
	first, header, size := head(data)
	words := strings.SplitN(first, " ", 2)
	if size == 0 || len(words) < 2 || !strings.HasPrefix(first, "HTTP/") {
		return message{}
	}
	m := message{kind: "answer", text: words[1]}
	bare := strings.HasPrefix(words[1], "1") || strings.HasPrefix(words[1], "204") || strings.HasPrefix(words[1], "304")
	if len(h.asked) > 0 {
		m.kind = h.asked[0] + " answer"
		bare = bare || h.methods[0] == "HEAD"
		// an informational response is not the final one
		if !strings.HasPrefix(words[1], "1") {
			h.asked, h.methods = h.asked[1:], h.methods[1:]
		}
	}
	if m.size = size; !bare {
		m.size += body(header, &h.chunkedIn, 1<<40) // without a length the body usually ends with the connection
	}
	return m
}

// head parses the head of a message: its first line, its fields and its size.
func head(data []byte) (first string, header textproto.MIMEHeader, size int) {
	end := bytes.Index(data, []byte("\r\n\r\n"))
	if end < 0 {
		return "", nil, 0
	}
	r := textproto.NewReader(bufio.NewReader(bytes.NewReader(data[:end+4])))
	first, err := r.ReadLine()
	if err != nil {
		return "", nil, 0
	}
	header, err = r.ReadMIMEHeader()
	if err != nil {
		return "", nil, 0
	}
	return first, header, end + 4
}

// body is the size of the body that follows a head. For a chunked body it is 0, and chunked is set.
func body(header textproto.MIMEHeader, chunked *bool, otherwise int) int {
	if strings.EqualFold(header.Get("Transfer-Encoding"), "chunked") {
		*chunked = true
		return 0
	}
	if n, err := strconv.Atoi(header.Get("Content-Length")); err == nil && n >= 0 {
		return n
	}
	return otherwise
}

// chunk parses a chunk of a body; an empty one is the last.
func chunk(data []byte, more *bool) message {
	end := bytes.Index(data, []byte("\r\n"))
	if end < 0 {
		return message{}
	}
	digits, _, _ := strings.Cut(string(data[:end]), ";")
	n, err := strconv.ParseInt(strings.TrimSpace(digits), 16, 32)
	if err != nil || n < 0 {
		*more = false
		return message{size: len(data)}
	}
	if n == 0 {
		*more = false
	}
	return message{size: end + 2 + int(n) + 2}
}
