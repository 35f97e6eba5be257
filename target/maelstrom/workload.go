package maelstrom

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/lockstep-go/lockstep"
)

// Op is an operation of a client.
type Op struct {
	ID    int // from 1
	Kind  string
	Key   int
	Value int // to write, add, send or append
	From  int // cas
	Txn   []Micro
	Node  lockstep.Node // the node that received the request
	Final bool          // the read at the end of a run

	sent  map[string]any
	reply json.RawMessage
	code  int // of the error in the answer
	words string
}

// Micro is an operation inside a transaction: a read, or an append of a value.
type Micro struct {
	Append     bool
	Key, Value int
}

// String returns the operation as text.
func (o *Op) String() string {
	text := o.Kind
	switch o.Kind {
	case "read":
		if o.Key != 0 {
			text += fmt.Sprint(" ", o.Key)
		}
	case "write":
		text += fmt.Sprint(" ", o.Key, "=", o.Value)
	case "cas":
		text += fmt.Sprint(" ", o.Key, " ", o.From, "->", o.Value)
	case "send":
		text += fmt.Sprint(" ", o.Key, " ", o.Value)
	case "broadcast", "add", "echo":
		text += fmt.Sprint(" ", o.Value)
	case "txn":
		for _, m := range o.Txn {
			if m.Append {
				text += fmt.Sprintf(" append(%d,%d)", m.Key, m.Value)
			} else {
				text += fmt.Sprintf(" r(%d)", m.Key)
			}
		}
	}
	if o.Final {
		text += " at the end"
	}
	return text
}

// Answer is the answer that a client received.
type Answer struct{ *Op }

// String returns the answer without the fields that only the protocol needs.
func (a Answer) String() string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(a.reply, &fields) != nil {
		return string(a.reply)
	}
	kind := strings.Trim(string(fields["type"]), `"`)
	for _, key := range []string{"type", "in_reply_to", "msg_id"} {
		delete(fields, key)
	}
	if len(fields) == 0 {
		return kind
	}
	b, _ := json.Marshal(fields)
	return kind + " " + string(b)
}

// failed reports whether the answer says that the operation had no effect.
func (o *Op) failed() bool { return o.code != 0 && !o.unknown() }

// unknown reports whether the answer leaves the outcome open.
func (o *Op) unknown() bool {
	return o.reply != nil && (o.code == codeCrash || strings.HasPrefix(o.words, "error") && o.code == codeTimeout)
}

// get reads a field of the answer.
func (o *Op) get(field string, into any) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(o.reply, &fields); err != nil {
		return err
	}
	raw, ok := fields[field]
	if !ok {
		return fmt.Errorf("%s is answered without %q: %.200s", o, field, o.reply)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s is answered with %q: %.200s", o, field, raw)
	}
	return nil
}

// workload is the operations and guarantees of clients.
type workload struct {
	topology bool
	// draw draws the i-th operation, from 1.
	draw func(r *rand.Rand, i int) *Op
	// final is the kind of operation that every node receives at the end; empty means none.
	final string
	// check checks the operations of a run; nil means that they must be linearizable.
	check func(h *history) verdict
}

var workloads = map[string]*workload{
	"echo":       {draw: func(_ *rand.Rand, i int) *Op { return &Op{Kind: "echo", Value: i} }, check: checkEcho},
	"unique-ids": {draw: func(*rand.Rand, int) *Op { return &Op{Kind: "generate"} }, check: checkUnique},
	"broadcast": {topology: true, draw: readOr("broadcast", func(_ *rand.Rand, i int) int { return i }),
		final: "read", check: checkSet("broadcast", "messages")},
	"g-set": {draw: readOr("add", func(_ *rand.Rand, i int) int { return i }),
		final: "read", check: checkSet("add", "value")},
	"g-counter": {draw: readOr("add", func(r *rand.Rand, _ int) int { return r.IntN(5) }),
		final: "read", check: checkCounter},
	"pn-counter": {draw: readOr("add", func(r *rand.Rand, _ int) int { return r.IntN(11) - 5 }),
		final: "read", check: checkCounter},
	"lin-kv":          {draw: drawKV},
	"kafka":           {draw: drawKafka, final: "poll", check: checkKafka},
	"txn-list-append": {draw: drawTxn},
}

// names returns the names of the workloads.
func names() []string { return slices.Sorted(maps.Keys(workloads)) }

// operations draws the operations that clients begin in a run.
func (w *workload) operations(r *rand.Rand, n int) []*Op {
	ops := make([]*Op, n)
	for i := range ops {
		ops[i] = w.draw(r, i+1)
		ops[i].ID = i + 1
	}
	return ops
}

// readOr draws a read in one of three cases.
func readOr(kind string, value func(r *rand.Rand, i int) int) func(*rand.Rand, int) *Op {
	return func(r *rand.Rand, i int) *Op {
		if r.IntN(3) == 0 {
			return &Op{Kind: "read"}
		}
		return &Op{Kind: kind, Value: value(r, i)}
	}
}

func drawKV(r *rand.Rand, i int) *Op {
	op := &Op{Kind: []string{"read", "write", "cas"}[r.IntN(3)], Key: 1 + r.IntN(2)}
	if op.Kind != "read" {
		op.From, op.Value = r.IntN(5), r.IntN(5)
	}
	return op
}

func drawKafka(r *rand.Rand, i int) *Op {
	op := &Op{
		Kind: []string{"send", "send", "send", "poll", "poll", "commit_offsets", "list_committed_offsets"}[r.IntN(7)],
		Key:  1 + r.IntN(2),
	}
	if op.Kind == "send" {
		op.Value = i
	}
	return op
}

func drawTxn(r *rand.Rand, i int) *Op {
	op := &Op{Kind: "txn"}
	for k := range 1 + r.IntN(3) {
		op.Txn = append(op.Txn, Micro{Append: r.IntN(2) == 0, Key: 1 + r.IntN(2), Value: 10*i + k})
	}
	return op
}

// positions are the positions of a log's client: the next offset to poll, by key.
type positions map[int]int

// body returns the request to a node.
func (o *Op) body(p positions) map[string]any {
	b := map[string]any{"type": o.Kind}
	key := strconv.Itoa(o.Key)
	switch o.Kind {
	case "echo":
		b["echo"] = fmt.Sprint("say ", o.Value)
	case "broadcast":
		b["message"] = o.Value
	case "add":
		b["element"], b["delta"] = o.Value, o.Value
	case "read":
		if o.Key != 0 {
			b["key"] = o.Key
		}
	case "write":
		b["key"], b["value"] = o.Key, o.Value
	case "cas":
		b["key"], b["from"], b["to"] = o.Key, o.From, o.Value
	case "send":
		b["key"], b["msg"] = key, o.Value
	case "poll", "commit_offsets":
		b["offsets"] = o.offsets(p)
	case "list_committed_offsets":
		b["keys"] = []string{key}
	case "txn":
		b["txn"] = o.micros()
	}
	o.sent = b
	return b
}

// offsets returns the offsets at which a poll begins, or the commit of everything that the client has polled.
func (o *Op) offsets(p positions) map[string]int {
	if o.Final {
		return map[string]int{"1": 0, "2": 0}
	}
	at := map[string]int{strconv.Itoa(o.Key): p[o.Key]}
	if o.Kind == "commit_offsets" {
		at[strconv.Itoa(o.Key)] = max(p[o.Key]-1, 0)
	}
	return at
}

// micros returns the operations of a transaction, as Maelstrom writes them.
func (o *Op) micros() [][]any {
	var list [][]any
	for _, m := range o.Txn {
		if m.Append {
			list = append(list, []any{"append", m.Key, m.Value})
		} else {
			list = append(list, []any{"r", m.Key, nil})
		}
	}
	return list
}

// learn advances the client of a log beyond the records that it polled.
func (o *Op) learn(p positions) {
	if o.Kind != "poll" || o.Final || o.failed() {
		return
	}
	for key, records := range o.polled() {
		for _, r := range records {
			p[key] = max(p[key], r.offset+1)
		}
	}
}

// record is an entry of a log.
type record struct{ offset, value int }

// polled returns the records that a poll returned, by key. It omits unreadable ones.
func (o *Op) polled() map[int][]record {
	var answer map[string][][]int
	if o.get("msgs", &answer) != nil {
		return nil
	}
	logs := map[int][]record{}
	for key, pairs := range answer {
		k, err := strconv.Atoi(key)
		if err != nil {
			continue
		}
		for _, p := range pairs {
			if len(p) == 2 {
				logs[k] = append(logs[k], record{p[0], p[1]})
			}
		}
	}
	return logs
}
