package core

import "github.com/lockstep-go/lockstep/distal/syntax"

// Expr is an expression: one of the types below and nothing else.
type Expr interface {
	At() syntax.Pos
	Of() *Type
	expr()
}

// Info is what every expression has: a place in the text and a type.
type Info struct {
	Pos  syntax.Pos
	Type *Type
}

// At is the place in the text.
func (i Info) At() syntax.Pos { return i.Pos }

// Of is the type.
func (i Info) Of() *Type { return i.Type }

func (i Info) expr() {}

// The expressions.
type (
	// Const is a value.
	Const struct {
		Info
		Value Value
	}
	// Local is a name bound in a body: a slot of its frame.
	Local struct {
		Info
		Slot int
	}
	// Param is a parameter of the protocol.
	Param struct {
		Info
		Index int
	}
	// Var is a state variable of the node that acts.
	Var struct {
		Info
		Index int
	}
	// NodeVar is a state variable of a given node, in properties.
	NodeVar struct {
		Info
		Node  Expr
		Index int
	}
	// Get is a field of a record or message.
	Get struct {
		Info
		X     Expr
		Index int
	}
	// Make is a record.
	Make struct {
		Info
		Args []Expr
	}
	// Apply is an operator on its operands.
	Apply struct {
		Info
		Op   Op
		Args []Expr
	}
	// Call is a declared function on its arguments.
	Call struct {
		Info
		Fun  int
		Args []Expr
	}
	// If is a conditional value.
	If struct {
		Info
		Cond, Then, Else Expr
	}
	// Mail is the set of messages of one type, and of the tag of the rule, in the mailbox. All marks those that are
	// written as received(M), which may be asked for another round, where condition 4 is broken.
	Mail struct {
		Info
		Message int
		All     bool
	}
	// Build is {Elem for Slot in Set if Cond}; Cond may be nil.
	Build struct {
		Info
		Slot            Binder
		Set, Cond, Elem Expr
	}
	// Quant is forall, exists or count over one or more names.
	Quant struct {
		Info
		Kind      Quantifier
		Slots     []Binder
		Set, Body Expr
	}
	// Best is max or min; without Keys the elements themselves are compared.
	Best struct {
		Info
		Max  bool
		Slot Binder
		Set  Expr
		Keys []Expr
	}
	// Fit is a value that must be in the ranges that its type declares.
	Fit struct {
		Info
		X Expr
	}
)

// Binder is a slot with the name it has in the text, for printing.
type Binder struct {
	Slot int
	Name string
}

// Quantifier distinguishes quantifiers.
type Quantifier int

// The quantifiers.
const (
	Forall Quantifier = iota
	Exists
	Count
)

func (q Quantifier) String() string { return [...]string{"forall", "exists", "count"}[q] }

// Stmt is a statement: one of the types below and nothing else.
type Stmt interface {
	At() syntax.Pos
	stmt()
}

// Place is where a statement stands.
type Place struct{ Pos syntax.Pos }

// At is the place in the text.
func (p Place) At() syntax.Pos { return p.Pos }

func (p Place) stmt() {}

// The statements.
type (
	// Assign sets a state variable.
	Assign struct {
		Place
		Var int
		X   Expr
	}
	// Let names a value.
	Let struct {
		Place
		Slot Binder
		X    Expr
	}
	// Branch is if and else.
	Branch struct {
		Place
		Cond       Expr
		Then, Else []Stmt
	}
	// For runs its body for every element.
	For struct {
		Place
		Slot Binder
		X    Expr
		Body []Stmt
	}
	// Send sends a message to a set of nodes.
	Send struct {
		Place
		Message int
		Args    []Expr
		To      Expr
	}
	// Output announces a value.
	Output struct {
		Place
		X Expr
	}
	// Do runs an action.
	Do struct {
		Place
		Action int
		Args   []Expr
	}
	// Assert watches a condition.
	Assert struct {
		Place
		Condition Condition
		Name      string // of an assertion of the program's own
		X         Expr
	}
	// Try runs Body; when Ensure does not hold afterwards all is as before, and Else runs.
	Try struct {
		Place
		Body   []Stmt
		Ensure Expr
		Else   []Stmt
	}
)

// Condition is one of the conditions for a round structure.
type Condition int

// The conditions of Section 4.2 of the sequentialization paper, and what Algorithm 1 needs besides. Own is an
// assertion of the program's own.
const (
	Own     Condition = iota
	Grows             // 1: the tag of a node only grows
	Carries           // 2: a message carries its sender's tag
	Current           // 3: a guard uses only messages of the current round or a later one
	Reads             // 4: an action reads only messages of its round
	Rests             // 5: nothing changes between a send and the next receive
	Once              // one message from one node to another in one round
)

// Conditions lists the conditions in order.
var Conditions = []Condition{Grows, Carries, Current, Reads, Rests, Once}

func (c Condition) String() string {
	return [...]string{"assertion", "condition 1", "condition 2", "condition 3", "condition 4", "condition 5",
		"one message"}[c]
}

// Word is how an assertion of the condition is written in a program.
func (c Condition) Word() string {
	return [...]string{"", "grows", "carries", "current", "reads", "rests", "once"}[c]
}

// Text says in plain words what the condition demands.
func (c Condition) Text() string {
	return [...]string{"an assertion holds",
		"the tag of a node only grows",
		"a message is sent with the tag of its sender",
		"a guard uses only messages of the current round or a later one",
		"an action reads only messages of the current round",
		"between a send and the next receive nothing changes unless the tag moves",
		"at most one message goes from one node to another in one round"}[c]
}

// MarshalText writes the condition as words.
func (c Condition) MarshalText() ([]byte, error) { return []byte(c.String()), nil }
