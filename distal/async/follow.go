package async

import (
	"fmt"

	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/distal/sequential"
)

// Move is one step of an asynchronous run.
type Move struct {
	Node    int        // at which a timeout fires; 0: a message moves
	Rule    *core.Rule // the timeout
	Message int        // the number of the message
	Lost    bool       // it is lost
	Hold    bool       // the receiver does not act yet: more messages come with it
	Row     int        // the row of the sequential run that it belongs to
}

// Followed is an asynchronous run that follows one of the sequential program.
type Followed struct {
	Instance *Instance
	Moves    []Move
	Choices  []int // how the choices of the program were resolved, in order
}

// Follow makes a run of the sequential program message by message: in every round the timeouts that fired fire, and
// every node that acted receives at once what it had received. Every node must go through the same states. It is how a
// counterexample of the sequential program is shown to be one of the program as it is written.
// broken is the property, condition or fault in which the run must end.
func Follow(model *sequential.Model, start []*machine.State, rows []sequential.Row, broken string) (*Followed, error) {
	f := &Followed{Instance: fresh(model.Source, nil)}
	w := &follower{model: model, out: f, broken: broken}
	for i := range model.Source.N {
		if err := w.start(i+1, start); err != nil {
			return f, err
		}
	}
	for i, row := range rows {
		w.row = i
		if err := w.round(row); err != nil {
			return f, fmt.Errorf("phase %d, round %s: %w", row.Tag.Phase, model.Program.Round(row.Tag), err)
		}
		if i == len(rows)-1 && !w.met {
			w.poke(row)
		}
		w.lose(row.Tag)
	}
	if !w.met && !f.Instance.Breaks(broken) {
		return f, fmt.Errorf("message by message the run does not break %s", broken)
	}
	return f, nil
}

// poke lets nodes that did nothing in the last round look at what they received, and at their clocks: evaluating a
// guard can be a fault.
func (w *follower) poke(row sequential.Row) {
	for i := range row.Nodes {
		c := &row.Nodes[i]
		if c.Rule != nil {
			continue
		}
		ids := w.inbox[i]
		for k, id := range ids {
			w.move(Move{Message: id, Hold: k < len(ids)-1})
		}
		if _, err := w.out.Instance.Deliver(ids...); err != nil {
			panic("async: " + err.Error())
		}
		if _, fault := w.out.Instance.Clocks(i + 1); fault != nil {
			w.move(Move{Node: i + 1})
			w.out.Instance.Timeout(i + 1)
		}
	}
}

// received lists the messages that a node received in a round.
func (w *follower) received(i int, tag machine.Tag, c *sequential.Cell) []int {
	var ids []int
	for _, f := range w.out.Instance.flight {
		if f.To == i && f.Message.Tag == tag && c.Received&(1<<(f.Message.From-1)) != 0 {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

type follower struct {
	model  *sequential.Model
	out    *Followed
	broken string
	met    bool    // it has been broken
	inbox  [][]int // by node: what it receives in the round
	row    int
}

// start starts a node in the state that is asked for. Without one some node cannot even start: each starts in a way
// that goes wrong, if it has one.
func (w *follower) start(i int, states []*machine.State) error {
	begin := func(in *Instance) []Firing {
		in.start(i)
		return in.history[len(in.history)-1:]
	}
	if states != nil {
		return w.try(begin, func(f *Firing) bool { return f.Fault != nil || w.model.Agrees(states[i-1], f.After, f.Sent) })
	}
	if err := w.try(begin, func(f *Firing) bool {
		return f.Fault != nil || f.Broken >= 0 ||
			len(f.Breaches) > 0
	}); err == nil {
		return nil
	}
	return w.try(begin, func(*Firing) bool { return true })
}

// started says whether all nodes have started, so that properties have a meaning.
func (w *follower) started() bool { return w.out.Instance.nodes[w.model.Source.N-1].state != nil }

// maxAttempts limits the ways in which a step is tried.
const maxAttempts = 4096

// try makes a step with every resolution of its choices until the first firing is as wanted, and keeps that.
func (w *follower) try(step func(*Instance) []Firing, want func(*Firing) bool) error {
	var path, sizes []int
	for range maxAttempts {
		at := 0
		in := w.out.Instance.Clone(nil)
		in.choose = func(n int) int {
			if at == len(path) {
				path, sizes = append(path, 0), append(sizes, n)
			}
			at++
			return path[at-1]
		}
		fired := step(in)
		if len(fired) > 0 && want(&fired[0]) {
			w.out.Instance = in
			w.out.Choices = append(w.out.Choices, path[:at]...)
			w.met = w.met || w.started() && in.Breaks(w.broken)
			return nil
		}
		last := len(path) - 1
		for last >= 0 && path[last]+1 >= sizes[last] {
			last--
		}
		if last < 0 {
			break
		}
		path, sizes = path[:last+1], sizes[:last+1]
		path[last]++
	}
	return fmt.Errorf("no run of the program as it is written does this")
}

// round follows one round: timeouts, then what each node receives and does.
func (w *follower) round(row sequential.Row) error {
	for i := range row.Nodes {
		if c := &row.Nodes[i]; c.Began != nil {
			if err := w.fire(i+1, row.Tag, c); err != nil {
				return fmt.Errorf("node %d, %s: %w", i+1, w.model.Label(c.Began), err)
			}
		}
	}
	w.inbox = nil // what was sent before anyone acted
	for i := range row.Nodes {
		w.inbox = append(w.inbox, w.received(i+1, row.Tag, &row.Nodes[i]))
	}
	for i := range row.Nodes {
		c := &row.Nodes[i]
		if c.Rule == nil {
			continue
		}
		if err := w.act(i+1, row.Tag, c); err != nil {
			return fmt.Errorf("node %d, %s: %w", i+1, w.model.Label(c.Rule), err)
		}
	}
	return nil
}

// fire lets the plain timeout fire with which a node began the round. Which clock fires is a choice, too.
func (w *follower) fire(i int, tag machine.Tag, c *sequential.Cell) error {
	w.move(Move{Node: i, Rule: c.Began.Rule})
	return w.try(func(in *Instance) []Firing { return in.Timeout(i) }, func(f *Firing) bool {
		var now, later []machine.Send
		for _, s := range f.Sent {
			if s.Tag == tag {
				now = append(now, s)
			} else {
				later = append(later, s)
			}
		}
		return is(f.Rule, c.Began.Rule) && (f.Fault != nil || sequential.SameSends(now, c.Out) &&
			w.model.Agrees(c.Begun, f.After, later))
	})
}

// act gives a node what it received and lets it act, by a rule or a timeout.
func (w *follower) act(i int, tag machine.Tag, c *sequential.Cell) error {
	ids := w.inbox[i-1]
	_, timeout := c.Rule.Rule.Trigger.(core.OnRoundTimeout)
	for k, id := range ids {
		w.move(Move{Message: id, Hold: timeout || k < len(ids)-1})
	}
	if timeout {
		w.move(Move{Node: i, Rule: c.Rule.Rule})
	}
	return w.try(func(in *Instance) []Firing {
		if !timeout {
			fired, err := in.Deliver(ids...)
			if err != nil {
				return nil
			}
			return fired
		}
		if in.Put(ids...) != nil {
			return nil
		}
		return in.Timeout(i)
	}, func(f *Firing) bool {
		return is(f.Rule, c.Rule.Rule) && f.Tag == tag && (f.Fault != nil || w.model.Agrees(c.State, f.After, f.Sent))
	})
}

func (w *follower) move(m Move) {
	m.Row = w.row
	w.out.Moves = append(w.out.Moves, m)
}

// lose drops what was not received in its round.
func (w *follower) lose(tag machine.Tag) {
	var ids []int
	for _, f := range w.out.Instance.flight {
		if !tag.Before(f.Message.Tag) {
			ids = append(ids, f.ID)
		}
	}
	for _, id := range ids {
		w.move(Move{Message: id, Lost: true})
		if w.out.Instance.Drop(id) != nil {
			panic("async: a message in flight cannot be dropped")
		}
	}
}

// is says whether two rules are the same one, of the same program or of a copy of it; nil is init.
func is(a, b *core.Rule) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Index == b.Index
}
