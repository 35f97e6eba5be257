//go:build lockstep_overlay

package mqtttest

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// The number of steps of the settling stage, and the time without faults that the stage must reach before the spec
// checks the end.
const (
	settle        = 1500
	deliveryLimit = time.Minute
)

// delivery is the spec of the broker: a subscriber receives only messages that a publisher sent. Some time after the
// last fault it has received every acknowledged message that was sent after it had subscribed.
func delivery() lockstep.Spec {
	return spec.New("delivery", func(lockstep.Info) *messages { return &messages{} })
}

// messages tracks which messages were sent, acknowledged and received.
type messages struct {
	began   trace.Time // of the settling stage
	sent    map[string][]lockstep.Node
	acked   []string
	got     map[lockstep.Node]map[string]bool // by subscriber
	checked int
}

func (m *messages) Reset() {
	*m = messages{began: -1, sent: map[string][]lockstep.Node{}, got: map[lockstep.Node]map[string]bool{}}
}

// Checked counts the acknowledged messages that were expected at a subscriber.
func (m *messages) Checked() int { return m.checked }

func (m *messages) Event(run *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if run.Settling() && m.began < 0 {
		m.began = run.Now()
	}
	text, _ := e.Value.(string)
	switch e.Type {
	case eventSubscribed:
		if m.got[e.Node] == nil {
			m.got[e.Node] = map[string]bool{}
		}
	case eventSends:
		m.sent[text] = nil
		for n := range m.got {
			m.sent[text] = append(m.sent[text], n)
		}
	case eventAcked:
		if time.Duration(run.Now()-m.began) < deliveryLimit/2 || m.began < 0 { // later ones may be in flight at the end
			m.acked = append(m.acked, text)
		}
	case eventGot:
		if _, sent := m.sent[text]; !sent {
			return finding(e.Node, "node %d gets %q, which no node sent", e.Node, text)
		}
		if m.got[e.Node] != nil {
			m.got[e.Node][text] = true
		}
	}
	return nil
}

func (m *messages) End(run *lockstep.Run) *lockstep.Finding {
	if !run.Settled() || m.began < 0 || time.Duration(run.Now()-m.began) < deliveryLimit {
		return nil
	}
	for _, text := range m.acked {
		for _, n := range slices.Sorted(slices.Values(m.sent[text])) {
			m.checked++
			if !m.got[n][text] {
				return finding(n, "message %s was acknowledged, and node %d never gets it", text, n)
			}
		}
	}
	return nil
}

func finding(n lockstep.Node, format string, args ...any) *lockstep.Finding {
	return &lockstep.Finding{Nodes: trace.NodesOf(n), Text: fmt.Sprintf(format, args...)}
}
