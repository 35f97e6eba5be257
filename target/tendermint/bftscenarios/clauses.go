package bftscenarios

import (
	"context"
	"fmt"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/published"
	"github.com/lockstep-go/lockstep/target/tendermint"
	"github.com/lockstep-go/lockstep/trace"
)

// Clause is a rule of the algorithm: an "upon" clause or a timeout of Algorithm 1 in "The latest gossip on BFT
// consensus" (Buchman, Kwon, Milosevic). A scenario covers a clause if its guard holds at a correct validator in a run,
// by the messages that the validator has received. Timeouts are seen by what they make a validator do.
type Clause struct {
	Line int
	Text string
}

// Clauses are the rules, in the order of the algorithm.
var Clauses = []Clause{
	{22, "a proposal of its round without a polka"},
	{28, "a proposal of its round with an earlier polka"},
	{34, "2f+1 prevotes of its round"},
	{36, "a proposal of its round and a polka for it"},
	{44, "a polka for nil in its round"},
	{47, "2f+1 precommits of its round"},
	{49, "a proposal and 2f+1 precommits for it"},
	{55, "f+1 messages of a later round"},
	{57, "the timeout of a proposal"},
	{61, "the timeout of prevotes"},
	{65, "the timeout of precommits"},
}

// Coverage returns the clauses that runs of a case cover, by line.
func Coverage(ctx context.Context, c published.Case, runs int, seed uint64) (map[int]bool, error) {
	o := &covering{covered: map[int]bool{}}
	plan := Plan(c.Build(true), runs, seed)
	plan.Observers = []lockstep.Observer{o}
	if _, err := lockstep.Explore(ctx, plan); err != nil {
		return nil, fmt.Errorf("%s: %w", c.Name, err)
	}
	return o.covered, nil
}

// covering is the observer of Coverage.
type covering struct{ covered map[int]bool }

// New makes a watcher.
func (c *covering) New(lockstep.Info) lockstep.Watcher { return &clauses{} }

// Collect adds the clauses of a run.
func (c *covering) Collect(_ int, noted any) {
	for _, line := range noted.([]int) {
		c.covered[line] = true
	}
}

// voteOf is a kind of vote of a round, for a block; the block "*" stands for any.
type voteOf struct {
	kind  string
	round int32
	block string
}

const anyBlock = "*"

// validator is what a validator of the first height has received.
type validator struct {
	round     int32
	step      string
	proposals map[int32]*tendermint.Message
	votes     map[voteOf]lockstep.Nodes
	seen      map[int32]lockstep.Nodes // senders of messages of a round
	left      bool                     // it has decided
}

// clauses evaluates the guards in one run.
type clauses struct {
	at      [all + 1]validator
	covered map[int]bool
}

// Reset begins a new run.
func (w *clauses) Reset() {
	w.covered = map[int]bool{}
	for n := range w.at {
		w.at[n] = validator{proposals: map[int32]*tendermint.Message{}, votes: map[voteOf]lockstep.Nodes{},
			seen: map[int32]lockstep.Nodes{}}
	}
}

// Observe records what arrives and what validators do, and evaluates the guards.
func (w *clauses) Observe(run *lockstep.Run) {
	if s := run.Last(); s.Kind == trace.Deliver {
		m := run.Message(s.Msg)
		if body, ok := run.Body(s.Msg).(*tendermint.Message); ok && m.To != byzantineNode && body.Height == 1 {
			w.receive(m.To, m.From, body)
		}
	}
	events := run.Events()
	for i := range events {
		if n := events[i].Node; n != 0 && n != byzantineNode {
			w.event(n, &events[i])
		}
	}
}

// receive records a message, and evaluates the guards at its receiver.
func (w *clauses) receive(n, from lockstep.Node, m *tendermint.Message) {
	v := &w.at[n]
	switch m.Kind {
	case tendermint.Proposal:
		v.proposals[m.Round] = m
	case tendermint.Prevote, tendermint.Precommit:
		v.vote(m.Kind, m.Round, m.Block, m.By)
		from = m.By
	default:
		return
	}
	v.seen[m.Round] = v.seen[m.Round].With(from)
	w.guards(v)
}

// vote records a vote.
func (v *validator) vote(kind string, round int32, block string, by lockstep.Node) {
	for _, b := range []string{block, anyBlock} {
		key := voteOf{kind, round, b}
		v.votes[key] = v.votes[key].With(by)
	}
}

// has reports whether there are 2f+1 votes.
func (v *validator) has(kind string, round int32, block string) bool {
	return v.votes[voteOf{kind, round, block}].Len() >= 2*f+1
}

// event records a validator's own steps and votes.
func (w *clauses) event(n lockstep.Node, e *lockstep.Event) {
	v := &w.at[n]
	switch value := e.Value.(type) {
	case *tendermint.Step:
		if value.Height == 1 {
			if value.Round == v.round+1 && v.has(tendermint.Precommit, v.round, anyBlock) {
				w.covered[65] = true
			}
			v.round, v.step = value.Round, value.Step
		} else {
			v.left = true
		}
	case *tendermint.Proposed:
		if value.Height == 1 {
			v.proposals[value.Round] = &tendermint.Message{Round: value.Round, Block: value.Block, POL: value.POL}
		}
	case *tendermint.Vote:
		w.own(v, n, e.Type, value)
	default:
		return
	}
	w.guards(v)
}

// own records a vote that a validator signs; a vote for nil may be that of a timeout.
func (w *clauses) own(v *validator, n lockstep.Node, event string, vote *tendermint.Vote) {
	kind := map[string]string{tendermint.EventPrevote: tendermint.Prevote,
		tendermint.EventPrecommit: tendermint.Precommit}[event]
	if kind == "" || vote.Height != 1 {
		return
	}
	if vote.Block == tendermint.Nil {
		switch {
		case kind == tendermint.Prevote && v.proposals[vote.Round] == nil:
			w.covered[57] = true
		case kind == tendermint.Precommit && !v.has(tendermint.Prevote, vote.Round, tendermint.Nil) &&
			v.has(tendermint.Prevote, vote.Round, anyBlock):
			w.covered[61] = true
		}
	}
	v.vote(kind, vote.Round, vote.Block, n)
}

// guards evaluates the guards of the "upon" clauses at a validator.
func (w *clauses) guards(v *validator) {
	if v.left || v.step == "" {
		return
	}
	p := v.proposals[v.round]
	propose, prevote := v.step == "propose", v.step == "prevote"
	for _, guard := range []struct {
		line  int
		holds bool
	}{
		{22, propose && p != nil && p.POL < 0},
		{28, propose && p != nil && p.POL >= 0 && p.POL < v.round && v.has(tendermint.Prevote, p.POL, p.Block)},
		{34, prevote && v.has(tendermint.Prevote, v.round, anyBlock)},
		{36, !propose && p != nil && v.has(tendermint.Prevote, v.round, p.Block)},
		{44, prevote && v.has(tendermint.Prevote, v.round, tendermint.Nil)},
		{47, v.has(tendermint.Precommit, v.round, anyBlock)},
	} {
		if guard.holds {
			w.covered[guard.line] = true
		}
	}
	for round, p := range v.proposals { //lockstep:unordered it sets one entry
		if v.has(tendermint.Precommit, round, p.Block) {
			w.covered[49] = true
		}
	}
	for round, from := range v.seen { //lockstep:unordered it sets one entry
		if round > v.round && from.Len() >= f+1 {
			w.covered[55] = true
		}
	}
}

// Noted returns the covered lines.
func (w *clauses) Noted() any {
	var lines []int
	for _, c := range Clauses {
		if w.covered[c.Line] {
			lines = append(lines, c.Line)
		}
	}
	return lines
}
