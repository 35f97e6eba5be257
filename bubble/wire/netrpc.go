package wire

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"net/rpc"
	"reflect"
)

// NetRPC is the protocol of package net/rpc, in gob. The type of a call is its method. The type of the answer is the
// same with the suffix " answer".
func NetRPC(Conn) Decoder {
	return newDuplex(calls(func(d *gob.Decoder) (string, string, error) {
		var r rpc.Request
		err := d.Decode(&r)
		return r.ServiceMethod, fmt.Sprintf("seq=%d", r.Seq), err
	}), calls(func(d *gob.Decoder) (string, string, error) {
		var r rpc.Response
		err := d.Decode(&r)
		text := fmt.Sprintf("seq=%d", r.Seq)
		if r.Error != "" {
			text += " error=" + r.Error
		}
		return r.ServiceMethod + " answer", text, err
	}))
}

// calls parses a direction: alternately heads and bodies. The first value of each type follows the definition of the
// type. One gob decoder reads all values, because it must learn the types.
func calls(head func(*gob.Decoder) (kind, text string, err error)) func([]byte) message {
	var buffer bytes.Buffer
	d := gob.NewDecoder(&buffer)
	body, broken := false, false
	return func(data []byte) message {
		length, at := gobUint(data)
		if at == 0 || broken || length > longest || len(data) < at+int(length) {
			return message{}
		}
		m := message{size: at + int(length)}
		buffer.Write(data[:m.size])
		// a negative number starts the definition of a type
		if kind, n := gobUint(data[at:]); n == 0 || kind&1 != 0 {
			return m
		}
		var err error
		if body {
			err = d.DecodeValue(reflect.Value{}) // the body is discarded
		} else {
			m.kind, m.text, err = head(d)
		}
		body, broken = !body, err != nil
		return m
	}
}

// gobUint decodes an unsigned integer of gob, and returns its length in bytes.
func gobUint(data []byte) (n uint64, bytes int) {
	if len(data) == 0 {
		return 0, 0
	}
	if data[0] < 128 {
		return uint64(data[0]), 1
	}
	k := 256 - int(data[0])
	if k > 8 || len(data) < 1+k {
		return 0, 0
	}
	for _, b := range data[1 : 1+k] {
		n = n<<8 | uint64(b)
	}
	return n, 1 + k
}
