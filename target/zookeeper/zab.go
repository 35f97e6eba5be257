package zookeeper

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/trace"
)

// Rounds are those of a phase of ZAB, as in the tags of messages. Servers elect a leader and agree on its epoch, and
// the followers synchronize. The leader then proposes, receives acknowledgements and commits. A phase is an epoch and
// the number of a proposal in it.
var Rounds = []string{"election", "discovery", "synchronization", "proposal", "ack", "commit"}

const (
	election = iota
	discovery
	synchronization
	proposal
	ack
	commit
)

// kindOf are the packets between a leader and a follower, by their number: name and round. Those without a name are
// carried without a decision: heartbeats, client requests, sessions.
var kindOf = map[int32]struct {
	name  string
	round int32
}{
	2:  {"PROPOSAL", proposal},
	3:  {"ACK", ack},
	4:  {"COMMIT", commit},
	9:  {"COMMITANDACTIVATE", commit},
	10: {"NEWLEADER", synchronization},
	11: {"FOLLOWERINFO", discovery},
	12: {"UPTODATE", synchronization},
	13: {"DIFF", synchronization},
	14: {"TRUNC", synchronization},
	15: {"SNAP", synchronization},
	16: {"OBSERVERINFO", discovery},
	17: {"LEADERINFO", discovery},
	18: {"ACKEPOCH", discovery},
	1:  {"REQUEST", 0},
	5:  {},
	6:  {},
	7:  {},
	8:  {"INFORM", commit},
	19: {"INFORMANDACTIVATE", commit},
}

// Types are the types of the messages that are reported.
var Types = []string{
	"Notification",
	"REQUEST",
	"PROPOSAL",
	"ACK",
	"COMMIT",
	"COMMITANDACTIVATE",
	"NEWLEADER",
	"FOLLOWERINFO",
	"UPTODATE",
	"DIFF",
	"TRUNC",
	"SNAP",
	"OBSERVERINFO",
	"LEADERINFO",
	"ACKEPOCH",
	"INFORM",
	"INFORMANDACTIVATE",
}

const snapshotKind = 15

// Quorum is the protocol of the quorum port, on which a follower dials its leader.
func Quorum() (said, answered process.Decoder) { return &quorumDecoder{}, &quorumDecoder{} }

// quorumDecoder decodes one direction: packets, and a snapshot after the packet that announces it.
type quorumDecoder struct{ snapshot bool }

// signature is the end of a snapshot: a length-prefixed string.
var signature = append([]byte{0, 0, 0, 10}, "BenWasHere"...)

// Next reads a packet, or the available part of a snapshot.
func (q *quorumDecoder) Next(data []byte) (process.Packet, int, error) {
	if q.snapshot {
		return process.Packet{}, q.pass(data), nil
	}
	r := reader{data: data}
	kind, zxid := int32(r.number(4)), r.number(8)
	r.bytes()
	for range r.count() {
		r.bytes() // a scheme
		r.bytes() // and an identity
	}
	if r.wrong != nil {
		return process.Packet{}, 0, fmt.Errorf("zookeeper: at the quorum port, packet %d: %w", kind, r.wrong)
	}
	is, known := kindOf[kind]
	switch {
	case len(data) >= 4 && !known:
		return process.Packet{}, 0, fmt.Errorf("zookeeper: at the quorum port, there is no packet %d", kind)
	case r.short:
		return process.Packet{}, 0, nil
	}
	q.snapshot = kind == snapshotKind
	return process.Packet{Type: is.name, Tag: tag(zxid, is.round), Text: fmt.Sprintf("zxid=%#x", zxid)}, r.at, nil
}

// pass returns the length of the data that certainly belongs to the snapshot.
func (q *quorumDecoder) pass(data []byte) int {
	if end := bytes.Index(data, signature); end >= 0 {
		q.snapshot = false
		return end + len(signature)
	}
	for keep := min(len(signature)-1, len(data)); keep > 0; keep-- { // the signature may have begun
		if bytes.HasSuffix(data, signature[:keep]) {
			return len(data) - keep
		}
	}
	return len(data)
}

// counterBits is the number of bits of a phase for the number of a proposal; the rest is the epoch.
const counterBits = 12

// tag returns the tag of a packet with a zxid, which is an epoch and a number in it.
func tag(zxid uint64, round int32) trace.Tag {
	epoch, counter := zxid>>32&(1<<(31-counterBits)-1), min(zxid&(1<<32-1), 1<<counterBits-1)
	if round < proposal {
		counter = 0
	}
	return trace.Tag{Phase: int32(epoch<<counterBits | counter), Round: round}
}

// Election is the protocol of the election port, after the greeting: notifications in both directions.
func Election() (said, answered process.Decoder) { return electionDecoder{}, electionDecoder{} }

type electionDecoder struct{}

// states are the states of a server in notifications.
var states = []string{"LOOKING", "FOLLOWING", "LEADING", "OBSERVING"}

// maxNotification is more than a server accepts.
const maxNotification = 512 << 10

// Next reads a notification: its length, a state, and the vote. It ignores the rest, which later versions send.
func (electionDecoder) Next(data []byte) (process.Packet, int, error) {
	r := reader{data: data}
	length := r.number(4)
	if !r.short && (length < 28 || length > maxNotification) { // the oldest form has 28
		return process.Packet{}, 0, fmt.Errorf("zookeeper: at the election port, a notification of %d bytes", length)
	}
	if r.short || uint64(len(data)) < 4+length {
		return process.Packet{}, 0, nil
	}
	state, leader, zxid, epoch := r.number(4), r.number(8), r.number(8), r.number(8)
	name := fmt.Sprint(state)
	if state < uint64(len(states)) {
		name = states[state]
	}
	text := fmt.Sprintf("%s leader=%d zxid=%#x round=%d", name, int64(leader), zxid, int64(epoch))
	return process.Packet{Type: "Notification", Tag: tag(zxid, election), Text: text}, int(4 + length), nil
}

// reader reads big-endian numbers and bytes. A read beyond the end marks it as short, and all later reads, too.
type reader struct {
	data  []byte
	at    int
	short bool
	wrong error
}

func (r *reader) number(size int) (n uint64) {
	if r.short || len(r.data)-r.at < size {
		r.short = true
		return 0
	}
	var whole [8]byte
	copy(whole[8-size:], r.data[r.at:])
	r.at += size
	return binary.BigEndian.Uint64(whole[:])
}

// Bounds on the content of a packet, far above real values.
const (
	maxBytes = 8 << 20
	maxIDs   = 100
)

// bytes skips length-prefixed bytes; the length -1 means none.
func (r *reader) bytes() {
	n := int32(r.number(4))
	switch {
	case r.short || n == -1:
	case n < 0 || n > maxBytes:
		r.wrong, r.short = fmt.Errorf("%d bytes", n), true
	case len(r.data)-r.at < int(n):
		r.short = true
	default:
		r.at += int(n)
	}
}

// count reads the length of a list, -1 for none.
func (r *reader) count() int {
	n := int32(r.number(4))
	if n < -1 || n > maxIDs {
		r.wrong, r.short = fmt.Errorf("%d identities", n), true
		return 0
	}
	return max(int(n), 0)
}
