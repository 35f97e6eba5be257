package maelstrom

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
)

// made is an operation of a history: its request at a node and its answer; an empty answer means none. Each takes two
// steps, one after the other.
type made struct {
	op     Op
	node   lockstep.Node
	answer string
}

func historyOf(settled bool, list []made) *history {
	h := &history{settled: settled}
	at := positions{}
	for i, m := range list {
		op := m.op
		op.ID, op.Node = i+1, m.node
		op.body(at)
		c := &call{&op, 2 * i, -1}
		if m.answer != "" {
			answer(&op, m.answer)
			op.learn(at)
			c.returned = 2*i + 1
		}
		h.calls = append(h.calls, c)
	}
	return h
}

func answer(op *Op, text string) {
	op.reply = json.RawMessage(text)
	head, err := headOf(op.reply)
	if err != nil {
		panic(err)
	}
	op.code, op.words = head.Code, head.Type
}

func TestCheckers(t *testing.T) {
	read := Op{Kind: "read"}
	final := Op{Kind: "read", Final: true}
	poll := Op{Kind: "poll", Key: 1}
	for _, c := range []struct {
		name, workload string
		want           string // part of the expected error; empty: none
		list           []made
	}{
		{"right", "echo", "", []made{{Op{Kind: "echo", Value: 3}, 1, `{"type":"echo_ok","echo":"say 3"}`}}},
		{
			"wrong",
			"echo",
			"was echoed as",
			[]made{{Op{Kind: "echo", Value: 3}, 1, `{"type":"echo_ok","echo":"say 4"}`}},
		},
		{"silent", "echo", "", []made{{Op{Kind: "echo", Value: 3}, 1, ``}}},
		{
			"different",
			"unique-ids",
			"",
			[]made{
				{Op{Kind: "generate"}, 1, `{"type":"generate_ok","id":1}`},
				{Op{Kind: "generate"}, 2, `{"type":"generate_ok","id":"1"}`},
			},
		},
		{
			"same",
			"unique-ids",
			"nodes 1 and 2 both generated [1, 2]",
			[]made{
				{Op{Kind: "generate"}, 1, `{"type":"generate_ok","id":[1,2]}`},
				{Op{Kind: "generate"}, 2, `{"type":"generate_ok","id":[1, 2]}`},
			},
		},
		{
			"all seen",
			"broadcast",
			"",
			[]made{
				{Op{Kind: "broadcast", Value: 7}, 1, `{"type":"broadcast_ok"}`},
				{final, 2, `{"type":"read_ok","messages":[7]}`},
			},
		},
		{
			"missing",
			"broadcast",
			"7 was acknowledged by node 1, but node 2",
			[]made{
				{Op{Kind: "broadcast", Value: 7}, 1, `{"type":"broadcast_ok"}`},
				{final, 2, `{"type":"read_ok","messages":[]}`},
			},
		},
		{
			"late is no bug",
			"broadcast",
			"",
			[]made{
				{Op{Kind: "broadcast", Value: 7}, 1, `{"type":"broadcast_ok"}`},
				{read, 2, `{"type":"read_ok","messages":[]}`},
			},
		},
		{
			"not acknowledged",
			"broadcast",
			"",
			[]made{{Op{Kind: "broadcast", Value: 7}, 1, ``}, {final, 2, `{"type":"read_ok","messages":[]}`}},
		},
		{
			"invented",
			"g-set",
			"shows 8, which no client added",
			[]made{{Op{Kind: "add", Value: 7}, 1, `{"type":"add_ok"}`}, {read, 2, `{"type":"read_ok","value":[8]}`}},
		},
		{
			"sum",
			"g-counter",
			"",
			[]made{
				{Op{Kind: "add", Value: 2}, 1, `{"type":"add_ok"}`},
				{Op{Kind: "add", Value: 3}, 1, ``},
				{final, 1, `{"type":"read_ok","value":5}`},
			},
		},
		{
			"sum of half",
			"g-counter",
			"what was acknowledged makes 2 to 5",
			[]made{
				{Op{Kind: "add", Value: 2}, 1, `{"type":"add_ok"}`},
				{Op{Kind: "add", Value: 3}, 1, ``},
				{final, 1, `{"type":"read_ok","value":1}`},
			},
		},
		{
			"refused",
			"pn-counter",
			"makes 0",
			[]made{
				{Op{Kind: "add", Value: -2}, 1, `{"type":"error","code":11}`},
				{final, 1, `{"type":"read_ok","value":-2}`},
			},
		},
		{"logs", "kafka", "", []made{
			{Op{Kind: "send", Key: 1, Value: 10}, 1, `{"type":"send_ok","offset":0}`},
			{Op{Kind: "send", Key: 1, Value: 11}, 1, `{"type":"send_ok","offset":2}`},
			{poll, 2, `{"type":"poll_ok","msgs":{"1":[[0,10],[2,11]]}}`},
		}},
		{
			"one offset, two records",
			"kafka",
			"offset 0 of log 1 holds 10 and 11",
			[]made{
				{Op{Kind: "send", Key: 1, Value: 10}, 1, `{"type":"send_ok","offset":0}`},
				{Op{Kind: "send", Key: 1, Value: 11}, 2, `{"type":"send_ok","offset":0}`},
			},
		},
		{
			"one record, two offsets",
			"kafka",
			"10 is at offset 0 of log 1 and at offset 1",
			[]made{
				{Op{Kind: "send", Key: 1, Value: 10}, 1, `{"type":"send_ok","offset":0}`},
				{poll, 2, `{"type":"poll_ok","msgs":{"1":[[1,10]]}}`},
			},
		},
		{"skipped", "kafka", "but not offset 0, which holds 10", []made{
			{Op{Kind: "send", Key: 1, Value: 10}, 1, `{"type":"send_ok","offset":0}`},
			{Op{Kind: "send", Key: 1, Value: 11}, 1, `{"type":"send_ok","offset":1}`},
			{poll, 2, `{"type":"poll_ok","msgs":{"1":[[1,11]]}}`},
		}},
		{
			"backwards",
			"kafka",
			"where 2 or more was due",
			[]made{{poll, 2, `{"type":"poll_ok","msgs":{"1":[[1,11],[0,10]]}}`}},
		},
		{
			"committed",
			"kafka",
			"",
			[]made{
				{Op{Kind: "commit_offsets", Key: 1}, 1, ``},
				{
					Op{Kind: "list_committed_offsets", Key: 1},
					1,
					`{"type":"list_committed_offsets_ok","offsets":{"1":0}}`,
				},
			},
		},
		{
			"not committed",
			"kafka",
			"lists 5 as committed in log 1, which no client committed",
			[]made{{
				Op{Kind: "list_committed_offsets", Key: 1},
				1,
				`{"type":"list_committed_offsets_ok","offsets":{"1":5}}`,
			}},
		},
	} {
		t.Run(c.workload+" "+c.name, func(t *testing.T) {
			v := workloads[c.workload].check(historyOf(true, c.list))
			if (c.want == "") != (v.text == "") || !strings.Contains(v.text, c.want) {
				t.Errorf("%+v, want %q", v, c.want)
			}
			if v.text != "" && len(v.about) == 0 {
				t.Error("no step is named")
			}
		})
	}
}

// operations creates a history for porcupine; an operation without an answer continues indefinitely.
func operations(list []made) []porcupine.Operation {
	var ops []porcupine.Operation
	for i, m := range list {
		op := m.op
		o := porcupine.Operation{
			ClientId: i,
			Input:    &op,
			Call:     int64(2 * i),
			Output:   spec.Unanswered{},
			Return:   1 << 40,
		}
		if m.answer != "" {
			answer(&op, m.answer)
			o.Output, o.Return = Answer{&op}, int64(2*i+1)
		}
		ops = append(ops, o)
	}
	return ops
}

func TestModels(t *testing.T) {
	write := func(v int, answer string) made { return made{Op{Kind: "write", Key: 1, Value: v}, 1, answer} }
	read := func(answer string) made { return made{Op{Kind: "read", Key: 1}, 1, answer} }
	cas := func(from, to int, answer string) made {
		return made{Op{Kind: "cas", Key: 1, From: from, Value: to}, 1, answer}
	}
	txn := func(answer string, m ...Micro) made { return made{Op{Kind: "txn", Txn: m}, 1, answer} }
	for _, c := range []struct {
		name, workload string
		right          bool
		list           []made
	}{
		{
			"reads what was written",
			"lin-kv",
			true,
			[]made{write(1, `{"type":"write_ok"}`), read(`{"type":"read_ok","value":1}`)},
		},
		{
			"reads what is gone",
			"lin-kv",
			false,
			[]made{
				write(1, `{"type":"write_ok"}`),
				write(2, `{"type":"write_ok"}`),
				read(`{"type":"read_ok","value":1}`),
			},
		},
		{
			"never answered, seen later",
			"lin-kv",
			true,
			[]made{
				write(1, `{"type":"write_ok"}`),
				write(2, ``),
				read(`{"type":"read_ok","value":1}`),
				read(`{"type":"read_ok","value":2}`),
			},
		},
		{"no key", "lin-kv", true, []made{read(`{"type":"error","code":20}`), write(1, `{"type":"write_ok"}`)}},
		{
			"no key after all",
			"lin-kv",
			false,
			[]made{write(1, `{"type":"write_ok"}`), read(`{"type":"error","code":20}`)},
		},
		{
			"refused write",
			"lin-kv",
			false,
			[]made{write(1, `{"type":"error","code":11}`), read(`{"type":"read_ok","value":1}`)},
		},
		{
			"cas",
			"lin-kv",
			true,
			[]made{
				write(1, `{"type":"write_ok"}`),
				cas(1, 3, `{"type":"cas_ok"}`),
				cas(1, 4, `{"type":"error","code":22}`),
				read(`{"type":"read_ok","value":3}`),
			},
		},
		{
			"cas of another value",
			"lin-kv",
			false,
			[]made{write(1, `{"type":"write_ok"}`), cas(2, 3, `{"type":"cas_ok"}`)},
		},
		{
			"cas that should have worked",
			"lin-kv",
			false,
			[]made{write(1, `{"type":"write_ok"}`), cas(1, 3, `{"type":"error","code":22}`)},
		},
		{"appended", "txn-list-append", true, []made{txn(
			`{"type":"txn_ok","txn":[["append",1,7],["r",1,[7]]]}`,
			Micro{true, 1, 7},
			Micro{false, 1, 0},
		),
			txn(`{"type":"txn_ok","txn":[["r",1,[7]],["r",2,null]]}`, Micro{false, 1, 0}, Micro{false, 2, 0})}},
		{
			"lost append",
			"txn-list-append",
			false,
			[]made{
				txn(`{"type":"txn_ok","txn":[["append",1,7]]}`, Micro{true, 1, 7}),
				txn(`{"type":"txn_ok","txn":[["r",1,null]]}`, Micro{false, 1, 0}),
			},
		},
		{"half of a transaction", "txn-list-append", false, []made{txn(``, Micro{true, 1, 7}, Micro{true, 2, 8}),
			txn(`{"type":"txn_ok","txn":[["r",1,[7]],["r",2,null]]}`, Micro{false, 1, 0}, Micro{false, 2, 0})}},
		{
			"refused transaction",
			"txn-list-append",
			false,
			[]made{
				txn(`{"type":"error","code":30}`, Micro{true, 1, 7}),
				txn(`{"type":"txn_ok","txn":[["r",1,[7]]]}`, Micro{false, 1, 0}),
			},
		},
	} {
		t.Run(c.workload+" "+c.name, func(t *testing.T) {
			if got := porcupine.CheckOperations(models[c.workload], operations(c.list)); got != c.right {
				t.Errorf("%v", got)
			}
		})
	}
}

// The services behave as their names promise.
func TestServices(t *testing.T) {
	s := newServices()
	for _, c := range []struct{ service, ask, want string }{
		{
			"lin-kv",
			`{"type":"read","key":"a","msg_id":1}`,
			`{"code":20,"in_reply_to":1,"text":"key \"a\" does not exist","type":"error"}`,
		},
		{
			"lin-kv",
			`{"type":"cas","key":"a","from":0,"to":1}`,
			`{"code":20,"text":"key \"a\" does not exist","type":"error"}`,
		},
		{"lin-kv", `{"type":"cas","key":"a","from":0,"to":[1, 2],"create_if_not_exists":true}`, `{"type":"cas_ok"}`},
		{"lin-kv", `{"type":"cas","key":"a","from":[1,2],"to":3}`, `{"type":"cas_ok"}`},
		{"lin-kv", `{"type":"cas","key":"a","from":4,"to":5}`, `{"code":22,"text":"3 is not 4","type":"error"}`},
		{"lin-kv", `{"type":"read","key":"a"}`, `{"type":"read_ok","value":3}`},
		{"seq-kv", `{"type":"read","key":"a"}`, `{"code":20,"text":"key \"a\" does not exist","type":"error"}`},
		{"seq-kv", `{"type":"write","key":7,"value":{"x":1}}`, `{"type":"write_ok"}`},
		{"seq-kv", `{"type":"read","key":7}`, `{"type":"read_ok","value":{"x":1}}`},
		{"lin-tso", `{"type":"ts"}`, `{"ts":0,"type":"ts_ok"}`},
		{"lin-tso", `{"type":"ts"}`, `{"ts":1,"type":"ts_ok"}`},
		{"lww-kv", `{"type":"dance"}`, `{"code":10,"text":"lww-kv knows read, write, cas","type":"error"}`},
		{"lww-kv", `7`, `{"code":10,"text":"a request that cannot be read","type":"error"}`},
	} {
		if got := s.serve(packet{Dest: c.service, Body: json.RawMessage(c.ask)}); string(got) != c.want {
			t.Errorf("%s %s: %s, want %s", c.service, c.ask, got, c.want)
		}
	}
}

// Every workload draws operations that can be sent and formatted as text.
func TestOperations(t *testing.T) {
	for name, w := range workloads {
		for _, op := range w.operations(rand.New(rand.NewPCG(1, 2)), 50) {
			if b := op.body(positions{}); b["type"] != op.Kind || op.String() == "" {
				t.Errorf("%s: %v", name, b)
			}
		}
	}
}
