// Package check gives meaning to a parsed Distal program: it resolves names, checks types, and decides which of the
// conditions for a round structure hold.
//
// Check returns a Program, in which every name is resolved to a slot, together with remarks. Three families of
// checks build on one another. Names and types come first; without them nothing else is said. Then the shape of
// the protocol: one tag for each message, a total order of rounds, rules that can never fire, dependence on the order
// of arrival, several messages to one receiver in one round. Last the five conditions of communication closure
// (Section 4.2 of the sequentialisation paper): each is proved for each rule, or refuted, or, where neither
// succeeds, listed as a run-time monitor. A program with a refuted condition is refused for sequentialisation; it
// can still be run asynchronously.
package check

import "github.com/lockstep-go/lockstep/distal/syntax"

// Program is a program whose names are resolved and whose types are right.
type Program struct {
	File     *syntax.File
	Name     string
	Params   []Param
	Messages []*MessageType
	Rounds   []string
	Vars     []Var
	Phase    int   // index of the phase variable, declared or inferred; -1 when there is none
	Output   *Type // nil when the program outputs nothing
	Funs     []*Callable
	Actions  []*Callable
	Init     *Callable
	Rules    []*Rule
	Network  Network
	Props    []*Property
	Tests    []*Test
	Info     *Info
	Slots    int                // the most local names that any body has open
	Monitors []Monitor          // what could not be proved and is watched at run time
	Proofs   []Proof            // each condition for each rule
	Refused  syntax.Diagnostics // conditions that certainly do not hold
}

// Param is a whole-number parameter of the protocol.
type Param struct {
	Name    string
	Default *syntax.Expr
}

// MessageType is a declared message with its tag.
type MessageType struct {
	Pos   syntax.Pos
	Type  *Type
	Phase int // index of the field that holds the phase
	Round int // index into Program.Rounds
}

// Var is a variable of the local state.
type Var struct {
	Pos  syntax.Pos
	Name string
	Type *Type
	Init *syntax.Expr
}

// Callable is a function, an action or the init block: parameters in the first slots of its frame.
type Callable struct {
	Pos    syntax.Pos
	Name   string
	Params []Field
	Result *Type
	Expr   *syntax.Expr
	Body   []*syntax.Stmt
}

// Rule is an upon rule. Slot 0 of its frame holds the bound message or messages, slot 1 the message to which
// `.field` refers.
type Rule struct {
	Decl    *syntax.Decl
	Index   int
	Message int // index into Program.Messages; -1 for timeouts
	Round   int // the round whose messages the rule uses; -1 for a plain timeout
	Body    *Callable
}

// Label names the rule for people, with its line.
func (r *Rule) Label() string { return r.Decl.Rule.Label() }

// Pos is where the rule begins.
func (r *Rule) Pos() syntax.Pos { return r.Decl.Pos }

// Plain says whether the rule is a timeout that is not bound to a round.
func (r *Rule) Plain() bool { return r.Decl.Rule.Timeout && r.Decl.Rule.Tag == nil }

// Property is an invariant over all nodes, or, with OnOutput, a condition on each new output of a node.
type Property struct {
	Pos      syntax.Pos
	Name     string
	OnOutput bool
	Expr     *syntax.Expr
	Vars     []int // the state variables it reads
	Outputs  bool  // whether it reads outputs
}

// Test is a named instance with sizes and bounds.
type Test struct {
	Pos      syntax.Pos
	Name     string
	Params   map[string]int64
	Phases   int
	Network  *Network // nil: the program's own
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

// NetworkKind is one of the assumptions about what the network delivers.
type NetworkKind int

// The network assumptions. Any loses any message; Reliable loses none; AtLeast(k) delivers to each node, in each round,
// the messages of at least k nodes; Kernel delivers, in each round, all messages of some one node.
const (
	Any NetworkKind = iota
	Reliable
	AtLeast
	Kernel
)

// Network is the assumption the program makes.
type Network struct {
	Kind  NetworkKind
	Count *syntax.Expr // AtLeast: how many
}

var networkNames = map[string]NetworkKind{"any": Any, "reliable": Reliable, "atleast": AtLeast, "kernel": Kernel}

func (n Network) String() string {
	switch n.Kind {
	case Reliable:
		return "reliable"
	case AtLeast:
		return "atleast(" + n.Count.String() + ")"
	case Kernel:
		return "kernel"
	}
	return "any"
}

// RefKind tells what a name stands for.
type RefKind int

// What a name can stand for.
const (
	RefLocal      RefKind = iota // a slot of the frame
	RefVar                       // a state variable of the node that acts
	RefParam                     // a parameter of the protocol
	RefEnum                      // a value of an enum
	RefWord                      // true, false, none, self, all, others
	RefField                     // a field of a record or message
	RefFrom                      // the sender of a message
	RefNodeVar                   // a state variable of a given node, in properties
	RefNodeOutput                // the last output of a given node, in properties
	RefFun                       // a declared function
	RefBuiltin                   // a built-in function
	RefRecord                    // the constructor of a record
)

// Ref is the meaning of a name.
type Ref struct {
	Kind  RefKind
	Index int
}

// Info holds what the checker found out about expressions and statements.
type Info struct {
	Types   map[*syntax.Expr]*Type
	Refs    map[*syntax.Expr]Ref
	Binders map[*syntax.Expr][]int // slots of the names bound by an expression
	Slots   map[*syntax.Stmt]int   // slot of a let or for; index of an action, message or variable otherwise
}

// Monitor is a condition that could not be proved for a rule, and is watched while the program runs.
type Monitor struct {
	Pos       syntax.Pos
	Condition string // "condition 3", "one message"
	Rule      string
	Text      string
}
