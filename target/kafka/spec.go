package kafka

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
)

// The types of the events that tell what producers and readers see, with their values.
const (
	EventSend    = "send"    // a *Record is written for the first time
	EventAck     = "ack"     // an *Ack
	EventRecords = "records" // the *Records of a partition in the end
)

// Ack tells that a record was acknowledged, and which offset it has; -1 where that was not told.
type Ack struct {
	Record
	Offset int64
}

// String is the acknowledgement in words.
func (a *Ack) String() string { return fmt.Sprintf("%s at %d", a.Record, a.Offset) }

// Placed is what is at an offset of a log.
type Placed struct {
	Offset int64
	Value  string
}

// Records is the log of a partition.
type Records struct {
	Partition int
	Log       []Placed
}

// String is the log in words.
func (r *Records) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "partition %d:", r.Partition)
	for _, p := range r.Log {
		fmt.Fprintf(&b, " %d=%s", p.Offset, p.Value)
	}
	return b.String()
}

// Properties are what Kafka promises with safe settings.
var Properties = spec.All(Acknowledged, Order, Once)

// Acknowledged is the promise that no record is lost that was acknowledged.
var Acknowledged = spec.New("acknowledged-kept", func(lockstep.Info) *judge { return &judge{find: lost} })

// Order is the promise that records are where their acknowledgements said, that one that was acknowledged before another was first written
// comes before it, and that nothing is in the log that nobody wrote.
var Order = spec.New("partition-order", func(lockstep.Info) *judge { return &judge{find: disorder} })

// Once is the promise that a record of an idempotent producer is in the log at most once.
var Once = spec.New("idempotent-once", func(lockstep.Info) *judge { return &judge{find: twice} })

// history is what happened in a run.
type history struct {
	time  int
	sent  map[string]Record
	begun map[string]int // when a record was first written, by its value
	acks  []acked
	logs  map[int][]Placed // by partition, as read last
}

// acked is an acknowledgement and when it came.
type acked struct {
	Ack
	at int
}

// offsets are those of a record in its partition's log.
func (h *history) offsets(r Record) (all []int64) {
	for _, p := range h.logs[r.Partition] {
		if p.Value == r.value() {
			all = append(all, p.Offset)
		}
	}
	return all
}

// judge keeps the history for one property.
type judge struct {
	history
	find   func(*history) (judged int, text string)
	judged int
}

// Reset begins a new run.
func (j *judge) Reset() {
	j.history = history{sent: map[string]Record{}, begun: map[string]int{}, logs: map[int][]Placed{}}
	j.judged = 0
}

// Judged counts what was judged in the end.
func (j *judge) Judged() int { return j.judged }

// Event notes an event.
func (j *judge) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	j.time++
	switch v := e.Value.(type) {
	case *Record:
		j.sent[v.value()], j.begun[v.value()] = *v, j.time
	case *Ack:
		j.acks = append(j.acks, acked{*v, j.time})
	case *Records:
		j.logs[v.Partition] = v.Log
	}
	return nil
}

// End judges the log that was read last.
func (j *judge) End(run *lockstep.Run) *lockstep.Finding {
	if !run.Settled() || len(j.logs) == 0 {
		return nil
	}
	var text string
	if j.judged, text = j.find(&j.history); text != "" {
		return &lockstep.Finding{Text: text}
	}
	return nil
}

// lost finds records that were acknowledged and are gone.
func lost(h *history) (judged int, text string) {
	var gone []string
	for _, a := range h.acks {
		judged++
		if len(h.offsets(a.Record)) == 0 {
			gone = append(gone, a.String())
		}
	}
	if len(gone) > 0 {
		text = fmt.Sprintf("acknowledged and not in the log: %s", strings.Join(gone, ", "))
	}
	return judged, text
}

// disorder finds records that are not where they belong.
func disorder(h *history) (judged int, text string) {
	for _, log := range h.logs {
		for _, p := range log {
			if _, ok := h.sent[p.Value]; !ok {
				return judged, fmt.Sprintf("the log has %q at %d, which nobody wrote", p.Value, p.Offset)
			}
		}
	}
	for i, a := range h.acks {
		is := h.offsets(a.Record)
		if len(is) == 0 || a.Offset < 0 {
			continue // it is lost, or nobody said where it is
		}
		judged++
		if !slices.Contains(is, a.Offset) {
			return judged, fmt.Sprintf("%s was acknowledged at %d and is at %d", a.Record, a.Offset, is[0])
		}
		for _, b := range h.acks[i+1:] {
			if b.Partition == a.Partition && h.begun[b.value()] > a.at && b.Offset >= 0 && b.Offset <= a.Offset && len(h.offsets(b.Record)) > 0 {
				return judged, fmt.Sprintf("%s was acknowledged at %d before %s was written, which is at %d", a.Record, a.Offset, b.Record, b.Offset)
			}
		}
	}
	return judged, ""
}

// twice finds records of idempotent producers that are in the log more than once.
func twice(h *history) (judged int, text string) {
	for _, log := range h.logs {
		for _, p := range log {
			if r := h.sent[p.Value]; r.Idempotent {
				judged++
				if at := h.offsets(r); len(at) > 1 {
					return judged, fmt.Sprintf("%s of an idempotent producer is at %d and at %d", r, at[0], at[1])
				}
			}
		}
	}
	return judged, ""
}
