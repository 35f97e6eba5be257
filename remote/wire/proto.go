package wire

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// The wire format of protocol buffers, written by hand: the messages are few, and need no generated code. Fields are in
// the order of the definition; zero values are omitted.

func (h *Hello) append(b []byte) []byte {
	b = appendNumber(b, 1, uint64(h.Node))
	for _, k := range slices.Sorted(maps.Keys(h.Info)) {
		entry := appendText(appendText(nil, 1, k), 2, h.Info[k])
		b = protowire.AppendBytes(protowire.AppendTag(b, 2, protowire.BytesType), entry)
	}
	return b
}

func (h *Hello) read(f field) error {
	switch f.number {
	case 1:
		return f.uint32(&h.Node)
	case 2:
		var key, value string
		err := f.message(func(f field) error {
			switch f.number {
			case 1:
				return f.text(&key)
			case 2:
				return f.text(&value)
			}
			return nil
		})
		if h.Info == nil {
			h.Info = map[string]string{}
		}
		h.Info[key] = value
		return err
	}
	return nil
}

func (o *Order) append(b []byte) []byte {
	b = appendNumber(b, 1, uint64(o.Kind))
	b = appendNumber(b, 2, uint64(o.Number))
	b = appendNumber(b, 3, uint64(o.Run))
	b = appendNumber(b, 4, uint64(o.Session))
	b = appendNumber(b, 5, uint64(o.Nodes))
	b = appendNumber(b, 6, uint64(o.Seed))
	b = appendNumber(b, 7, protowire.EncodeBool(o.Texts))
	b = appendNumber(b, 8, uint64(o.From))
	b = appendText(b, 9, o.Type)
	b = appendBytes(b, 10, o.Body)
	b = appendNumber(b, 11, uint64(o.Request))
	b = appendText(b, 12, o.Text)
	b = appendNumber(b, 13, uint64(o.Now))
	for i := range o.Replicas {
		b = protowire.AppendBytes(protowire.AppendTag(b, 14, protowire.BytesType), o.Replicas[i].append(nil))
	}
	return b
}

func (o *Order) read(f field) error {
	switch f.number {
	case 1:
		return f.uint32((*uint32)(&o.Kind))
	case 2:
		return f.uint32(&o.Number)
	case 3:
		return f.uint32(&o.Run)
	case 4:
		return f.uint32(&o.Session)
	case 5:
		return f.uint32(&o.Nodes)
	case 6:
		return f.uint64((*uint64)(&o.Seed))
	case 7:
		var n uint64
		err := f.uint64(&n)
		o.Texts = protowire.DecodeBool(n)
		return err
	case 8:
		return f.uint32(&o.From)
	case 9:
		return f.text(&o.Type)
	case 10:
		return f.bytes(&o.Body)
	case 11:
		return f.uint32(&o.Request)
	case 12:
		return f.text(&o.Text)
	case 13:
		return f.uint64((*uint64)(&o.Now))
	case 14:
		o.Replicas = append(o.Replicas, Hello{})
		return f.message(o.Replicas[len(o.Replicas)-1].read)
	}
	return nil
}

func (r *Report) append(b []byte) []byte {
	b = appendNumber(b, 1, uint64(r.Session))
	b = appendNumber(b, 2, uint64(r.Run))
	b = appendNumber(b, 3, uint64(r.Done))
	for i := range r.Effects {
		e := &r.Effects[i]
		b = protowire.AppendVarint(protowire.AppendTag(b, 4, protowire.BytesType), uint64(e.size()))
		b = e.append(b)
	}
	b = appendText(b, 5, r.State)
	return appendText(b, 6, r.Role)
}

func (r *Report) read(f field) error {
	switch f.number {
	case 1:
		return f.uint32(&r.Session)
	case 2:
		return f.uint32(&r.Run)
	case 3:
		return f.uint32(&r.Done)
	case 4:
		r.Effects = append(r.Effects, Effect{})
		return f.message(r.Effects[len(r.Effects)-1].read)
	case 5:
		return f.text(&r.State)
	case 6:
		return f.text(&r.Role)
	}
	return nil
}

func (e *Effect) append(b []byte) []byte {
	b = appendNumber(b, 1, uint64(e.Kind))
	b = appendNumber(b, 2, uint64(e.To))
	b = appendText(b, 3, e.Type)
	b = appendBytes(b, 4, e.Body)
	b = appendNumber(b, 5, uint64(e.Phase))
	b = appendNumber(b, 6, uint64(e.Round))
	b = appendText(b, 7, e.Text)
	return appendNumber(b, 8, uint64(e.After))
}

// size returns the number of bytes that append writes; all tags are one byte long.
func (e *Effect) size() int {
	size := 0
	for _, n := range [...]uint64{uint64(e.Kind), uint64(e.To), uint64(e.Phase), uint64(e.Round), uint64(e.After)} {
		if n != 0 {
			size += 1 + protowire.SizeVarint(n)
		}
	}
	for _, n := range [...]int{len(e.Type), len(e.Body), len(e.Text)} {
		if n != 0 {
			size += 1 + protowire.SizeBytes(n)
		}
	}
	return size
}

func (e *Effect) read(f field) error {
	switch f.number {
	case 1:
		return f.uint32((*uint32)(&e.Kind))
	case 2:
		return f.uint32(&e.To)
	case 3:
		return f.text(&e.Type)
	case 4:
		return f.bytes(&e.Body)
	case 5:
		return f.uint32(&e.Phase)
	case 6:
		return f.uint32(&e.Round)
	case 7:
		return f.text(&e.Text)
	case 8:
		return f.uint64((*uint64)(&e.After))
	}
	return nil
}

func (*Bye) append(b []byte) []byte { return b }
func (*Bye) read(field) error       { return nil }

func appendNumber(b []byte, number protowire.Number, n uint64) []byte {
	if n == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), n)
}

func appendText(b []byte, number protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), s)
}

func appendBytes(b []byte, number protowire.Number, p []byte) []byte {
	if len(p) == 0 {
		return b
	}
	return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), p)
}

// field is one decoded field: a number or bytes.
type field struct {
	number protowire.Number
	kind   protowire.Type
	varint uint64
	data   []byte
}

var errType = errors.New("wire: a field of another type")

func (f field) uint64(to *uint64) error {
	if f.kind != protowire.VarintType {
		return errType
	}
	*to = f.varint
	return nil
}

func (f field) uint32(to *uint32) error {
	if f.kind != protowire.VarintType {
		return errType
	}
	*to = uint32(f.varint) // truncated as protocol buffers do
	return nil
}

func (f field) bytes(to *[]byte) error {
	if f.kind != protowire.BytesType {
		return errType
	}
	*to = append([]byte(nil), f.data...)
	return nil
}

func (f field) text(to *string) error {
	if f.kind != protowire.BytesType {
		return errType
	}
	if !utf8.Valid(f.data) {
		return errors.New("wire: a text that is not UTF-8")
	}
	*to = string(f.data)
	return nil
}

func (f field) message(read func(field) error) error {
	if f.kind != protowire.BytesType {
		return errType
	}
	return fields(f.data, read)
}

// fields reads the fields of a message one after the other, and skips unknown ones.
func fields(b []byte, read func(field) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("wire: %w", protowire.ParseError(n))
		}
		b = b[n:]
		f := field{number: number, kind: kind}
		switch kind {
		case protowire.VarintType:
			f.varint, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			f.data, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		if n < 0 {
			return fmt.Errorf("wire: %w", protowire.ParseError(n))
		}
		b = b[n:]
		if err := read(f); err != nil {
			return err
		}
	}
	return nil
}
