package report

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/report/internal/plain"
	"github.com/lockstep-go/lockstep/trace"
)

// phases sorts a run that is not in lockstep rounds by the rounds of its protocol. A message belongs to the round of
// its tag. A step of a node belongs to the round that the node is in, which is that of the latest message it sent.
// Nodes need not be in the same round at the same time, and a message is late if its receiver has left its round.
// Messages aside belong to no round.
type phases struct {
	header *trace.Header
	tags   []trace.Tag   // the tags of the rounds that occur, in order
	where  [][]trace.Tag // by record, and by node: the node's round when the record begins
}

// phased reports whether a run can be sorted: its messages have tags, and it is not in rounds.
func phased(t *trace.Trace) bool {
	return len(t.Rounds) == 0 && len(t.Header.Rounds) > 0 && slices.ContainsFunc(t.Records, func(r trace.Record) bool {
		return slices.ContainsFunc(r.Sent, func(m trace.Sent) bool { return m.Tag.Phase > 0 })
	})
}

func newPhases(t *trace.Trace) *phases {
	p := &phases{header: &t.Header}
	now := make([]trace.Tag, t.Header.Nodes+1)
	tags := map[trace.Tag]bool{{}: true}
	for i := range t.Records {
		p.where = append(p.where, slices.Clone(now))
		for _, m := range t.Records[i].Sent {
			if p.aside(m.Type) {
				continue
			}
			tags[m.Tag] = true
			if int(m.From) < len(now) && now[m.From].Less(m.Tag) {
				now[m.From] = m.Tag
			}
		}
	}
	for tag := range tags {
		p.tags = append(p.tags, tag)
	}
	slices.SortFunc(p.tags, compareTags)
	return p
}

func compareTags(a, b trace.Tag) int {
	switch {
	case a.Less(b):
		return -1
	case b.Less(a):
		return 1
	}
	return 0
}

// aside reports whether messages of a type belong to no round.
func (p *phases) aside(kind string) bool { return slices.Contains(p.header.Aside, kind) }

// lane returns the column of a tag.
func (p *phases) lane(t trace.Tag) int {
	at, _ := slices.BinarySearchFunc(p.tags, t, compareTags)
	return at
}

// round returns a round as text.
func (p *phases) round(t trace.Tag) string {
	switch {
	case t.Phase == 0:
		return "start"
	case t.Round >= 0 && int(t.Round) < len(p.header.Rounds):
		return plain.Clean(p.header.Rounds[t.Round])
	}
	return fmt.Sprint(t.Round)
}

// name returns a round with its phase as text.
func (p *phases) name(t trace.Tag) string {
	if t.Phase == 0 {
		return "start"
	}
	return fmt.Sprintf("%s, %s", plain.Clean(p.header.Phases.Of(t.Phase)), p.round(t))
}

// of returns the round of a record: that of its message, or of the acting node, or of the most advanced node.
func (p *phases) of(s *drawing, i int) trace.Tag {
	if m := s.mails[s.trace.Records[i].Step.Msg]; m != nil && !p.aside(m.Type) {
		return m.Tag
	}
	if n := s.actor(i); n != 0 {
		return p.where[i][n]
	}
	return slices.MaxFunc(p.where[i], compareTags)
}

// late reports as text that a message came after its receiver had left its round. It is empty if it was not late.
func (p *phases) late(m *mail, i int) string {
	if int(m.To) >= len(p.where[i]) || m.lost || !m.Tag.Less(p.where[i][m.To]) {
		return ""
	}
	return fmt.Sprintf("late: node %d was in %s", m.To, p.name(p.where[i][m.To]))
}

// lanes returns the columns of the picture.
func (p *phases) lanes(s *drawing) (lanes []lane) {
	for _, t := range p.tags {
		lanes = append(
			lanes,
			lane{
				head:  p.round(t),
				name:  p.name(t),
				phase: int(t.Phase),
				band:  plain.Clean(p.header.Phases.Of(t.Phase)),
				round: len(lanes),
			},
		)
	}
	for i := s.first; i < len(s.trace.Records); i++ {
		l := &lanes[p.lane(p.of(s, i))]
		l.records = append(l.records, i)
	}
	return lanes
}

// size returns the counts of the view besides steps, as text.
func (p *phases) size(s *drawing) []string {
	late := 0
	for i := range s.trace.Records {
		rec := &s.trace.Records[i]
		if m := s.mails[rec.Step.Msg]; m != nil && rec.Step.Kind == trace.Deliver && !p.aside(m.Type) &&
			p.late(m, i) != "" {
			late++
		}
	}
	names, groups, called := map[int32]bool{}, map[int32]bool{}, p.header.Phases
	for _, t := range p.tags[1:] {
		names[t.Phase] = true
		groups[(t.Phase-1)/max(called.Per, 1)] = true
	}
	size := []string{count(len(names), "phase"), count(len(p.tags)-1, "round")}
	if called.Per > 0 { // the protocol may call a phase a round
		size = []string{count(len(groups), called.Group), count(len(names), called.Name)}
	}
	return append(size, fmt.Sprintf("%d late", late))
}

// count formats a number of things for which a system has a word.
func count(n int, what string) string { return words.Count(n, plain.Clean(what)) }
