package etcdraft

import (
	"encoding/binary"
	"fmt"

	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

// OpKind says what an operation does.
type OpKind uint8

// The kinds of operation.
const (
	Put OpKind = iota // sets the key to Value
	Get               // reads the key
	Cas               // sets the key to Value if it is Old
)

// Op is a client's operation on the replicated map. Client and Seq are its identity,
// which it keeps however often the client tries.
type Op struct {
	Client     int // from 1
	Seq        uint16
	Kind       OpKind
	Key        uint8
	Value, Old int32
}

// Result is the answer to an operation: the key's value after it, and for a Cas whether
// it took place.
type Result struct {
	Value int32
	OK    bool
}

func keyName(k uint8) string { return string(rune('a' + k)) }

// String is the operation in words: "c1 put a=3".
func (o *Op) String() string {
	switch o.Kind {
	case Put:
		return fmt.Sprintf("c%d put %s=%d", o.Client, keyName(o.Key), o.Value)
	case Get:
		return fmt.Sprintf("c%d get %s", o.Client, keyName(o.Key))
	default:
		return fmt.Sprintf("c%d cas %s=%d->%d", o.Client, keyName(o.Key), o.Old, o.Value)
	}
}

// String is the result in words.
func (r *Result) String() string {
	if !r.OK {
		return fmt.Sprintf("refused, is %d", r.Value)
	}
	return fmt.Sprintf("is %d", r.Value)
}

const opSize = 13

// encode writes an operation as the data of an entry.
func (o Op) encode(to []byte) []byte {
	to = append(to, byte(o.Client), byte(o.Kind), o.Key)
	to = binary.LittleEndian.AppendUint16(to, o.Seq)
	to = binary.LittleEndian.AppendUint32(to, uint32(o.Value))
	return binary.LittleEndian.AppendUint32(to, uint32(o.Old))
}

// decode reads the data of an entry.
func decode(data []byte) Op {
	return Op{Client: int(data[0]), Kind: OpKind(data[1]), Key: data[2], Seq: binary.LittleEndian.Uint16(data[3:]),
		Value: int32(binary.LittleEndian.Uint32(data[5:])), Old: int32(binary.LittleEndian.Uint32(data[9:]))}
}

// entryText puts the data of an entry into words.
func entryText(e raftlib.Entry) string {
	switch {
	case e.Kind != raftlib.Normal:
		return "members"
	case len(e.Data) == opSize:
		o := decode(e.Data)
		return o.String()
	case len(e.Data) == 8: // the context of a read
		return "read"
	default:
		return "-"
	}
}
