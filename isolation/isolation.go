// Package isolation checks which isolation level a database kept, from the history of its clients' transactions.
//
// The method is that of Adya's thesis ("Weak Consistency", MIT, 1999), in the form of Kingsbury and Alvaro ("Elle",
// VLDB 2020). Transactions append to lists or write registers, and all values that are written to a key differ. Reads
// then reveal which transaction wrote what another one read, and in which order versions of a key were installed. These
// dependencies are the edges of a graph, and each isolation level rules out cycles of a certain kind.
//
// [Check] reports only anomalies that every explanation of the history has. With lists, and with registers whose
// versions are known, a history without an anomaly also has an execution that satisfies the level. Snapshot isolation
// is decided by the theorem of Cerone and Gotsman (JACM 2018): a cycle must have two adjacent anti-dependencies.
//
// The package knows nothing of the engine. [github.com/lockstep-go/lockstep/spec.Isolation] is the spec built on it.
package isolation

import (
	"fmt"
	"math"
	"strings"
)

// Level is an isolation level. A higher level rules out all that a lower one does.
type Level uint8

// The levels, the weakest first.
const (
	// ReadUncommitted rules out cycles of writes (G0).
	ReadUncommitted Level = iota
	// ReadCommitted also rules out reads of aborted and intermediate values and cycles of information (G1).
	ReadCommitted
	// SnapshotIsolation also rules out cycles in which no two anti-dependencies are adjacent (G-single among them), and
	// transactions whose own reads and writes contradict each other.
	SnapshotIsolation
	// Serializable rules out all cycles (G2-item).
	Serializable
	// StrictSerializable also rules out cycles with the order of real time.
	StrictSerializable
)

var levelNames = [...]string{
	"read-uncommitted", "read-committed", "snapshot-isolation", "serializable", "strict-serializable",
}

// Words returns the names of all levels.
func (Level) Words() []string { return levelNames[:] }

// String is the level's name.
func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return fmt.Sprintf("Level(%d)", l)
}

// Outcome is what the client knows of the end of a transaction.
type Outcome uint8

// The outcomes.
const (
	// Committed transactions took effect.
	Committed Outcome = iota
	// Aborted transactions took no effect, now or later.
	Aborted
	// Unknown transactions got no answer. They took effect if another transaction observed one of their writes; the
	// check ignores what they read.
	Unknown
)

// String is the outcome as text.
func (o Outcome) String() string {
	return [...]string{"committed", "aborted", "unknown"}[min(o, Unknown)]
}

// Func is what an operation does.
type Func uint8

// The operations. A key is either a list or a register.
const (
	Append Func = iota // appends Value to a list
	List               // reads a whole list into Values
	Write              // writes Value to a register
	Read               // reads a register into Value; with None it was not written yet
)

// Op is one operation of a transaction, with its answer.
type Op struct {
	Func  Func
	Key   string
	Value int   // appended, written or read. A value is written to a key at most once in a history.
	List  []int // the elements that List read, the oldest first
	None  bool  // Read found no value
	// Version is the position of the written value among the versions of a register, if the system reports it (the
	// revision of etcd, for example). With it the order of versions is known; 0 means that it is not. The last write
	// of a transaction to a key counts.
	Version int64
}

// String is the operation as text, such as "append x 3" or "read x = [1 3]".
func (o Op) String() string {
	switch {
	case o.Func == Append:
		return fmt.Sprintf("append %s %d", o.Key, o.Value)
	case o.Func == Write:
		return fmt.Sprintf("write %s %d", o.Key, o.Value)
	case o.Func == List:
		return fmt.Sprintf("read %s = %v", o.Key, o.List)
	case o.None:
		return fmt.Sprintf("read %s = none", o.Key)
	default:
		return fmt.Sprintf("read %s = %d", o.Key, o.Value)
	}
}

// Never is the End of a transaction without an answer.
const Never = math.MaxInt64

// Txn is a transaction.
type Txn struct {
	Client     int
	Ops        []Op
	Outcome    Outcome
	Start, End int64 // when the client began and when it had the answer, on one clock
}

// String lists the operations.
func (t Txn) String() string {
	parts := make([]string, len(t.Ops))
	for i, o := range t.Ops {
		parts[i] = o.String()
	}
	text := "{" + strings.Join(parts, "; ") + "}"
	if t.Outcome != Committed {
		text += " " + t.Outcome.String()
	}
	return text
}

// Relation says why one transaction comes before another.
type Relation uint8

// The relations, as in Adya's thesis.
const (
	WriteWrite Relation = iota // the second installed a later version of a key
	WriteRead                  // the second read what the first wrote
	ReadWrite                  // the second installed the version after the one that the first read: an anti-dependency
	RealTime                   // the first had ended when the second began
	// lost is a ReadWrite between two transactions that both wrote the key. From snapshot isolation on, the first also
	// installed the earlier version: otherwise the second one's write would be lost on it.
	lost
	pass // within a step of another relation, through a node that is no transaction
)

var relationNames = [...]string{"ww", "wr", "rw", "rt", "rw"}

// String is the relation's usual abbreviation.
func (r Relation) String() string { return relationNames[min(int(r), len(relationNames)-1)] }

// Dependency is an edge of a cycle.
type Dependency struct {
	From, To int // indexes in the history
	Relation Relation
	Key      string // none for RealTime
}

// Anomaly is a phenomenon that the level rules out.
type Anomaly struct {
	// Name is the phenomenon's name in the literature: G0, G1a, G1b, G1c, G-single, G-nonadjacent, G2-item, each also
	// with "-realtime" for a cycle that needs real time; or internal, unwritten, duplicate, incompatible-order,
	// lost-update.
	Name string
	// Txns are the indexes of the transactions involved; those of a cycle in its order.
	Txns []int
	// Cycle has the edges of a cycle.
	Cycle []Dependency
	// Text says what is wrong, in terms of the transactions.
	Text string
}

// Result is the outcome of a check.
type Result struct {
	// Anomalies has at most one anomaly of each name. None: the history satisfies the level, as far as it reveals.
	Anomalies []Anomaly
	// Txns is the number of transactions that took effect, and Dependencies that of the edges between them without
	// those of real time. Without dependencies the check says nothing.
	Txns, Dependencies int
}

// Check looks for anomalies that the level rules out. An error means that the history cannot be checked: a value is
// written twice to a key, a key is both a list and a register, or a transaction ends before it starts.
func Check(history []Txn, level Level) (*Result, error) {
	if int(level) >= len(levelNames) {
		return nil, fmt.Errorf("isolation: %v is not a level; levels are %s", level, strings.Join(levelNames[:], ", "))
	}
	c := &checker{history: history, level: level, keys: map[string]*key{}, named: map[string]bool{}}
	if err := c.collect(); err != nil {
		return nil, err
	}
	c.observe()
	c.link()
	c.searchAll()
	c.result.Txns = c.live
	return &c.result, nil
}
