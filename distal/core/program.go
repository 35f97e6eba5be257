// Package core is the one form of a Distal program on which everything but the parser works: typed nodes without names,
// each with its place in the text, and one table of operators.
//
// A program is of one of two kinds. As written it has rules, which the asynchronous machine schedules. In lock-step it
// has rounds, each with a SEND and an UPDATE block; package sequential builds the second kind from the first. Both
// consist of the same expressions and statements, have the same types, variables, functions, actions and properties,
// and both can be written as text again.
package core

import "github.com/lockstep-go/lockstep/distal/syntax"

// Program is a program whose names are resolved and whose types are right.
type Program struct {
	Name     string
	Lockstep bool // it has blocks in its rounds, not rules
	Params   []Parameter
	Enums    []*Type
	Records  []*Type
	Messages []*MessageType
	Rounds   []Round
	First    int64 // lock-step: the first phase
	Vars     []Variable
	Phase    int // index of the phase variable, declared or inferred; -1 when there is none
	Output   int // index of the variable that holds the last output, an optional value; -1 when there is none
	Funs     []*Fun
	Actions  []*Action
	Init     *Action
	Rules    []*Rule
	Networks []*Network // those declared and those used
	Network  int        // the one that holds unless a test says otherwise
	Props    []*Property
	Tests    []*Test
	Slots    int // the most local names that any body has open
}

// Parameter is a whole-number parameter of the protocol.
type Parameter struct {
	Name    string
	Default Expr
}

// MessageType is a declared message with its tag.
type MessageType struct {
	Pos   syntax.Pos
	Type  *Type
	Phase int // index of the field that holds the phase
	Round int // index into Program.Rounds
}

// Round is a round of a phase; the blocks are those of a lock-step program.
type Round struct {
	Pos    syntax.Pos
	Name   string
	Send   []Stmt
	Update []Stmt
}

// Variable is a variable of the local state.
type Variable struct {
	Pos   syntax.Pos
	Name  string
	Type  *Type
	Init  Expr // nil: the empty value
	Ghost bool // kept by the lock-step form for itself; an observer does not see it
	Most  int  // of sets of messages that are due: how many there can be, as far as is known; 0: not known
}

// Fun is a pure function: parameters in the first slots of its frame.
type Fun struct {
	Pos    syntax.Pos
	Name   string
	Params []Field
	Result *Type
	Body   Expr
}

// Action is a named piece of code: parameters in the first slots of its frame.
type Action struct {
	Pos    syntax.Pos
	Name   string
	Params []Field
	Body   []Stmt
	Rule   *Rule // in lock-step: the rule whose action it is; nil otherwise
}

// Rule is an upon rule. Its body is an action whose first parameter is what the rule binds: a message, a set of
// messages, or nothing for a plain timeout.
type Rule struct {
	Index    int
	Trigger  Trigger
	Enabling Enabling
	Body     *Action
	Timely   bool // its guard demands timely messages
	Current  bool // it is proved that it acts only on timely messages
}

// Trigger is what a rule waits for: one of the types below and nothing else.
type Trigger interface {
	Label(p *Program) string // names the rule for people
	trigger()
}

type (
	// OnMessage waits for one message of a type.
	OnMessage struct{ Message int }
	// OnQuorum waits for enough messages of a type.
	OnQuorum struct{ Message int }
	// OnRoundTimeout is the timeout of a node in a round.
	OnRoundTimeout struct {
		Phase Expr
		Round int
	}
	// OnTimeout is a clock of its own.
	OnTimeout struct{}
)

func (OnMessage) trigger()      {}
func (OnQuorum) trigger()       {}
func (OnRoundTimeout) trigger() {}
func (OnTimeout) trigger()      {}

// Label names the message.
func (o OnMessage) Label(p *Program) string { return "upon " + p.Messages[o.Message].Type.Name }

// Label names the message.
func (o OnQuorum) Label(p *Program) string { return "upon " + p.Messages[o.Message].Type.Name }

// Label names the round.
func (o OnRoundTimeout) Label(p *Program) string { return "upon timeout in " + p.Rounds[o.Round].Name }

// Label is the same for all plain timeouts.
func (o OnTimeout) Label(*Program) string { return "upon timeout" }

// Label names the rule for people.
func (r *Rule) Label(p *Program) string { return r.Trigger.Label(p) }

// Message is the type of message that the rule waits for, -1 for a timeout.
func (r *Rule) Message() int {
	switch t := r.Trigger.(type) {
	case OnMessage:
		return t.Message
	case OnQuorum:
		return t.Message
	case OnRoundTimeout, OnTimeout:
	}
	return -1
}

// Round is the round whose messages the rule uses, -1 for a plain timeout.
func (r *Rule) Round(p *Program) int {
	switch t := r.Trigger.(type) {
	case OnMessage:
		return p.Messages[t.Message].Round
	case OnQuorum:
		return p.Messages[t.Message].Round
	case OnRoundTimeout:
		return t.Round
	case OnTimeout:
	}
	return -1
}

// Enabling says in terms of the form when and how a rule is enabled. Matching, if any, is evaluated first and put in
// slot 0; then Test decides; then, if Options is not nil, any one of its elements is put in slot 1; Bound is what the
// body gets.
type Enabling struct {
	Matching Expr
	Test     Expr
	Options  Expr
	Bound    Expr // nil for a plain timeout
	Guard    Expr // the guard as written, over the message in slot 1; nil is true. For proofs, not for running.
}

// Network is an assumption about what is heard in a round: a formula over heard(p), the set of nodes of which p has
// received everything that they sent to it in the round.
type Network struct {
	Pos     syntax.Pos
	Name    string // as it is written where it is used
	Formula Expr
	Built   bool // one of those that every program has; it is not declared in the text
}

// Moment is when a property is checked.
type Moment int

// A property is checked on states, after every action, or on an output, when it is made.
const (
	OnStates Moment = iota
	OnOutput
)

// Property is a claim about the nodes.
type Property struct {
	Pos    syntax.Pos
	Name   string
	Moment Moment
	Bound  string // the name of the output
	X      Expr
	Vars   []int // the state variables it reads
	Joint  bool  // it relates the states of several nodes
}

// Test is a named instance with sizes and bounds.
type Test struct {
	Pos      syntax.Pos
	Name     string
	Params   map[string]int64
	Phases   int
	Network  int // index into Program.Networks; -1: the program's own
	Timeouts Timeouts
	Expect   string // "pass", "violation" or ""
}

// Timeouts says whether a timeout that can fire must fire.
type Timeouts int

// Free lets every timeout fire or not; Eager makes it fire whenever a round ends in which it can.
const (
	Free Timeouts = iota
	Eager
)

func (t Timeouts) String() string {
	if t == Eager {
		return "eager"
	}
	return "free"
}

// OutputType is the type of outputs, nil when there are none.
func (p *Program) OutputType() *Type {
	if p.Output < 0 {
		return nil
	}
	return p.Vars[p.Output].Type.Elem
}

// RoundNames lists the rounds of a phase.
func (p *Program) RoundNames() []string {
	out := make([]string, len(p.Rounds))
	for i, r := range p.Rounds {
		out[i] = r.Name
	}
	return out
}
