package process

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// PacketKinds are the kinds of steps that a [Deployment] performs if its links have decoders and its network is
// controlled (see [Network.SetControlled]). Packets are then messages of the engine.
var PacketKinds = Kinds | trace.KindsOf(trace.Deliver, trace.Drop)

// hands reports waiting packets to the engine, and carries out the engine's decisions.
type hands struct {
	network  *Network
	forge    func(text string, body trace.ID, sent func(trace.ID) []byte) (Packet, []byte, error)
	numbers  map[trace.ID]int // of packets, by the body of the message
	messages map[int]trace.ID // by the number of the packet
}

// begin discards all state for a new run.
func (h *hands) begin() {
	h.network.SetControlled(false)
	h.network.ClearLimit()
	_, _, _ = h.network.Poll()
	h.numbers, h.messages = map[trace.ID]int{}, map[int]trace.ID{}
}

// do delivers or drops a message. A dropped message takes its connection with it.
func (h *hands) do(s *lockstep.Step, out *lockstep.Outbox) {
	number := h.numbers[out.Message(s.Msg).Body]
	delete(h.messages, number) // its outcome is known
	if s.Kind == trace.Deliver {
		h.network.Deliver(number)
	} else {
		h.network.Drop(number)
	}
}

// data returns the bytes of a message's packet, if packets are detached.
func (h *hands) data(body trace.ID) []byte { return h.network.Data(h.numbers[body]) }

// replace substitutes another packet for that of a message.
func (h *hands) replace(s *lockstep.Step, out *lockstep.Outbox) error {
	text, body := out.Forged(s)
	p, data, err := h.forge(text, body, h.data)
	if err != nil {
		return fmt.Errorf("forged message %q: %w", text, err)
	}
	m := out.Message(s.Msg)
	if h.numbers[body], err = h.network.Forge(m.From, m.To, data); err != nil {
		return err
	}
	out.Retype(s.Msg, p.Type, p.Tag)
	out.Text(body, text)
	return nil
}

// report reports what was sent and lost since the last call. The arrival order across links is random, so that it
// reports packets in the order of nodes.
func (h *hands) report(out *lockstep.Outbox) error {
	came, lost, err := h.network.Poll()
	slices.SortStableFunc(came,
		func(a, b WaitingPacket) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	for _, p := range came {
		body := out.Send(p.From, p.To, p.Type, p.Tag)
		out.Text(body, p.Text)
		h.numbers[body] = p.Number
		h.messages[p.Number] = 0
		for m := range out.Incoming(p.To) {
			if m.Body == body {
				h.messages[p.Number] = m.ID
				break
			}
		}
		if h.messages[p.Number] == 0 { // a cut link lost it
			h.network.Drop(p.Number)
			delete(h.messages, p.Number)
		}
	}
	for _, number := range lost {
		if id := h.messages[number]; id != 0 {
			out.Lose(id)
			delete(h.messages, number)
		}
	}
	return Inconclusive(err)
}
