package rounds

import (
	"fmt"

	"github.com/lockstep-go/lockstep/trace"
)

// Check reports the first delivery of a recorded run in rounds that violates them, or nil. A delivery respects its
// round if the message was sent for this round and for no other. The settling stage is not in rounds.
func Check(t *trace.Trace) error {
	c := checker{names: len(t.Header.Rounds), sent: map[trace.ID]sending{}}
	for i := range t.Records {
		rec := &t.Records[i]
		if rec.Settle {
			return nil
		}
		if rec.Step.Kind == trace.Deliver {
			if why := c.breaks(rec); why != "" {
				m := c.sent[rec.Step.Msg]
				return fmt.Errorf("step %d delivers %s in round %d, %s", rec.Number, m.Message, rec.Round, why)
			}
		}
		for _, s := range rec.Sent {
			c.sent[s.ID] = sending{s.Message, rec.Round, rec.Step.Kind == trace.Deliver}
		}
	}
	return nil
}

// sending is a message with the round in which it was sent, from 1 (0: before the first), and whether its sender had
// received a message of that round.
type sending struct {
	trace.Message
	round int
	reply bool
}

type checker struct {
	names int
	sent  map[trace.ID]sending
	round int   // of the previous delivery
	phase int32 // of the tag of the previous delivery
	ended int32 // the same before this phase of the run
}

// breaks says why a delivery does not respect its round.
func (c *checker) breaks(rec *trace.Record) string {
	m := c.sent[rec.Step.Msg]
	if c.names == 0 {
		if next := m.round + 1; m.reply && rec.Round != next || !m.reply && rec.Round != max(m.round, 1) {
			return fmt.Sprintf("but it was sent in round %d", m.round)
		}
		return ""
	}
	pass := func(round int) int { return max(round-1, 0) / c.names }
	fresh := rec.Round != c.round
	before := c.phase
	if pass(rec.Round) != pass(c.round) {
		c.ended = before
	}
	c.round, c.phase = rec.Round, m.Tag.Phase
	switch {
	case int(m.Tag.Round) != (rec.Round-1)%c.names:
		return fmt.Sprintf("but its tag is of round %d of a phase, from 0", m.Tag.Round)
	case pass(m.round) != pass(rec.Round) && m.Tag.Phase <= c.ended:
		return fmt.Sprintf("but it was sent in round %d, in the phase before", m.round)
	case m.round == rec.Round && m.reply:
		return "in which it was sent when the round was under way"
	case m.Tag.Phase < before || m.Tag.Phase > before && !fresh:
		return fmt.Sprintf("but its tag is of phase %d, and another message's of phase %d", m.Tag.Phase, before)
	}
	return ""
}
