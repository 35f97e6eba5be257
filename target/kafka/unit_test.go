package kafka

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
)

func TestProperties(t *testing.T) {
	a, b := Record{Producer: 1, Number: 1, Idempotent: true}, Record{Producer: 2, Number: 1}
	send := func(r Record) lockstep.Event { return lockstep.Event{Type: EventSend, Value: &r} }
	ack := func(r Record, at int64) lockstep.Event {
		return lockstep.Event{Type: EventAck, Value: &Ack{r, at}}
	}
	log := func(records ...Placed) lockstep.Event {
		return lockstep.Event{Type: EventRecords, Value: &Records{Log: records}}
	}
	for name, c := range map[string]struct {
		events   []lockstep.Event
		property string
	}{
		"both are there": {[]lockstep.Event{
			send(a),
			ack(a, 0),
			send(b),
			ack(b, 1),
			log(Placed{0, "1.1"}, Placed{1, "2.1"}),
		}, ""},
		"one is lost": {[]lockstep.Event{
			send(a),
			ack(a, 0),
			send(b),
			ack(b, 1),
			log(Placed{0, "2.1"}, Placed{1, "2.1"}),
		}, "acknowledged-kept"},
		"one may be lost": {[]lockstep.Event{
			send(a),
			send(b),
			ack(b, 0),
			log(Placed{0, "2.1"}),
		}, ""},
		"one may be there": {[]lockstep.Event{
			send(a),
			send(b),
			ack(b, 1),
			log(Placed{0, "1.1"}, Placed{1, "2.1"}),
		}, ""},
		"it is elsewhere": {[]lockstep.Event{
			send(a),
			ack(a, 0),
			log(Placed{3, "1.1"}),
		}, "partition-order"},
		"no producer wrote it": {[]lockstep.Event{
			send(a),
			ack(a, 0),
			log(Placed{0, "1.1"}, Placed{1, "7.7"}),
		}, "partition-order"},
		"an order that is not that of answers": {
			[]lockstep.Event{send(a), ack(a, 1), send(b), ack(b, 0), log(Placed{0, "2.1"}, Placed{1, "1.1"})},
			"partition-order",
		},
		"an order of two at the same time": {[]lockstep.Event{
			send(a),
			send(b),
			ack(a, 1),
			ack(b, 0),
			log(Placed{0, "2.1"}, Placed{1, "1.1"}),
		}, ""},
		"a plain producer's twice": {[]lockstep.Event{
			send(b),
			ack(b, 1),
			log(Placed{0, "2.1"}, Placed{1, "2.1"}),
		}, ""},
		"an idempotent producer's twice": {[]lockstep.Event{
			send(a),
			ack(a, 0),
			log(Placed{0, "1.1"}, Placed{1, "1.1"}),
		}, "idempotent-once"},
		"twice without an answer": {[]lockstep.Event{
			send(a),
			log(Placed{0, "1.1"}, Placed{1, "1.1"}),
		}, "idempotent-once"},
		"the last log counts": {[]lockstep.Event{
			send(a),
			ack(a, 0),
			log(),
			log(Placed{0, "1.1"}),
		}, ""},
		"it was never read": {[]lockstep.Event{send(a), ack(a, 0)}, ""},
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

// The effect of an attempt's outcome on a producer: whether the record counts as written, whether it is written again,
// and under which identity.
func TestLearn(t *testing.T) {
	id := identity{7, 0}
	for name, c := range map[string]struct {
		errs                []error // of one attempt after the other
		acknowledged, again bool
		sequence            int32
		identity            identity
	}{
		"written": {[]error{nil}, true, false, 1, id},
		"written before": {[]error{
			errors.New("broken"),
			kerr.DuplicateSequenceNumber,
		}, true, false, 1, id},
		"refused":                         {[]error{kerr.NotEnoughReplicas}, false, true, 0, id},
		"no server leads":                 {[]error{refusal{errNoLeader}}, false, true, 0, id},
		"unknown, so again as the same":   {[]error{kerr.RequestTimedOut}, false, true, 0, id},
		"a stranger, so again as another": {[]error{kerr.OutOfOrderSequenceNumber}, false, true, 0, plain},
		"a stranger after a doubt, no more": {
			[]error{kerr.NotLeaderForPartition, kerr.UnknownProducerID},
			false,
			false,
			0,
			plain,
		},
		"too often": {[]error{
			kerr.NotEnoughReplicas,
			kerr.NotEnoughReplicas,
			kerr.NotEnoughReplicas,
			kerr.NotEnoughReplicas,
		}, false, false, 0, plain},
	} {
		p := &producer{number: 1, idempotent: true}
		p.begin(1)
		p.identity = id
		var acknowledged, again bool
		for _, err := range c.errs {
			acknowledged, again = p.learn(&attempt{err: err})
		}
		if acknowledged != c.acknowledged || again != c.again || p.sequence[0] != c.sequence || p.identity != c.identity {
			t.Errorf("%s: acknowledged %t, again %t, sequence %d, as %v", name, acknowledged, again, p.sequence[0],
				p.identity)
		}
	}
}

// The client library can read a batch, including its checksum.
func TestBatch(t *testing.T) {
	for _, value := range []string{"1.1", strings.Repeat("x", 40)} {
		for _, id := range []identity{plain, {5, 2}} {
			p := kmsg.NewFetchResponseTopicPartition()
			p.RecordBatches, p.HighWatermark = batch(value, id, 3), 1
			got, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{}, &p, nil, nil)
			if got.Err != nil || len(got.Records) != 1 || string(got.Records[0].Value) != value ||
				got.Records[0].ProducerID != id.id ||
				got.Records[0].ProducerEpoch != id.epoch {
				t.Errorf("%q of %v: %+v", value, id, got)
			}
		}
	}
}

func TestWrongOptions(t *testing.T) {
	for _, c := range []struct {
		set  []string
		want string
	}{
		{[]string{"brokers=9"}, "brokers is 9, allowed are 1..5"},
		{[]string{"insync=4"}, "insync is 4, at most the number of brokers, 3, is allowed"},
		{[]string{"producers=what"}, `producers is "what", allowed are both, idempotent, plain`},
		{[]string{"acks=none"}, `acks is "none", allowed are all, leader`},
		{[]string{"acks=leader"}, "set acks=all or producers=plain"},
		{[]string{"session=1ms"}, "session is 1ms, it must be at least 100ms"},
	} {
		system, err := Targets[0].Build(c.set)
		if err == nil {
			_, err = system.Describe()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.set, err)
		}
	}
	if info, err := (Cluster{Controllers: 1}).Describe(); err != nil || info.Nodes != 4 ||
		info.Options["version"] != "4.3.1" ||
		!slices.Contains(info.Roles, "controller") {
		t.Errorf("%+v, %v", info, err)
	}
	if c := target.Fill(Cluster{}); c.controllers() != trace.AllNodes(3) || c.nodes() != 3 {
		t.Errorf("%s control %d nodes", c.controllers(), c.nodes())
	}
}
