package syntax

// File is a parsed program: `protocol Name(params)` and its declarations in source order.
type File struct {
	Pos      Pos
	End      Pos  // just after the name and the parameters
	Lockstep bool // `lockstep protocol`: rounds with blocks instead of rules
	Name     string
	Params   []*Param
	Decls    []*Decl
	Comments []Comment
}

// Param is a whole-number parameter of the protocol with its default; the first is always n, the number of nodes.
type Param struct {
	Pos     Pos
	Name    string
	Default *Expr
}

// DeclKind distinguishes declarations.
type DeclKind int

// The kinds of declaration.
const (
	TypeDecl     DeclKind = iota // type Name = Type
	EnumDecl                     // enum Name { a, b }
	RecordDecl                   // record Name { field: Type, ... }
	MessageDecl                  // message Name { field: Type, ... } tag (field, Round)
	RoundsDecl                   // rounds A < B < C
	PhaseDecl                    // phase variable
	StateDecl                    // state { name: Type = expr ... }
	OutputDecl                   // output Type
	FunDecl                      // fun name(params): Type = expr
	ActionDecl                   // action name(params) { ... }
	InitDecl                     // init { ... }
	RuleDecl                     // upon ...
	NetworkDecl                  // network name, network name(e), network Name: formula
	PropertyDecl                 // property Name: expr
	TestDecl                     // test name { key = value ... }
	RoundDecl                    // round Name { send { ... } deliver update { ... } }
)

// Decl is one declaration. Which fields matter depends on Kind.
type Decl struct {
	Pos     Pos
	Open    Pos     // the brace before Body
	First   []*Stmt // rounds: the SEND block; Body is the UPDATE block
	Mid     [2]Pos  // the braces around First
	Formula *Expr   // networks that are declared: what is heard in a round
	End     Pos     // just after the last token
	Kind    DeclKind
	Name    string
	Fields  []*Field  // records, messages, state, parameters of functions and actions, settings of tests
	Names   []Ident   // enum values, rounds
	Type    *TypeExpr // alias, output, result of a function
	Expr    *Expr     // body of a function or property, argument of a network
	Body    []*Stmt   // actions, init, rules
	Tags    []*Tag    // messages; exactly one is right, the check says so
	Rule    *Rule     // rules
	Output  string    // properties `on output v:`: the name v
}

// Ident is a name with its place.
type Ident struct {
	Pos  Pos
	Name string
}

// Field is `name: Type`, perhaps with `= expr`; in tests it is `name = expr`.
type Field struct {
	Pos   Pos
	End   Pos
	Name  string
	Type  *TypeExpr
	Value *Expr
}

// Tag is a synchronization tag `(phase, round)`. In a message the phase is a field, in a timeout an expression.
type Tag struct {
	Pos   Pos
	Phase *Expr
	Round Ident
}

// Rule is the head of `upon ... do`.
type Rule struct {
	Timeout bool    // upon timeout
	Tag     *Tag    // upon timeout in (phase, Round): the round in which the timeout expires
	Message Ident   // the message type of a rule on messages
	Var     Ident   // the bound message, or set of messages
	Guard   *Expr   // nil is true
	Same    []*Expr // dot fields on which the counted messages agree
	Times   *Times  // nil: a rule on a single message
}

// Times is `times >= e`, `times > e`, `times e` (the same as >=) or `times all`.
type Times struct {
	Pos   Pos
	Op    string // ">=", ">" or "all"
	Count *Expr
}

// TypeExpr is a type as written: a name, perhaps with arguments, perhaps optional.
type TypeExpr struct {
	Pos      Pos
	Name     string // bool, int, node, seq, set or a declared name
	Arg      *TypeExpr
	Range    *Expr // int(low..high)
	Optional bool
}

// StmtKind distinguishes statements.
type StmtKind int

// The kinds of statement.
const (
	AssignStmt StmtKind = iota // name := expr
	LetStmt                    // let name = expr
	IfStmt                     // if expr { } else { }
	ForStmt                    // for name in expr { }
	SendStmt                   // send Message(args) to expr
	OutputStmt                 // output expr
	CallStmt                   // action(args)
	AssertStmt                 // assert name: expr
	TryStmt                    // try { } ensure expr else { }
)

// Stmt is one statement. Which fields matter depends on Kind.
type Stmt struct {
	Pos      Pos
	Open     Pos // the brace before Body
	Close    Pos // the brace after Body
	ElseOpen Pos // the brace before Else
	End      Pos
	Kind     StmtKind
	Name     string  // assigned, bound, sent or called name
	Expr     *Expr   // value, condition, set, or the receiver of a send
	Args     []*Expr // of send and call
	Body     []*Stmt
	Else     []*Stmt
}

// ExprKind distinguishes expressions.
type ExprKind int

// The kinds of expression.
const (
	NameExpr   ExprKind = iota // x, true, self, all, others, none
	IntExpr                    // 7
	UnaryExpr                  // - x, not x
	BinaryExpr                 // x + y
	CallExpr                   // f(x)
	FieldExpr                  // x.f
	DotExpr                    // .f, a field of the counted message
	IndexExpr                  // x[i]
	SetExpr                    // {x, y}
	SeqExpr                    // [x, y]
	BuildExpr                  // {e for x in S if c}
	QuantExpr                  // forall x, y in S: e; exists; count
	BestExpr                   // max x in S by (e, e); min
	IfExpr                     // if c then a else b
)

// Expr is one expression. Args holds the operands in the order in which they are written; for BuildExpr it is
// element, set and perhaps condition; for QuantExpr set and body; for BestExpr set and the keys.
type Expr struct {
	Pos  Pos
	Kind ExprKind
	Name string // name, operator, field, function, or the word of a quantifier
	Int  int64
	Args []*Expr
	Vars []Ident // bound names

	height int // levels of expressions from here down; the parser bounds it
}

// Walk calls visit for e and everything below it, parents first.
func Walk(e *Expr, visit func(*Expr)) {
	if e == nil {
		return
	}
	visit(e)
	for _, a := range e.Args {
		Walk(a, visit)
	}
}

// Label names a rule for people: "upon Ack", "upon timeout", "upon timeout in Vote".
func (r *Rule) Label() string {
	switch {
	case r.Timeout && r.Tag != nil:
		return "upon timeout in " + r.Tag.Round.Name
	case r.Timeout:
		return "upon timeout"
	}
	return "upon " + r.Message.Name
}
