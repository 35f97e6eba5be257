package wire

import (
	"errors"
	"strings"
)

// field is a header field.
type field struct{ name, value string }

// hpack reads the header fields of one direction of HTTP/2, which are compressed as RFC 7541
// says: fields seen before are numbers, and texts may be in a Huffman code.
type hpack struct {
	dynamic []field // the newest first
	most    int     // the size to which the table is cut; 0: the usual one
}

var errHPACK = errors.New("header fields that make no sense")

// usualTable is the size of the table of fields that both ends begin with.
const usualTable = 4096

// decode reads a block of fields.
func (h *hpack) decode(b []byte) ([]field, error) {
	var fields []field
	for len(b) > 0 {
		first := b[0]
		switch {
		case first&0x80 != 0: // a field that is in the table
			i, rest, ok := number(b, 7)
			f, known := h.at(i)
			if !ok || !known {
				return fields, errHPACK
			}
			fields, b = append(fields, f), rest
		case first&0xe0 == 0x20: // the table gets another size
			size, rest, ok := number(b, 5)
			if !ok || size > 1<<20 {
				return fields, errHPACK
			}
			h.most, b = max(1, size), rest
			h.trim()
		default: // a field in full, with incremental indexing or without
			bits := 4
			if first&0xc0 == 0x40 {
				bits = 6
			}
			f, rest, ok := h.literal(b, bits)
			if !ok {
				return fields, errHPACK
			}
			if bits == 6 {
				h.dynamic = append([]field{f}, h.dynamic...)
				h.trim()
			}
			fields, b = append(fields, f), rest
		}
	}
	return fields, nil
}

// literal reads a field in full; its name may be in the table.
func (h *hpack) literal(b []byte, bits int) (f field, rest []byte, ok bool) {
	i, rest, ok := number(b, bits)
	if !ok {
		return f, nil, false
	}
	if i > 0 {
		known, has := h.at(i)
		if !has {
			return f, nil, false
		}
		f.name = known.name
	} else if f.name, rest, ok = word(rest); !ok {
		return f, nil, false
	}
	f.value, rest, ok = word(rest)
	return f, rest, ok
}

// at is the field of a number: first come those that everybody knows.
func (h *hpack) at(i int) (field, bool) {
	switch {
	case i >= 1 && i <= len(static):
		name, value, _ := strings.Cut(static[i-1], "=")
		return field{name, value}, true
	case i > len(static) && i <= len(static)+len(h.dynamic):
		return h.dynamic[i-len(static)-1], true
	}
	return field{}, false
}

// trim drops the oldest fields until the table has its size again.
func (h *hpack) trim() {
	left := h.most
	if left == 0 {
		left = usualTable
	}
	for i, f := range h.dynamic {
		if left -= len(f.name) + len(f.value) + 32; left < 0 {
			h.dynamic = h.dynamic[:i]
			return
		}
	}
}

// number reads a number whose first bits are in a byte with others.
func number(b []byte, bits int) (n int, rest []byte, ok bool) {
	if len(b) == 0 {
		return 0, nil, false
	}
	mask := 1<<bits - 1
	n, b = int(b[0])&mask, b[1:]
	if n < mask {
		return n, b, true
	}
	for shift := 0; len(b) > 0 && shift < 28; shift += 7 {
		next := b[0]
		b = b[1:]
		n += int(next&0x7f) << shift
		if next&0x80 == 0 {
			return n, b, true
		}
	}
	return 0, nil, false
}

// word reads a text.
func word(b []byte) (text string, rest []byte, ok bool) {
	if len(b) == 0 {
		return "", nil, false
	}
	coded := b[0]&0x80 != 0
	n, rest, ok := number(b, 7)
	if !ok || n > len(rest) {
		return "", nil, false
	}
	if coded {
		return huffman(rest[:n]), rest[n:], true
	}
	return string(rest[:n]), rest[n:], true
}

// lengths are those of the codes of all bytes, 'A' for 5 bits: the code is canonical, so that
// they say everything.
const lengths = "ISXXXXXXXTZXXZXXXXXXXXZXXXXXXXXXBFFHIBDGFFDGDBBBAAABBBBBBBCDKBHF" +
	"IBCCCCCCCCCCCCCCCCCCCCCCDCDIOIJBKABABABBBACCBBBABCBAABCCCCCKGJIX" +
	"PRPPRRRSRSSSSSTSTTRSTSSSSQRSRSSTRQPRRSSQSRRTQRSSQQRQSRSSPRRRSRRS" +
	"VVPORSRUVVVWWVTUOQVWWVWTQQVVXWWWPTPQRQQSRRUUTTVSVWVVWWWWWXWWWWWV"

// codes are the bytes by length and code.
var codes = func() map[[2]int]byte {
	all := map[[2]int]byte{}
	code := 0
	for length := 5; length <= 30; length++ {
		code <<= 1
		for b := range len(lengths) {
			if int(lengths[b]-'A')+5 == length {
				all[[2]int{length, code}] = byte(b)
				code++
			}
		}
	}
	return all
}()

// huffman reads a coded text. What is left at its end are bits to fill the last byte.
func huffman(b []byte) string {
	var text []byte
	code, length := 0, 0
	for _, x := range b {
		for bit := 7; bit >= 0; bit-- {
			code, length = code<<1|int(x>>bit)&1, length+1
			if c, ok := codes[[2]int{length, code}]; ok {
				text = append(text, c)
				code, length = 0, 0
			}
		}
	}
	return string(text)
}

// static are the fields that everybody knows.
var static = strings.Split(":authority|:method=GET|:method=POST|:path=/|:path=/index.html|:scheme=http|:scheme=https|:status=200|:status=204|"+
	":status=206|:status=304|:status=400|:status=404|:status=500|accept-charset|accept-encoding=gzip, deflate|accept-language|accept-ranges|"+
	"accept|access-control-allow-origin|age|allow|authorization|cache-control|content-disposition|content-encoding|content-language|"+
	"content-length|content-location|content-range|content-type|cookie|date|etag|expect|expires|from|host|if-match|if-modified-since|"+
	"if-none-match|if-range|if-unmodified-since|last-modified|link|location|max-forwards|proxy-authenticate|proxy-authorization|range|"+
	"referer|refresh|retry-after|server|set-cookie|strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate", "|")
