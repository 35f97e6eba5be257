package cassandra

import (
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

func TestProperties(t *testing.T) {
	call := func(id, transaction int) lockstep.Event {
		return lockstep.Event{
			Type:  spec.EventCall,
			Value: &spec.Call{Client: id, ID: id, Input: operation{transaction}},
		}
	}
	answer := func(id int, output any) lockstep.Event {
		return lockstep.Event{Type: spec.EventReturn, Value: &spec.Return{Client: id, ID: id, Output: output}}
	}
	end := func(a, b, c string) []lockstep.Event {
		r := Row{a, b, c}
		return []lockstep.Event{call(99, 0), answer(99, r), {Type: EventRow, Value: r}}
	}
	done := []lockstep.Event{
		call(11, 1),
		answer(11, true),
		call(21, 2),
		answer(21, true),
		call(31, 3),
		answer(31, true),
	}
	for name, c := range map[string]struct {
		events   []lockstep.Event
		property string
	}{
		"all in their order":       {append(done, end("B", "B", "C")...), ""},
		"the first again":          {append(done, end("A", "B", "C")...), "once"},
		"the second is lost":       {append(done, end("A", "", "C")...), "linearizability"},
		"nothing has taken effect": {append([]lockstep.Event{call(11, 1), call(21, 2)}, end("", "", "")...), ""},
		"the second alone": {append([]lockstep.Event{call(21, 2), answer(21, true)},
			end("B", "B", "")...), "linearizability"},
		"the second was refused": {append([]lockstep.Event{call(11, 1), call(21, 2), answer(21, false)},
			end("A", "", "")...), ""},
		"refused without a reason": {append(
			[]lockstep.Event{call(11, 1), answer(11, true), call(21, 2), answer(21, false)},
			end("A", "", "")...), "linearizability"},
		"an attempt takes effect late": {append(
			[]lockstep.Event{call(11, 1), call(12, 1), answer(12, true), call(21, 2), answer(21, true)},
			end("A", "B", "")...), "once"},
		"and only the paper minds": {append(
			[]lockstep.Event{call(11, 1), call(12, 1), answer(12, true), call(21, 2), answer(21, true)},
			end("A", "B", "")[:2]...), ""},
		"the third is lost":                {append(done, end("B", "B", "")...), "linearizability"},
		"the third may have taken effect":  {append(append([]lockstep.Event{}, done[:5]...), end("B", "B", "C")...), ""},
		"the third may have been for none": {append(append([]lockstep.Event{}, done[:5]...), end("B", "B", "")...), ""},
	} {
		result, err := lockstep.Explore(
			t.Context(),
			lockstep.Plan{
				System:   enginetest.Prepared(c.events),
				Spec:     Properties,
				Strategy: strategy.Walk{Request: 1, Steps: 1},
				Settle:   1,
				Runs:     1,
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		found := ""
		if f := result.First(); f != nil {
			found = f.Finding.Property
		}
		if found != c.property {
			t.Errorf("%s: %q, want %q", name, found, c.property)
		}
	}
}

func TestStatements(t *testing.T) {
	for i, want := range []string{
		"UPDATE lockstep.tests SET value_1 = 'A' WHERE name = 'r' IF owner = 'user_1'",
		"UPDATE lockstep.tests SET value_1 = 'B', value_2 = 'B' WHERE name = 'r' IF value_1 = 'A'",
		"UPDATE lockstep.tests SET value_3 = 'C' WHERE name = 'r' IF owner = 'user_1'",
	} {
		if got := Transactions[i].statement("r"); got != want {
			t.Error(got)
		}
	}
}

func TestWrongOptions(t *testing.T) {
	for _, c := range []struct {
		set  []string
		want string
	}{
		{[]string{"attempts=10"}, "attempts is 10, allowed are 1..9"},
		{[]string{"timeout=1ms"}, "timeout is 1ms, it must be at least 10ms"},
		{[]string{"control=what"}, `control is "what", allowed are auto, messages, time`},
		{
			[]string{"version=5.0.5", "control=messages"},
			"control=messages needs a version 2.0, whose messages are known; version is 5.0.5",
		},
		{[]string{"version=2.0.17", "change5985=true"}, "change5985 needs version 2.0.0"},
	} {
		system, err := Targets[0].Build(c.set)
		if err == nil {
			_, err = system.Describe()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.set, err)
		}
	}
	if info, err := (Cluster{}).Describe(); err != nil || info.Options["version"] != "2.0.0" ||
		len(info.Rounds) != len(info.Types) {
		t.Errorf("%+v, %v", info, err)
	}
}

// If messages are not decoded, or on request, a round is a period of time, and the engine controls only links and
// servers.
func TestControls(t *testing.T) {
	for _, c := range []struct {
		set   []string
		timed bool
		pace  time.Duration
	}{
		{nil, false, 10 * time.Millisecond},
		{[]string{"version=2.0.17"}, false, 10 * time.Millisecond},
		{[]string{"control=time", "timeout=600ms"}, true, 100 * time.Millisecond},
		{[]string{"version=4.1.9", "timeout=300ms"}, true, 50 * time.Millisecond},
		{[]string{"version=10.0", "pace=20ms"}, true, 20 * time.Millisecond},
		{[]string{"version=newest"}, false, 10 * time.Millisecond},
	} {
		system, err := Targets[0].Build(c.set)
		if err != nil {
			t.Fatal(err)
		}
		info, err := system.Describe()
		if err != nil || (info.Supports&trace.KindsOf(trace.Drop) == 0) != c.timed ||
			(len(info.Rounds) == 0) != c.timed ||
			time.Duration(info.Pace) != c.pace ||
			info.Supports&trace.KindsOf(trace.Cut) == 0 {
			t.Errorf("%v: %+v, %v", c.set, info, err)
		}
	}
}
