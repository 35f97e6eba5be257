package trace

import "fmt"

// Version is the version of the file format that this package reads and writes.
const Version = 4

// Header identifies the origin of a run.
type Header struct {
	Format   int               `json:"lockstep"`           // version of the file format
	Tool     string            `json:"tool"`               // version of the tool that wrote it
	Target   string            `json:"target"`             // name of the system under test
	Build    string            `json:"build,omitempty"`    // of the target, if it is a separate program
	Options  map[string]string `json:"options,omitempty"`  // options set on the target
	Strategy string            `json:"strategy"`           // what chose the steps, with its parameters
	Scenario string            `json:"scenario,omitempty"` // what guided the run
	Seed     uint64            `json:"seed"`               // seed of the campaign
	Run      int               `json:"run"`                // number of the run in its campaign, from 0
	Nodes    int               `json:"nodes"`              // number of nodes, which are 1, 2, and so on
	Rounds   []string          `json:"rounds,omitempty"`   // names of the rounds of a phase, if messages are tagged
	Phases   Phases            `json:"phases,omitzero"`    // names of phases
	// types of messages that belong to no round, whatever their tags
	Aside  []string          `json:"aside,omitempty"`
	Drawn  map[string]string `json:"drawn,omitempty"`  // parameters that the strategy drew for this run
	Shrunk string            `json:"shrunk,omitempty"` // size of the run before it was shrunk
	Settle int               `json:"settle,omitempty"` // steps of the settling stage that the plan asked for
	Order  *Order            `json:"order,omitempty"`  // of messages on every link, kept by the strategy; nil: any
}

// Verdict is the verdict on a run or a campaign.
type Verdict string

// The verdicts.
const (
	Pass    Verdict = "pass"
	Fail    Verdict = "fail"
	Unknown Verdict = "unknown" // a limit was reached, or the run was inconclusive
	Vacuous Verdict = "vacuous" // the scenario never took effect
	Flaky   Verdict = "flaky"   // the system was nondeterministic
)

// Finding is a violated property, with the nodes, values and step concerned.
type Finding struct {
	Property string   `json:"property"`         // name of the violated property
	Text     string   `json:"text"`             // what violates it
	Nodes    Nodes    `json:"nodes,omitempty"`  // nodes concerned
	Values   []string `json:"values,omitempty"` // values concerned
	Step     int      `json:"step"`             // number of the step at which the monitor noticed it
	About    []int    `json:"about,omitempty"`  // numbers of the related steps, if known more precisely than Step
	Stack    string   `json:"stack,omitempty"`  // if the finding is a panic
}

// Capped is a deep copy of the finding whose texts fit a trace.
func (f Finding) Capped() Finding {
	f.Property, f.Text, f.Stack = Cap(f.Property), Cap(f.Text), Cap(f.Stack)
	f.Values, f.About = append([]string(nil), f.Values...), append([]int(nil), f.About...)
	for i := range f.Values {
		f.Values[i] = Cap(f.Values[i])
	}
	return f
}

// String is the property and the text.
func (f Finding) String() string { return fmt.Sprintf("%s: %s", f.Property, f.Text) }

// Outcome is the end of a run.
type Outcome struct {
	Verdict Verdict `json:"verdict"` // pass, fail, unknown, vacuous or flaky
	// Reason says why the verdict is unknown, vacuous or flaky. For a replay that fails as the trace did, it states
	// the first difference, if any.
	Reason  string   `json:"reason,omitempty"`
	Finding *Finding `json:"finding,omitempty"` // what the verdict fail is about
	Steps   int      `json:"steps"`             // number of steps, without the start
}

// Round is one lock-step round of a run.
type Round struct {
	Number int    `json:"round"`          // number of the round, from 1
	Phase  int    `json:"phase"`          // period of isolation of the round, from 1
	Name   string `json:"name,omitempty"` // name of the round in its phase
	Kernel Nodes  `json:"kernel"`         // the nodes that hear each other
}

// Sent is a message at the moment of sending.
type Sent struct {
	Message
	Text string `json:"text,omitempty"` // the message as text
	Lost bool   `json:"lost,omitempty"` // its link was cut
}

// Log is a line of a log: of a server, or of a client or operator of the test, with what it asked for and was answered.
// It is for readers alone. No spec and no strategy sees it, and neither digests nor comparisons of runs include it.
type Log struct {
	Source string `json:"log"`             // what wrote it: server, client, operator or role
	Node   Node   `json:"node,omitempty"`  // the node whose log it is, or that was asked
	Level  string `json:"level,omitempty"` // of a server's line: "debug", "info", "warn", "error"
	At     Time   `json:"at,omitempty"`    // time of the line
	Text   string `json:"text"`            // the line
}

// The sources of log lines.
const (
	LogServer   = "server"   // the server's own log
	LogClient   = "client"   // a client of the test
	LogOperator = "operator" // the operator of the test
	LogRole     = "role"     // a change of a node's role
)

// Record is one step and its effects. The record with number 0 has Kind Start and holds the actions of the system at
// its start.
type Record struct {
	Number int
	Step   Step
	Text   string // the message delivered, the request given, ...
	Body   string // the forged body of a Replace
	Round  int    // number of the lock-step round, or 0
	Settle bool   // the step belongs to the settling stage
	Now    Time   // virtual time after the step, in systems whose time passes in Wait steps
	Sent   []Sent
	Gone   []ID // messages in flight that the step lost, though it did not drop them
	Events []Event
	States []State
	Draws  []Draw // the system's own draws, in order
	Logs   []Log
}

// Picture is a drawing that accompanies a trace as a separate file.
type Picture struct {
	Name string // with its extension, e.g. "history.html"
	Data []byte
}

// Trace is a recorded run.
type Trace struct {
	Header  Header
	Rounds  []Round
	Records []Record // Records[i].Number == i
	Outcome Outcome
	// Pictures are the spec's drawings of a finding. They are not part of the file.
	Pictures []Picture
}

// Message finds the message with the given number, and reports whether there is one.
func (t *Trace) Message(id ID) (Sent, bool) {
	for i := range t.Records {
		sent := t.Records[i].Sent
		if len(sent) == 0 || sent[len(sent)-1].ID < id {
			continue
		}
		for _, m := range sent {
			if m.ID == id {
				return m, true
			}
		}
	}
	return Sent{}, false
}
