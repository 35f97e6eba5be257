package remote

import (
	"fmt"
	"math"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/remote/wire"
	"github.com/lockstep-go/lockstep/trace"
)

// apply processes a report and reports whether the node has completed an order.
func (d *deployment) apply(i int, r *wire.Report, number uint32, out *lockstep.Outbox) (done bool, err error) {
	if st := d.system.Stats; st != nil {
		st.Reports.Add(1)
	}
	if r.Run != d.run {
		if st := d.system.Stats; st != nil && r.Run != 0 {
			st.Stale.Add(1)
		}
		return false, nil
	}
	if r.Done > number {
		return false, fmt.Errorf("it reports order %d as done, but the last order was %d", r.Done, number)
	}
	n := &d.nodes[i]
	if n.effects += len(r.Effects); n.effects > d.system.Limits.effects() {
		return false, fmt.Errorf("one order caused more than %d effects", d.system.Limits.effects())
	}
	node := lockstep.Node(i + 1)
	for k := range r.Effects {
		if err := d.effect(node, &r.Effects[k], out); err != nil {
			return false, err
		}
	}
	if r.State != "" {
		out.State(node, r.State)
	}
	if r.Role != "" {
		n.role = r.Role
	}
	return r.Done == number, nil
}

// longestName is the maximum length of the name of a type or timer.
const longestName = 100

// effect passes one effect to the engine.
func (d *deployment) effect(node lockstep.Node, e *wire.Effect, out *lockstep.Outbox) error {
	if len(e.Type) > longestName || e.Type == "" && e.Kind != wire.Timer && e.Kind != wire.Cancel {
		return fmt.Errorf("a %s whose type has %d bytes; 1 to %d are possible", e.Kind, len(e.Type), longestName)
	}
	switch e.Kind {
	case wire.Send:
		return d.send(node, e, out)
	case wire.Timer:
		if e.After > math.MaxInt64/2 {
			return fmt.Errorf("timer %q fires after %d; at most 2^62 is possible", e.Type, e.After)
		}
		d.nodes[node-1].timers.Set(e.Type, out.Now()+trace.Time(e.After))
		d.nodes[node-1].timers.Arm(node, out)
	case wire.Cancel:
		d.nodes[node-1].timers.Stop(e.Type)
		d.nodes[node-1].timers.Arm(node, out)
	case wire.Event:
		event := lockstep.Event{Node: node, Type: e.Type, Text: e.Text, Value: e.Text}
		if d.system.Value != nil {
			event.Value = d.system.Value(e.Type, e.Text)
		}
		out.Event(event)
	default:
		return fmt.Errorf("an effect of kind %d, which does not exist", e.Kind)
	}
	return nil
}

// send sends a message through the engine.
func (d *deployment) send(node lockstep.Node, e *wire.Effect, out *lockstep.Outbox) error {
	if e.To < 1 || int(e.To) > len(d.nodes) {
		return fmt.Errorf("a message to node %d; 1 to %d are possible", e.To, len(d.nodes))
	}
	if e.Phase > math.MaxInt32 || int(e.Round) >= max(1, len(d.system.Rounds)) {
		return fmt.Errorf("a message %s of phase %d, round %d; phases go up to 2^31-1, rounds are the %d of %q", e.Type,
			e.Phase, e.Round, len(d.system.Rounds), d.system.Rounds)
	}
	var tag trace.Tag
	if len(d.system.Rounds) > 0 {
		tag = trace.Tag{Phase: int32(e.Phase), Round: int32(e.Round)}
	}
	body := out.Send(node, lockstep.Node(e.To), e.Type, tag)
	d.bodies = append(d.bodies, e.Body)
	out.Text(body, e.Text)
	return nil
}
