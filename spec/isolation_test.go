package spec_test

import (
	"context"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/isolation"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
)

// transact is a transaction as a client's input; its answer is the operations with what was read.
type transact []isolation.Op

func txn(input, output any) ([]isolation.Op, isolation.Outcome) {
	ops, _ := input.(transact)
	switch answer := output.(type) {
	case transact:
		return answer, isolation.Committed
	default:
		return ops, isolation.Unknown
	}
}

func TestIsolation(t *testing.T) {
	write := isolation.Op{Func: isolation.Write, Key: "x", Value: 1}
	none := isolation.Op{Func: isolation.Read, Key: "x", None: true}
	event := func(client, id int, call bool, ops ...isolation.Op) lockstep.Event {
		if call {
			return lockstep.Event{Type: spec.EventCall, Value: &spec.Call{Client: client, ID: id, Input: transact(ops)}}
		}
		return lockstep.Event{Type: spec.EventReturn, Value: &spec.Return{Client: client, ID: id, Output: transact(ops)}}
	}
	for name, c := range map[string]struct {
		level   isolation.Level
		events  []lockstep.Event
		want    string // of the finding
		checked int
	}{
		"stale read": {isolation.StrictSerializable, []lockstep.Event{
			event(1, 1, true, write), event(1, 1, false, write), event(2, 2, true, none), event(2, 2, false, none),
		}, "G-single-realtime: ", 1},
		"concurrent": {isolation.StrictSerializable, []lockstep.Event{
			event(1, 1, true, write), event(2, 2, true, none), event(1, 1, false, write), event(2, 2, false, none),
		}, "", 1},
		"weaker level": {isolation.Serializable, []lockstep.Event{
			event(1, 1, true, write), event(1, 1, false, write), event(2, 2, true, none), event(2, 2, false, none),
		}, "", 1},
		"no answer": {isolation.StrictSerializable, []lockstep.Event{
			event(1, 1, true, write), event(2, 2, true, none), event(2, 2, false, none),
		}, "", 0},
	} {
		r, err := lockstep.Explore(context.Background(), lockstep.Plan{System: enginetest.Prepared(c.events),
			Spec: spec.Isolation{Level: c.level, Txn: txn}, Strategy: strategy.Walk{Request: 1, Steps: 3}, Runs: 1})
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		if f := r.First(); f != nil {
			text = f.Trace.Outcome.Finding.Text
		}
		if !strings.HasPrefix(text, c.want) || c.want == "" && text != "" || r.Checked[0].N != c.checked {
			t.Errorf("%s: %q, checked %v", name, text, r.Checked)
		}
	}
}

// A history that cannot be checked makes a run unknown, not passed.
func TestIsolationUndecided(t *testing.T) {
	write := transact{{Func: isolation.Write, Key: "x", Value: 1}}
	var events []lockstep.Event
	for id := 1; id <= 2; id++ {
		events = append(events,
			lockstep.Event{Type: spec.EventCall, Value: &spec.Call{Client: 1, ID: id, Input: write}},
			lockstep.Event{Type: spec.EventReturn, Value: &spec.Return{Client: 1, ID: id, Output: write}})
	}
	r, err := lockstep.Explore(context.Background(), lockstep.Plan{System: enginetest.Prepared(events),
		Spec:     spec.Isolation{Level: isolation.Serializable, Txn: txn},
		Strategy: strategy.Walk{Request: 1, Steps: 3}, Runs: 1})
	if err != nil || r.Verdict() == "pass" || len(r.Reasons) == 0 {
		t.Errorf("%v %v, %v", r.Verdict(), r.Reasons, err)
	}
}
