package bftsmart

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/trace"
)

// Message is the decoded part of a message between replicas: Java's serialization of it, as on the wire.
type Message struct {
	// Type is PROPOSE, WRITE, ACCEPT, STOP, STOPDATA, SYNC, TIMEOUT, which a replica sends to itself, or the name of
	// another class.
	Type string
	// Sender is the sender in the message, from 1.
	Sender int
	// Consensus counts decisions from 0; a leader change has none.
	Consensus int
	// Epoch is the epoch of the message, from 0.
	Epoch int
	// Value is the proposal, or its hash; a leader change has none.
	Value []byte
}

// Types are the types of messages.
var Types = []string{
	"PROPOSE",
	"WRITE",
	"ACCEPT",
	"STOP",
	"STOPDATA",
	"SYNC",
	"TIMEOUT",
	"ForwardedMessage",
	"VMMessage",
}

// Rounds are the rounds of a phase: a decision in an epoch, and the change to the next epoch.
var Rounds = Types[:6]

const (
	propose  = 44781 // the number of the first type of consensus messages
	stop     = 3     // and of leader changes
	syncType = 5
)

// String returns the message as text, which a Replace step parses.
func (m Message) String() string {
	if m.Value == nil {
		return fmt.Sprintf("%s sender=%d epoch=%d", m.Type, m.Sender, m.Epoch)
	}
	return fmt.Sprintf("%s sender=%d consensus=%d epoch=%d value=%s", m.Type, m.Sender, m.Consensus, m.Epoch,
		hex.EncodeToString(m.Value))
}

// tag returns the phase and round, as the agent reports them.
func (m Message) tag() trace.Tag {
	round := slices.Index(Rounds, m.Type)
	if round < 0 {
		return trace.Tag{}
	}
	return trace.Tag{Phase: int32(m.Consensus + m.Epoch + 1), Round: int32(round)}
}

var errShort = errors.New("bftsmart: a truncated message")

// Decode decodes a message.
func Decode(body []byte) (Message, error) {
	name, data, _, err := object(body)
	if err != nil {
		return Message{}, err
	}
	var m Message
	switch name {
	case "bftsmart.consensus.messages.ConsensusMessage":
		return consensus(data)
	case "bftsmart.tom.leaderchange.LCMessage":
		var n [3]int
		if err := ints(data, n[:]); err != nil {
			return m, err
		}
		m = Message{Type: "TIMEOUT", Sender: n[0] + 1, Epoch: n[2]}
		if n[1] >= stop && n[1] <= syncType {
			m.Type = Rounds[n[1]]
		}
	default:
		var n [1]int
		if err := ints(data, n[:]); err != nil {
			return m, err
		}
		m = Message{Type: name[strings.LastIndex(name, ".")+1:], Sender: n[0] + 1}
	}
	return m, nil
}

// valueAt is the offset of the value in the data of a consensus message.
const valueAt = 20

func consensus(data []byte) (m Message, err error) {
	var n [5]int
	if err := ints(data, n[:]); err != nil {
		return m, err
	}
	if n[3] < propose || n[3] > propose+2 {
		return m, fmt.Errorf("bftsmart: a consensus message of type %d", n[3])
	}
	m = Message{Type: Rounds[n[3]-propose], Sender: n[0] + 1, Consensus: n[1], Epoch: n[2], Value: []byte{}}
	if n[4] > 0 {
		if len(data) < valueAt+n[4] {
			return m, errShort
		}
		m.Value = data[valueAt : valueAt+n[4]]
	}
	return m, nil
}

func ints(data []byte, to []int) error {
	if len(data) < 4*len(to) {
		return errShort
	}
	for i := range to {
		to[i] = int(int32(binary.BigEndian.Uint32(data[4*i:])))
	}
	return nil
}

// The relevant marks of Java's serialization.
const (
	serialized    = "\xac\xed\x00\x05"
	objectMark    = 0x73
	classMark     = 0x72
	noClass       = 0x70
	endMark       = 0x78
	blockMark     = 0x77 // with a byte for the length
	longBlockMark = 0x7a // with four bytes
)

// object parses an Externalizable object: the name of its class, and the data that it wrote. At is the offset of the
// first data block in the body.
func object(body []byte) (name string, data []byte, at int, err error) {
	rest, ok := bytes.CutPrefix(body, []byte(serialized))
	if !ok || len(rest) < 2 || rest[0] != objectMark || rest[1] != classMark {
		return "", nil, 0, errors.New("bftsmart: the body is not a serialized Java object")
	}
	name, rest, err = classes(rest[1:])
	if err != nil {
		return "", nil, 0, err
	}
	for {
		block, after, head, err := block(rest)
		if err != nil {
			return "", nil, 0, err
		}
		if head == 0 {
			return name, data, at, nil
		}
		if at == 0 {
			at = len(body) - len(rest) + head
		}
		data, rest = append(data, block...), after
	}
}

// classes parses the description of a class and of its superclasses, which have no fields because the objects write
// themselves. It returns the first name.
func classes(rest []byte) (name string, after []byte, err error) {
	for len(rest) > 0 && rest[0] == classMark {
		if len(rest) < 3 {
			return "", nil, errShort
		}
		length := int(binary.BigEndian.Uint16(rest[1:]))
		const tail = 8 + 1 + 2 + 1 // a number for the version, flags, the number of fields, the end
		if len(rest) < 3+length+tail {
			return "", nil, errShort
		}
		if name == "" {
			name = string(rest[3 : 3+length])
		}
		rest = rest[3+length:]
		if fields := binary.BigEndian.Uint16(rest[9:]); fields != 0 || rest[tail-1] != endMark {
			return "", nil, fmt.Errorf("bftsmart: objects of %s cannot be encoded", name)
		}
		rest = rest[tail:]
	}
	if len(rest) == 0 || rest[0] != noClass {
		return "", nil, errShort
	}
	return name, rest[1:], nil
}

// block reads a block of data; a head of 0 bytes means that there is none.
func block(rest []byte) (data, after []byte, head int, err error) {
	size := 0
	switch {
	case len(rest) > 1 && rest[0] == blockMark:
		size, head = int(rest[1]), 2
	case len(rest) > 4 && rest[0] == longBlockMark:
		size, head = int(binary.BigEndian.Uint32(rest[1:])), 5
	default:
		return nil, rest, 0, nil
	}
	if size < 0 || size > len(rest)-head {
		return nil, nil, 0, errShort
	}
	return rest[head : head+size], rest[head+size:], head, nil
}

// original finds, among the bodies before a forged message, the last one with the same text except for the value; nil
// if there is none.
func original(text string, forged trace.ID, body func(trace.ID) []byte) []byte {
	want, _, _ := strings.Cut(text, " value=")
	for id := forged - 1; id > 0; id-- {
		if m, err := Decode(body(id)); err == nil {
			if head, _, _ := strings.Cut(m.String(), " value="); head == want {
				return body(id)
			}
		}
	}
	return nil
}

// forge creates a message with another value of the same length from the text that String returns.
func forge(original []byte, text string) ([]byte, Message, error) {
	m, err := Decode(original)
	if err != nil {
		return nil, m, err
	}
	head, value, found := strings.Cut(text, " value=")
	bytes, err := hex.DecodeString(value)
	was, _, _ := strings.Cut(m.String(), " value=")
	switch {
	case !found || err != nil || head != was:
		return nil, m, fmt.Errorf(
			"bftsmart: %q can only become %s value=..., with an even number of hexadecimal digits", m, was)
	case len(bytes) != len(m.Value):
		return nil, m, fmt.Errorf("bftsmart: a value of %d bytes can only become one of as many, not of %d",
			len(m.Value), len(bytes))
	}
	_, _, at, err := object(original)
	if err != nil {
		return nil, m, err
	}
	forged := slices.Clone(original)
	copy(forged[at+valueAt:], bytes)
	if again, err := Decode(forged); err != nil || !slices.Equal(again.Value, bytes) {
		return nil, m, fmt.Errorf("bftsmart: the value of a %s of %d bytes is not in one piece", m.Type, len(original))
	}
	m.Value = bytes
	return forged, m, nil
}
