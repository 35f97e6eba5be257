package spec

import (
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/isolation"
)

// Isolation checks, at the end of a run, that the clients' transactions keep an isolation level, see [isolation.Check].
// It is not about isolated nodes. Clients report a transaction by events whose values are a *[Call] and a *[Return].
type Isolation struct {
	Level isolation.Level
	// Txn returns the operations of a transaction with their answers, and its outcome. If the client had no answer,
	// output is Unanswered: then the operations have no answers, and the outcome is normally isolation.Unknown. For an
	// input that is no transaction, Txn returns no operations.
	Txn func(input, output any) ([]isolation.Op, isolation.Outcome)
	// Call is the type of the events whose values are a *Call; empty means EventCall. Systems whose clients have other
	// operations beside transactions set it and Return.
	Call string
	// Return is the type of the events whose values are a *Return; empty means EventReturn.
	Return string
}

// Properties names the property after the level.
func (i Isolation) Properties() []string { return []string{i.Level.String()} }

// New makes a monitor.
func (i Isolation) New(lockstep.Info) lockstep.Monitor {
	return &isolated{Isolation: i, history: history{call: i.Call, answer: i.Return}}
}

type isolated struct {
	Isolation
	history   history
	checked   [1]int
	undecided string
}

// Reset begins a new run.
func (m *isolated) Reset() {
	m.history.reset()
	m.checked[0], m.undecided = 0, ""
}

// EventsOnly says that the history consists of events.
func (m *isolated) EventsOnly() bool { return true }

// Step adds the events of a step to the history.
func (m *isolated) Step(run *lockstep.Run) *lockstep.Finding {
	m.history.note(run)
	return nil
}

// End checks the transactions of the run. A history that cannot be checked makes the run unknown: the clients write a
// value twice to a key, for example.
func (m *isolated) End(*lockstep.Run) *lockstep.Finding {
	if m.history.reused != "" {
		m.undecided = m.Level.String() + ": " + m.history.reused
		return nil
	}
	var txns []isolation.Txn
	var ops []int // the operation of each transaction
	for i, o := range m.history.ops {
		list, outcome := m.Txn(o.Input, o.Output)
		if len(list) == 0 {
			continue
		}
		ops = append(ops, i)
		txns = append(txns, isolation.Txn{Client: o.ClientId + 1, Ops: list, Outcome: outcome, Start: o.Call, End: o.Return})
	}
	result, err := isolation.Check(txns, m.Level)
	if err != nil {
		m.undecided = err.Error()
		return nil
	}
	m.checked[0] = result.Dependencies
	if len(result.Anomalies) == 0 {
		return nil
	}
	worst := result.Anomalies[len(result.Anomalies)-1]
	f := &lockstep.Finding{Property: m.Level.String(), Text: worst.Name + ": " + worst.Text}
	for _, t := range worst.Txns {
		f.About = append(f.About, m.history.about(m.history.ops[ops[t]:ops[t]+1])...)
	}
	return f
}

// Conclude counts the dependencies between transactions: without one, no anomaly is possible.
func (m *isolated) Conclude(bool) lockstep.Conclusion {
	return lockstep.Conclusion{Checked: m.checked[:], Undecided: m.undecided}
}
