package ratis

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/trace"
)

// Rounds are those of a phase, which is a term. A candidate requests votes and receives them. The leader sends entries,
// or empty heartbeats, and receives replies.
var Rounds = []string{"vote", "voted", "append", "appended"}

const (
	vote = iota
	voted
	appending
	appended
)

// Types are the types of the messages that are reported.
var Types = []string{
	"RequestVote",
	"RequestVoteReply",
	"AppendEntries",
	"AppendEntriesReply",
	"InstallSnapshot",
	"InstallSnapshotReply",
}

// request and reply are the messages by their field number in Netty's envelope; others are carried without a decision.
var (
	requestTypes = map[int]func([]byte) (process.Packet, error){
		1: requestVote,
		2: appendEntries,
		3: snapshot("InstallSnapshot", appending),
	}
	replyTypes = map[int]func([]byte) (process.Packet, error){
		1: votedReply,
		2: appendReply,
		3: snapshot("InstallSnapshotReply", appended),
	}
)

// fields are the fields of a protobuf message by number: the numeric and the length-delimited values. Of a repeated
// field it keeps only the last value, and the count.
type fields struct {
	number map[int]uint64
	bytes  map[int][]byte
	count  map[int]int
}

var errProto = errors.New("this is no protobuf message")

// parse parses a protobuf message.
func parse(data []byte) (fields, error) {
	f := fields{map[int]uint64{}, map[int][]byte{}, map[int]int{}}
	for len(data) > 0 {
		key, n := binary.Uvarint(data)
		if n <= 0 || key>>3 == 0 || key>>3 > 1<<29 {
			return f, errProto
		}
		data = data[n:]
		field := int(key >> 3)
		f.count[field]++
		switch key & 7 {
		case 0:
			v, n := binary.Uvarint(data)
			if n <= 0 {
				return f, errProto
			}
			f.number[field], data = v, data[n:]
		case 1, 5:
			size := 8
			if key&7 == 5 {
				size = 4
			}
			if len(data) < size {
				return f, errProto
			}
			data = data[size:]
		case 2:
			v, n := binary.Uvarint(data)
			if n <= 0 || v > uint64(len(data)-n) {
				return f, errProto
			}
			f.bytes[field], data = data[n:n+int(v)], data[n+int(v):]
		default:
			return f, errProto
		}
	}
	return f, nil
}

// index returns a field that holds an index, or -1.
func (f fields) index(field int) int64 { return int64(f.number[field]) }

// termIndex returns the term and index of an entry from a field, or -1 if it is missing.
func (f fields) termIndex(field int) (term, index int64, err error) {
	b, ok := f.bytes[field]
	if !ok {
		return -1, -1, nil
	}
	is, err := parse(b)
	return is.index(1), is.index(2), err
}

// tag returns the tag of a message of a term.
func tag(term uint64, round int32) trace.Tag {
	return trace.Tag{Phase: int32(min(term, 1<<31-1)), Round: round}
}

// height returns the height of a log with the given last index.
func height(index int64) int64 { return max(index+1, 0) }

func requestVote(data []byte) (process.Packet, error) {
	f, err := parse(data)
	if err != nil {
		return process.Packet{}, err
	}
	term, index, err := f.termIndex(3)
	text := fmt.Sprintf("term=%d last=%d:%d", f.number[2], term, index)
	if f.number[4] != 0 {
		text += " pre-vote"
	}
	return process.Packet{Type: "RequestVote", Tag: tag(f.number[2], vote), Progress: height(index), Text: text}, err
}

func votedReply(data []byte) (process.Packet, error) {
	f, granted, err := reply(data)
	return process.Packet{
		Type: "RequestVoteReply",
		Tag:  tag(f.number[2], voted),
		Text: fmt.Sprintf("term=%d granted=%t", f.number[2], granted),
	}, err
}

// reply parses a reply, and whether it reports success.
func reply(data []byte) (f fields, success bool, err error) {
	if f, err = parse(data); err != nil {
		return f, false, err
	}
	server, err := parse(f.bytes[1])
	return f, server.number[15] != 0, err
}

func appendEntries(data []byte) (process.Packet, error) {
	f, err := parse(data)
	if err != nil {
		return process.Packet{}, err
	}
	term, index, err := f.termIndex(3)
	text := fmt.Sprintf("term=%d previous=%d:%d entries=%d commit=%d", f.number[2], term, index, f.count[4], f.index(5))
	return process.Packet{
		Type:     "AppendEntries",
		Tag:      tag(f.number[2], appending),
		Progress: height(f.index(5)),
		Text:     text,
	}, err
}

var results = []string{"SUCCESS", "NOT_LEADER", "INCONSISTENCY"}

func appendReply(data []byte) (process.Packet, error) {
	f, _, err := reply(data)
	if err != nil {
		return process.Packet{}, err
	}
	result := fmt.Sprint(f.number[4])
	if f.number[4] < uint64(len(results)) {
		result = results[f.number[4]]
	}
	text := fmt.Sprintf("term=%d %s next=%d commit=%d", f.number[2], result, f.index(3), f.index(5))
	return process.Packet{
		Type:     "AppendEntriesReply",
		Tag:      tag(f.number[2], appended),
		Progress: height(f.index(5)),
		Text:     text,
	}, nil
}

// snapshot parses a message about a snapshot, of which only the term matters.
func snapshot(name string, round int32) func([]byte) (process.Packet, error) {
	return func(data []byte) (process.Packet, error) {
		f, err := parse(data)
		return process.Packet{Type: name, Tag: tag(f.number[2], round), Text: fmt.Sprintf("term=%d", f.number[2])}, err
	}
}

// Netty is the protocol of the Netty transport: length-prefixed messages, each of one of several kinds.
func Netty() (said, answered process.Decoder) {
	return nettyDecoder{requestTypes}, nettyDecoder{replyTypes}
}

type nettyDecoder struct {
	types map[int]func([]byte) (process.Packet, error)
}

// maxMessage is more than servers accept.
const maxMessage = 16 << 20

// Next reads a message.
func (d nettyDecoder) Next(data []byte) (process.Packet, int, error) {
	length, n := binary.Uvarint(data)
	switch {
	case n < 0 || n > 5 || length > maxMessage:
		return process.Packet{}, 0, fmt.Errorf("ratis: a message of %d bytes, or more", length)
	case n == 0 || uint64(len(data)-n) < length:
		return process.Packet{}, 0, nil
	}
	end := n + int(length)
	f, err := parse(data[n:end])
	if err != nil {
		return process.Packet{}, 0, fmt.Errorf("ratis: at the Netty port: %w", err)
	}
	for number, read := range d.types {
		if body, ok := f.bytes[number]; ok {
			p, err := read(body)
			if err != nil {
				return process.Packet{}, 0, fmt.Errorf("ratis: message %d at the Netty port: %w", number, err)
			}
			return p, end, nil
		}
	}
	return process.Packet{}, end, nil
}

// together merges several messages into one packet.
func together(packets []process.Packet) (p process.Packet) {
	var texts []string
	for i, q := range packets {
		if i == 0 {
			p = q
		}
		p.Progress = max(p.Progress, q.Progress)
		texts = append(texts, q.Text)
	}
	p.Text = strings.Join(texts, "; ")
	return p
}
