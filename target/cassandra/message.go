package cassandra

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/trace"
)

// Rounds are those of a phase, which is a ballot: a server prepares, proposes and commits, and the others respond each
// time.
var Rounds = []string{"prepare", "promise", "propose", "accept", "commit", "ack"}

// Types are the types of the messages that are reported, by round. On the wire all responses are REQUEST_RESPONSE.
var Types = []string{"PREPARE", "PREPARE_RESPONSE", "PROPOSE", "PROPOSE_RESPONSE", "COMMIT", "COMMIT_RESPONSE"}

const (
	prepared = iota
	promised
	proposed
	accepted
	committed
	acknowledged
)

// Verbs on the wire, by their number.
const (
	verbResponse = 4
	verbPrepare  = 33 // and 34 is propose, 35 is commit
	verbCommit   = 35
)

// ballot is a time-based UUID.
type ballot [16]byte

// tracker records the ballots of a run and the content of each request by its number, so that responses can be matched.
// Several links write into it.
type tracker struct {
	mutex    sync.Mutex
	row      string // of this run: messages about others pass
	ballots  map[ballot]int32
	asked    map[asked]question
	last     int32        // the ballot prepared last
	sent     map[step]int // messages seen, by ballot and round
	answered int          // responses seen
}

// asked identifies a request on the wire: the sender, and its number.
type asked struct {
	from   [4]byte
	number uint32
}

type question struct {
	ballot int32
	round  int32 // of the response
}

type step struct{ ballot, round int32 }

// begin discards all state. From now on messages about the given row are reported.
func (t *tracker) begin(row string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.row, t.last, t.answered = row, 0, 0
	t.ballots, t.asked, t.sent = map[ballot]int32{}, map[asked]question{}, map[step]int{}
}

// whole reports whether every round of the last ballot that a server has begun to send went to all others. It also
// returns the number of responses seen so far.
func (t *tracker) whole() (whole bool, answers int) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	whole = true
	for _, round := range []int32{prepared, proposed, committed} {
		n := t.sent[step{t.last, round}]
		whole = whole && (n == 0 || n >= nodes-1)
	}
	return whole, t.answered
}

// protocol is that of the connections to the server with the given address. All relevant messages come from the side
// that dialed: responses come on a connection that the other server dials.
func (t *tracker) protocol(to string) process.Protocol {
	var address [4]byte
	copy(address[:], net.ParseIP(to).To4())
	return func() (said, answered process.Decoder) { return &decoder{tracker: t, to: address}, nil }
}

// decoder decodes the stream of a connection: a handshake in two parts, with a response in between, and messages.
type decoder struct {
	tracker *tracker
	to      [4]byte
	parts   int  // of the handshake that have come
	raw     bool // it is a stream of data
}

const (
	magic     = 0xca552dfa
	streaming = 1 << 3 // a bit of the handshake's flags
	squeezed  = 1 << 2
)

// Next reads a part of the handshake, a message, or the available part of a stream.
func (d *decoder) Next(data []byte) (process.Packet, int, error) {
	r := reader{data: data}
	var p process.Packet
	switch {
	case d.raw:
		return p, len(data), nil
	case d.parts == 1: // a version and the sender's address
		r.number(4)
		r.address()
	default:
		if m := r.number(4); !r.short && m != magic {
			r.wrong, r.short = fmt.Errorf("%#x in place of the magic number", m), true
		}
		if d.parts == 0 {
			d.flags(&r)
		} else if m := d.message(&r); !r.short {
			p = d.tracker.packet(m)
		}
	}
	switch {
	case r.wrong != nil:
		return p, 0, fmt.Errorf("cassandra: at the storage port, %w", r.wrong)
	case r.short:
		return p, 0, nil
	}
	d.parts++
	return p, r.at, nil
}

// flags reads the flags of the handshake.
func (d *decoder) flags(r *reader) {
	flags := r.number(4)
	if d.raw = flags&streaming != 0; flags&squeezed != 0 {
		r.wrong = errors.New("a connection that is compressed")
	}
}

// message is a message on the wire.
type message struct {
	from, to [4]byte
	number   uint32
	verb     uint64
	payload  []byte
}

// message reads a message: its number, a time, the sender, a verb, parameters and the payload.
func (d *decoder) message(r *reader) message {
	m := message{to: d.to, number: uint32(r.number(4))}
	r.number(4) // a time
	copy(m.from[:], r.address())
	m.verb = r.number(4)
	for range r.count() {
		r.bytes(2) // a name
		r.bytes(4) // its value
	}
	m.payload = r.bytes(4)
	return m
}

// packet returns the packet of a message: a Paxos message about the run's row has a type.
func (t *tracker) packet(m message) process.Packet {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if m.verb == verbResponse {
		return t.answer(m)
	}
	if m.verb < verbPrepare || m.verb > verbCommit {
		return process.Packet{}
	}
	r := reader{data: m.payload}
	row := r.bytes(2)
	id := r.ballot()
	if r.short || string(row) != t.row {
		return process.Packet{}
	}
	round := 2 * int32(m.verb-verbPrepare)
	number, text := t.number(id), ""
	if round == prepared {
		t.last = number
	}
	if number != t.last { // an update in progress is proposed again as it was
		text = fmt.Sprint(", with ballot ", number)
	}
	t.sent[step{t.last, round}]++
	t.asked[asked{m.from, m.number}] = question{t.last, round + 1}
	return packetOf(t.last, round, text)
}

// answer returns the packet of a response.
func (t *tracker) answer(m message) process.Packet {
	q, ok := t.asked[asked{m.to, m.number}]
	if !ok {
		return process.Packet{}
	}
	delete(t.asked, asked{m.to, m.number})
	t.answered++
	text := ""
	r := reader{data: m.payload}
	if q.round != acknowledged {
		text = ", no"
		if r.number(1) == 1 {
			text = ", yes"
		}
	}
	if q.round == promised {
		r.bytes(2) // the row
		if n := t.ballots[r.ballot()]; n != 0 && n != q.ballot {
			text += fmt.Sprint(", in progress is that of ballot ", n)
		}
	}
	return packetOf(q.ballot, q.round, text)
}

func packetOf(number, round int32, text string) process.Packet {
	return process.Packet{
		Type: Types[round],
		Tag:  trace.Tag{Phase: number, Round: round},
		Text: fmt.Sprint("ballot ", number, text),
	}
}

// number returns the number of a ballot, from 1 in the order of observation.
func (t *tracker) number(id ballot) int32 {
	n := t.ballots[id]
	if n == 0 {
		n = int32(len(t.ballots) + 1)
		t.ballots[id] = n
	}
	return n
}

// reader reads big-endian numbers and bytes. A read beyond the end marks it as short, and all later reads, too.
type reader struct {
	data  []byte
	at    int
	short bool
	wrong error
}

// Bounds on the content of a message, far above real values.
const (
	maxBytes  = 8 << 20
	maxParams = 100
)

func (r *reader) take(n int) []byte {
	if r.short || len(r.data)-r.at < n {
		r.short = true
		return nil
	}
	r.at += n
	return r.data[r.at-n : r.at]
}

func (r *reader) number(size int) uint64 {
	var whole [8]byte
	copy(whole[8-size:], r.take(size))
	return binary.BigEndian.Uint64(whole[:])
}

// bytes reads bytes prefixed with their length, which itself takes size bytes.
func (r *reader) bytes(size int) []byte {
	n := r.number(size)
	if n > maxBytes {
		r.wrong, r.short = fmt.Errorf("%d bytes", n), true
	}
	return r.take(int(n))
}

// address reads an address prefixed with its length.
func (r *reader) address() []byte {
	n := r.number(1)
	if !r.short && n != 4 && n != 16 {
		r.wrong, r.short = fmt.Errorf("an address of %d bytes", n), true
	}
	return r.take(int(n))
}

// count reads the length of a list.
func (r *reader) count() int {
	n := r.number(4)
	if n > maxParams {
		r.wrong, r.short, n = fmt.Errorf("%d parameters", n), true, 0
	}
	return int(n)
}

func (r *reader) ballot() (b ballot) {
	copy(b[:], r.take(len(b)))
	return b
}
