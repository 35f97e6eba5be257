package hashicorpraft

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/lockstep-go/lockstep/bubble"
)

// machine is what is replicated: a map of registers.
type machine struct {
	node    *bubble.Node
	replica *replica

	mutex sync.Mutex
	state state
}

// state is the machine's state, which snapshots hold.
type state struct {
	Values  [10]int
	Applied uint64
}

func (s *state) hash() uint64 {
	h := uint64(14695981039346656037)
	for _, v := range s.Values {
		h = (h ^ uint64(v)) * 0x100000001b3
	}
	return h
}

// execute does an operation.
func (s *state) execute(o Op) Result {
	v := &s.Values[o.Key]
	switch o.Kind {
	case Put:
		*v = o.Value
	case Cas:
		if *v != o.Old {
			return Result{Value: *v}
		}
		*v = o.Value
	}
	return Result{Value: *v, OK: true}
}

// Apply applies an entry.
func (m *machine) Apply(l *raft.Log) any {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	result := Result{OK: true}
	if l.Type == raft.LogCommand {
		o, err := parse(string(l.Data))
		if err != nil {
			panic(err)
		}
		result = m.state.execute(o)
	}
	m.state.Applied = l.Index
	prefix := uint64(unknown)
	m.replica.disk.Read(func(s *store) {
		if p, ok := s.upTo(l.Index); ok {
			prefix = p
		}
	})
	m.node.Emit(EventApply, &Applied{Entry: Entry{Index: l.Index, Term: l.Term, Prefix: prefix, Text: entryData(l)},
		Term: m.replica.term(), State: m.state.hash()})
	return &result
}

// read looks at a key.
func (m *machine) read(key int) Result {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return Result{Value: m.state.Values[key], OK: true}
}

// Snapshot takes the state down.
func (m *machine) Snapshot() (raft.FSMSnapshot, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return taken(m.state), nil
}

// Restore takes a state over.
func (m *machine) Restore(data io.ReadCloser) error {
	var s state
	if err := json.NewDecoder(data).Decode(&s); err != nil {
		return err
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.state = s
	m.node.Emit(EventInstall, &Installed{Applied: s.Applied, State: s.hash()})
	return data.Close()
}

// taken is a state taken down.
type taken state

// Persist writes it.
func (t taken) Persist(sink raft.SnapshotSink) error {
	if err := json.NewEncoder(sink).Encode(state(t)); err != nil {
		_ = sink.Cancel()
		return err
	}
	return sink.Close()
}

// Release has nothing to do.
func (taken) Release() {}

// OpKind says what an operation does.
type OpKind uint8

// The kinds of operation.
const (
	Put OpKind = iota // sets the key to Value
	Get               // reads the key
	Cas               // sets the key to Value if it is Old
)

// Op is a client's operation on the replicated map.
type Op struct {
	Client     int // from 1
	Kind       OpKind
	Key        int
	Value, Old int

	call int // the number of the request by which it was called
}

// Result is the answer to an operation: the key's value after it, and for a Cas whether
// it took place.
type Result struct {
	Value int
	OK    bool
}

// String is the operation in words: "c1 put a=3".
func (o *Op) String() string {
	switch key := 'a' + rune(o.Key); o.Kind {
	case Put:
		return fmt.Sprintf("c%d put %c=%d", o.Client, key, o.Value)
	case Get:
		return fmt.Sprintf("c%d get %c", o.Client, key)
	default:
		return fmt.Sprintf("c%d cas %c=%d->%d", o.Client, key, o.Old, o.Value)
	}
}

// String is the result in words.
func (r *Result) String() string {
	if !r.OK {
		return fmt.Sprintf("refused, is %d", r.Value)
	}
	return fmt.Sprintf("is %d", r.Value)
}

// parse reads an operation that changes something, as String writes it.
func parse(text string) (o Op, err error) {
	var key rune
	if _, err = fmt.Sscanf(text, "c%d put %c=%d", &o.Client, &key, &o.Value); err == nil {
		o.Key = int(key - 'a')
		return o, nil
	}
	o.Kind = Cas
	if _, err = fmt.Sscanf(text, "c%d cas %c=%d->%d", &o.Client, &key, &o.Old, &o.Value); err == nil {
		o.Key = int(key - 'a')
		return o, nil
	}
	return o, fmt.Errorf("no operation: %q", text)
}
