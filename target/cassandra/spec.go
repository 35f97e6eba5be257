package cassandra

import (
	"fmt"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
)

// EventRow is the type of the event that tells what the row has in the end; the value is the Row.
const EventRow = "row"

// Row is what value_1, value_2 and value_3 hold; empty means nothing.
type Row [3]string

// String is the row in words.
func (r Row) String() string {
	var parts []string
	for i, v := range r {
		if v == "" {
			v = "nothing"
		}
		parts = append(parts, fmt.Sprintf("value_%d=%s", i+1, v))
	}
	return strings.Join(parts, " ")
}

// Transaction is a conditional update: where the condition holds, some values of the row become what is to be set.
type Transaction struct {
	// If is what value_1 must be; empty means that there is no condition on it.
	If string
	// Set are values to be set; empty ones stay.
	Set Row
}

// Transactions are those of the paper. The first is made at server 1, the second at 2, the third at 3.
var Transactions = []Transaction{{Set: Row{"A"}}, {If: "A", Set: Row{"B", "B"}}, {Set: Row{"", "", "C"}}}

// String is the transaction in the words of CQL.
func (t Transaction) String() string {
	var set []string
	for i, v := range t.Set {
		if v != "" {
			set = append(set, fmt.Sprintf("value_%d = '%s'", i+1, v))
		}
	}
	condition := "owner = 'user_1'"
	if t.If != "" {
		condition = fmt.Sprintf("value_1 = '%s'", t.If)
	}
	return fmt.Sprintf("SET %s IF %s", strings.Join(set, ", "), condition)
}

// statement is the transaction on a row.
func (t Transaction) statement(row string) string {
	set, condition, _ := strings.Cut(t.String(), " IF ")
	return fmt.Sprintf("UPDATE lockstep.tests %s WHERE name = '%s' IF %s", set, row, condition)
}

// apply is what the transaction makes of a row, and whether its condition holds.
func (t Transaction) apply(r Row) (Row, bool) {
	if t.If != "" && r[0] != t.If {
		return r, false
	}
	for i, v := range t.Set {
		if v != "" {
			r[i] = v
		}
	}
	return r, true
}

// Properties are what is promised: that transactions are serializable, in the order of real time.
var Properties = spec.All(Once, Linearizable)

// Once is the promise that the first transaction, which is made before the second, does not take effect once more after it. The second takes
// effect only where value_1 is A, and makes it B: with value_1=A and value_2=B in the end, the first took effect before it and after it. That is
// what the paper looks for.
var Once = spec.OnEvent("once", EventRow, func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if r, ok := e.Value.(Row); ok && r[0] == "A" && r[1] == "B" {
		return &lockstep.Finding{Text: fmt.Sprintf("the row has %s: the first transaction took effect again after the second", r)}
	}
	return nil
})

// Linearizable is the promise that some order of all attempts explains their answers and the row in the end. One that got no answer may take effect at any later time,
// once: so this allows what Once does not where the first transaction had to be attempted twice.
var Linearizable = spec.Linearizable{Model: model}

// operation is an attempt at a transaction, counted from 1; 0 is the read in the end.
type operation struct{ transaction int }

// String is the operation in words.
func (o operation) String() string {
	if o.transaction == 0 {
		return "read in the end"
	}
	return Transactions[o.transaction-1].String()
}

// model is the sequential system. The answer to a transaction is whether it was applied, to the read a Row.
var model = porcupine.Model{
	Init: func() any { return Row{} },
	Step: func(state, input, output any) (bool, any) {
		now, op := state.(Row), input.(operation)
		if op.transaction == 0 {
			return output == any(now), now
		}
		after, applied := Transactions[op.transaction-1].apply(now)
		return output == any(applied) || output == any(spec.Unanswered{}), after
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%v: %v", input, output) },
}
