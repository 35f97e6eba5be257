package kafka

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
)

// The types of the events that report the observations of producers and readers, with their values.
const (
	EventSend    = "send"    // a *Record is written for the first time
	EventAck     = "ack"     // an *Ack
	EventRecords = "records" // the final *Records of a partition
)

// Ack reports that a record was acknowledged, and its offset; -1 if the offset is unknown.
type Ack struct {
	Record
	Offset int64
}

// String returns the acknowledgement as text.
func (a *Ack) String() string { return fmt.Sprintf("%s at %d", a.Record, a.Offset) }

// Placed is a record at an offset of a log.
type Placed struct {
	Offset int64
	Value  string
}

// Records is the log of a partition.
type Records struct {
	Partition int
	Log       []Placed
}

// String returns the log as text.
func (r *Records) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "partition %d:", r.Partition)
	for _, p := range r.Log {
		fmt.Fprintf(&b, " %d=%s", p.Offset, p.Value)
	}
	return b.String()
}

// Properties are Kafka's guarantees with safe settings.
var Properties = spec.All(Acknowledged, Order, Once)

// Acknowledged is the guarantee that no acknowledged record is lost.
var Acknowledged = spec.New("acknowledged-kept", func(lockstep.Info) *checker { return &checker{find: lost} })

// Order is the guarantee that records are at their acknowledged offsets. A record that was acknowledged before another
// was first written precedes it. The log contains only records that a producer wrote.
var Order = spec.New("partition-order", func(lockstep.Info) *checker { return &checker{find: disorder} })

// Once is the guarantee that a record of an idempotent producer is in the log at most once.
var Once = spec.New("idempotent-once", func(lockstep.Info) *checker { return &checker{find: twice} })

// history is the history of a run.
type history struct {
	time  int
	sent  map[string]Record
	begun map[string]int // when a record was first written, by its value
	acks  []acked
	logs  map[int][]Placed // by partition, as read last
}

// acked is an acknowledgement and its time.
type acked struct {
	Ack
	at int
}

// offsets returns the offsets of a record in its partition's log.
func (h *history) offsets(r Record) (all []int64) {
	for _, p := range h.logs[r.Partition] {
		if p.Value == r.value() {
			all = append(all, p.Offset)
		}
	}
	return all
}

// checker records the history for one property.
type checker struct {
	history
	find    func(*history) (checked int, text string)
	checked int
}

// Reset begins a new run.
func (c *checker) Reset() {
	c.history = history{sent: map[string]Record{}, begun: map[string]int{}, logs: map[int][]Placed{}}
	c.checked = 0
}

// Checked returns the number of final checks.
func (c *checker) Checked() int { return c.checked }

// Event records an event.
func (c *checker) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	c.time++
	switch v := e.Value.(type) {
	case *Record:
		c.sent[v.value()], c.begun[v.value()] = *v, c.time
	case *Ack:
		c.acks = append(c.acks, acked{*v, c.time})
	case *Records:
		c.logs[v.Partition] = v.Log
	}
	return nil
}

// End checks the log that was read last.
func (c *checker) End(run *lockstep.Run) *lockstep.Finding {
	if !run.Settled() || len(c.logs) == 0 {
		return nil
	}
	var text string
	if c.checked, text = c.find(&c.history); text != "" {
		return &lockstep.Finding{Text: text}
	}
	return nil
}

// lost finds acknowledged records that are missing.
func lost(h *history) (checked int, text string) {
	var gone []string
	for _, a := range h.acks {
		checked++
		if len(h.offsets(a.Record)) == 0 {
			gone = append(gone, a.String())
		}
	}
	if len(gone) > 0 {
		text = fmt.Sprintf("acknowledged and not in the log: %s", strings.Join(gone, ", "))
	}
	return checked, text
}

// disorder finds records at wrong positions.
func disorder(h *history) (checked int, text string) {
	for _, log := range h.logs {
		for _, p := range log {
			if _, ok := h.sent[p.Value]; !ok {
				return checked, fmt.Sprintf("the log has %q at %d, which no producer wrote", p.Value, p.Offset)
			}
		}
	}
	for i, a := range h.acks {
		is := h.offsets(a.Record)
		if len(is) == 0 || a.Offset < 0 {
			continue // it is lost, or its offset is unknown
		}
		checked++
		if !slices.Contains(is, a.Offset) {
			return checked, fmt.Sprintf("%s was acknowledged at %d and is at %d", a.Record, a.Offset, is[0])
		}
		for _, b := range h.acks[i+1:] {
			if b.Partition == a.Partition && h.begun[b.value()] > a.at && b.Offset >= 0 && b.Offset <= a.Offset &&
				len(h.offsets(b.Record)) > 0 {
				return checked, fmt.Sprintf("%s was acknowledged at %d before %s was written, which is at %d", a.Record,
					a.Offset, b.Record, b.Offset)
			}
		}
	}
	return checked, ""
}

// twice finds records of idempotent producers that are in the log more than once.
func twice(h *history) (checked int, text string) {
	for _, log := range h.logs {
		for _, p := range log {
			if r := h.sent[p.Value]; r.Idempotent {
				checked++
				if at := h.offsets(r); len(at) > 1 {
					return checked, fmt.Sprintf("%s of an idempotent producer is at %d and at %d", r, at[0], at[1])
				}
			}
		}
	}
	return checked, ""
}
