package kv

import (
	"encoding/binary"
	"errors"
	"strconv"
	"strings"

	"github.com/lockstep-go/lockstep/internal/mix"
)

// Map is the replicated application: a value for each key, and the clients' sessions. The
// zero Map has no keys; Reset makes one.
type Map struct {
	values   []Value
	sessions []session
}

// session is what the map remembers of a client.
type session struct {
	seq    uint16 // of the last operation applied
	result Result
}

// Reset makes the map empty, with so many keys and sessions.
func (m *Map) Reset(keys, clients int) {
	m.values = append(m.values[:0], make([]Value, keys)...)
	m.sessions = append(m.sessions[:0], make([]session, clients)...)
}

// Apply applies a client's operation, unless it has been applied before, and returns its
// result. One that is not for this map is refused.
func (m *Map) Apply(o Op) Result {
	if o.Client < 1 || o.Client > len(m.sessions) || int(max(o.Key, o.Also.Key)) >= len(m.values) {
		return Result{}
	}
	s := &m.sessions[o.Client-1]
	if o.Seq > s.seq {
		*s = session{seq: o.Seq, result: execute(m.values, &o)}
	}
	return s.result
}

// Done reports whether the map knows that an operation was applied, or a later one of its
// client.
func (m *Map) Done(client int, seq uint16) bool { return m.sessions[client-1].seq >= seq }

// Read is the answer to a read of a key.
func (m *Map) Read(key uint8) Result { return Result{Value: m.values[key], OK: true} }

// execute does an operation.
func execute(values []Value, o *Op) Result {
	v := &values[o.Key]
	if !o.Act.allowed(*v) || o.Txn && !o.Also.allowed(values[o.Also.Key]) {
		r := Result{Value: *v}
		if o.Txn {
			r.Also = values[o.Also.Key]
		}
		return r
	}
	o.Act.do(v)
	r := Result{Value: *v, OK: true}
	if o.Txn {
		o.Also.do(&values[o.Also.Key])
		r.Also = values[o.Also.Key]
	}
	return r
}

// allowed reports whether an act may take place where the key holds v.
func (a *Act) allowed(v Value) bool { return a.Kind != Cas || v == Value{Number: a.Old} }

func (a *Act) do(v *Value) {
	switch a.Kind {
	case Put, Cas:
		*v = Value{Number: a.Value}
	case Append:
		v.Tail += " " + strconv.Itoa(int(a.Value))
	case Delete:
		*v = Value{}
	}
}

// Hash is a hash of the map and the sessions.
func (m *Map) Hash() uint64 {
	h := mix.Start
	for i := range m.values {
		h = m.values[i].mix(h)
	}
	for i := range m.sessions {
		s := &m.sessions[i]
		h.Mix(uint64(s.seq)<<1 | uint64(oneIf(s.result.OK)))
		h = s.result.Also.mix(s.result.Value.mix(h))
	}
	return uint64(h)
}

// mix takes the value into a hash.
func (v *Value) mix(h mix.Hash) mix.Hash {
	if v.Tail != "" {
		return v.mixTail(h)
	}
	h.Mix(uint64(uint32(v.Number)))
	return h
}

//go:noinline
func (v *Value) mixTail(h mix.Hash) mix.Hash {
	h.Mix(uint64(uint32(v.Number)) | uint64(len(v.Tail))<<32)
	h.Text(v.Tail)
	return h
}

func oneIf(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// Snapshot adds the map and its sessions to bytes, in a form that Restore reads.
func (m *Map) Snapshot(to []byte) []byte {
	for i := range m.values {
		to = m.values[i].encode(to)
	}
	for i := range m.sessions {
		s := &m.sessions[i]
		to = append(binary.LittleEndian.AppendUint16(to, s.seq), oneIf(s.result.OK))
		to = s.result.Also.encode(s.result.Value.encode(to))
	}
	return to
}

func (v *Value) encode(to []byte) []byte {
	to = binary.LittleEndian.AppendUint32(to, uint32(v.Number))
	to = binary.LittleEndian.AppendUint16(to, uint16(len(v.Tail)))
	return append(to, v.Tail...)
}

var errShort = errors.New("kv: the snapshot is not one of a map of this size")

// Restore takes over a snapshot of a map of the same size. After an error the map is
// empty.
func (m *Map) Restore(data []byte) error {
	m.Reset(len(m.values), len(m.sessions))
	r := reader{data: data}
	for i := range m.values {
		m.values[i] = r.value()
	}
	for i := range m.sessions {
		s := &m.sessions[i]
		s.seq = binary.LittleEndian.Uint16(r.take(2))
		s.result.OK = r.take(1)[0] == 1
		s.result.Value, s.result.Also = r.value(), r.value()
	}
	if r.short || len(r.data) > 0 {
		m.Reset(len(m.values), len(m.sessions))
		return errShort
	}
	return nil
}

// reader reads a snapshot.
type reader struct {
	data  []byte
	short bool
}

var zeros [1 << 16]byte

func (r *reader) take(k int) []byte {
	if r.short = r.short || len(r.data) < k; r.short {
		return zeros[:k]
	}
	taken := r.data[:k]
	r.data = r.data[k:]
	return taken
}

func (r *reader) value() Value {
	n := int32(binary.LittleEndian.Uint32(r.take(4)))
	return Value{Number: n, Tail: string(r.take(int(binary.LittleEndian.Uint16(r.take(2)))))}
}

// String is what the keys hold, without those that were never written: " a=3 b=4".
func (m *Map) String() string {
	var b strings.Builder
	for k, v := range m.values {
		if v != (Value{}) {
			b.WriteString(" " + KeyName(uint8(k)) + "=" + v.String())
		}
	}
	return b.String()
}
