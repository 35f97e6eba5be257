package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
)

// LengthPrefixed is the protocol whose messages start with their length, an integer of 1, 2, 4 or 8 bytes in the given
// order. The function name gets each message without the length.
func LengthPrefixed(bytes int, order binary.ByteOrder,
	name func(byDialer bool, payload []byte) (kind, text string)) Protocol {
	return func(Conn) Decoder {
		parse := func(byDialer bool) func([]byte) message {
			return func(data []byte) message {
				size, ok := prefix(data, bytes, order)
				if !ok || len(data) < size {
					return message{}
				}
				kind, text := name(byDialer, data[bytes:size])
				return message{kind, text, size}
			}
		}
		return newDuplex(parse(true), parse(false))
	}
}

// prefix is the size of a message with its prefix.
func prefix(data []byte, bytes int, order binary.ByteOrder) (int, bool) {
	if len(data) < bytes {
		return 0, false
	}
	var n uint64
	switch bytes {
	case 1:
		n = uint64(data[0])
	case 2:
		n = uint64(order.Uint16(data))
	case 4:
		n = uint64(order.Uint32(data))
	case 8:
		n = order.Uint64(data)
	default:
		return 0, false
	}
	if n > longest {
		return 0, false
	}
	return bytes + int(n), true
}

// JSONLines is the protocol in which every line is a JSON object. The type is the value of its
// first field among type, kind, method, op and msg_type.
func JSONLines(Conn) Decoder { return newDuplex(line, line) }

func line(data []byte) message {
	end := bytes.IndexByte(data, '\n')
	if end < 0 {
		return message{}
	}
	m := message{kind: "json", text: shorten(data[:end]), size: end + 1}
	var object map[string]any
	if json.Unmarshal(data[:end], &object) == nil {
		for _, key := range []string{"type", "kind", "method", "op", "msg_type"} {
			if v, ok := object[key]; ok {
				m.kind = fmt.Sprint(v)
				break
			}
		}
	}
	return m
}

// TLS names the records of TLS. Their content is encrypted.
func TLS(Conn) Decoder { return newDuplex(record, record) }

func record(data []byte) message {
	if len(data) < 6 {
		return message{}
	}
	m := message{size: 5 + int(binary.BigEndian.Uint16(data[3:]))}
	switch kind := data[0]; kind {
	case 20:
		m.kind = "TLS change cipher"
	case 21:
		m.kind = "TLS alert"
	case 22:
		m.kind = "TLS handshake"
	case 23:
		m.kind = "TLS data"
	default:
		return message{}
	}
	m.text = fmt.Sprintf("%d bytes", m.size-5)
	return m
}
