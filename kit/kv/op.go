// Package kv is a key-value workload for systems under test.
//
// It has four parts. A [Map] is a small replicated map with client sessions: a request that arrives twice takes effect
// once. An [Op] is an operation on the map, with a codec. [Clients] draw operations, time out and try another node. The
// specs [Linearizable], [Sequential] and [Revisions] check the history of the clients.
//
// A system begins a run with [Clients.Begin]. A request step gives the system the number of a request, and
// [Clients.Given] returns its operation. The system may offer the operation again ([Clients.Offer]), and answers it
// once ([Clients.Answer]). The clients number the requests and report the events of the history.
package kv

import (
	"encoding/binary"
	"strconv"

	"github.com/lockstep-go/lockstep/internal/mix"
)

// Limits of the workload.
const (
	MaxClients  = 16
	MaxRequests = 1000
	MaxKeys     = 8
)

// Kind says what an operation does to its key.
type Kind uint8

// The kinds of operation.
const (
	Put    Kind = iota // sets the key to Value
	Get                // reads the key
	Cas                // sets the key to Value if it is Old
	Append             // adds Value to what the key holds
	Delete             // makes the key as if it had never been written
	kinds
)

// Act is one access to one key.
type Act struct {
	Kind       Kind
	Key        uint8
	Value, Old int32
}

// Op is a client's operation on the map. Client and Seq are its identity, which it keeps
// however many attempts the client makes.
type Op struct {
	Client int // from 1
	Seq    uint16
	Act
	// Txn makes a transaction of it: both acts take place at once, or neither where one is
	// a Cas of another value.
	Txn  bool
	Also Act
}

// Writes reports whether the operation must go the way of writes: all but single reads.
func (o *Op) Writes() bool { return o.Kind != Get || o.Txn }

// hash is a number for the operation, for a table.
func (o *Op) hash() uint64 {
	return mix.Number(uint64(o.Client)<<56 ^ uint64(o.Kind)<<48 ^ uint64(o.Key)<<40 ^ uint64(uint32(o.Old))<<20 ^
		uint64(uint32(o.Value)))
}

// Value is what a key holds: a number, and what was appended to it since.
type Value struct {
	Number int32
	Tail   string // " 3 4"
}

// String is the value as text.
func (v Value) String() string { return strconv.Itoa(int(v.Number)) + v.Tail }

// Result is the answer to an operation: the key's value after it, for a Cas and a
// transaction whether it took place, and for a transaction the second key's value.
type Result struct {
	Value Value
	OK    bool
	Also  Value
	// Revision is the number of the state that the answer is about, where the system counts its
	// states; 0: it was not reported.
	Revision int64
}

// KeyName is the name of a key: a letter.
func KeyName(k uint8) string { return string(rune('a' + k)) }

// String is the act as text: "put a=3".
func (a Act) String() string {
	key, value := KeyName(a.Key), strconv.Itoa(int(a.Value))
	switch a.Kind {
	case Put:
		return "put " + key + "=" + value
	case Get:
		return "get " + key
	case Append:
		return "append " + key + "+" + value
	case Delete:
		return "delete " + key
	default:
		return "cas " + key + "=" + strconv.Itoa(int(a.Old)) + "->" + value
	}
}

// String is the operation as text: "c1 put a=3".
func (o *Op) String() string {
	text := "c" + strconv.Itoa(o.Client) + " " + o.Act.String()
	if o.Txn {
		text += " and " + o.Also.String()
	}
	return text
}

// String is the result as text.
func (r *Result) String() string {
	text := "is "
	if !r.OK {
		text = "refused, is "
	}
	text += r.Value.String()
	if r.Also != (Value{}) {
		text += " and " + r.Also.String()
	}
	if r.Revision != 0 {
		text += " at revision " + strconv.FormatInt(r.Revision, 10)
	}
	return text
}

// The lengths of encoded operations.
const (
	actSize = 10
	size    = 3 + actSize
	txn     = 0x80 // in the place of the kind
)

// Encode adds an operation to bytes, in a form that [Decode] reads.
func (o Op) Encode(to []byte) []byte {
	kind := byte(o.Kind)
	if o.Txn {
		kind |= txn
	}
	to = append(to, byte(o.Client))
	to = binary.LittleEndian.AppendUint16(to, o.Seq)
	to = o.Act.encode(append(to, kind))
	if o.Txn {
		to = o.Also.encode(append(to, byte(o.Also.Kind)))
	}
	return to
}

func (a Act) encode(to []byte) []byte {
	to = binary.LittleEndian.AppendUint32(append(to, a.Key), uint32(a.Value))
	return binary.LittleEndian.AppendUint32(to, uint32(a.Old))
}

// Decode reads an operation, and reports whether the bytes are one.
func Decode(data []byte) (o Op, ok bool) {
	if len(data) != size && len(data) != size+actSize {
		return Op{}, false
	}
	o = Op{Client: int(data[0]), Seq: binary.LittleEndian.Uint16(data[1:]), Act: decodeAct(data[3:]),
		Txn: data[3]&txn != 0}
	o.Kind &^= txn
	if o.Txn && len(data) > size {
		o.Also = decodeAct(data[size:])
	}
	ok = o.Client >= 1 && o.Client <= MaxClients && o.Act.valid() && o.Also.valid() && o.Txn == (len(data) > size)
	return o, ok
}

func decodeAct(data []byte) Act {
	return Act{Kind: Kind(data[0]), Key: data[1], Value: int32(binary.LittleEndian.Uint32(data[2:])),
		Old: int32(binary.LittleEndian.Uint32(data[6:]))}
}

func (a Act) valid() bool { return a.Kind < kinds && a.Key < MaxKeys }
