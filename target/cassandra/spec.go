package cassandra

import (
	"fmt"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
)

// EventRow is the type of the event with the final row; the value is the Row.
const EventRow = "row"

// Row is the content of value_1, value_2 and value_3; empty means unset.
type Row [3]string

// String returns the row as text.
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

// Transaction is a conditional update: if the condition holds, it sets some values of the row.
type Transaction struct {
	// If is the required content of value_1; empty means that there is no condition on it.
	If string
	// Set are the values to set; empty ones stay unchanged.
	Set Row
}

// Transactions are those of the paper. The first runs at server 1, the second at 2, the third at 3.
var Transactions = []Transaction{{Set: Row{"A"}}, {If: "A", Set: Row{"B", "B"}}, {Set: Row{"", "", "C"}}}

// String returns the transaction as CQL.
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

// statement returns the CQL statement of the transaction on a row.
func (t Transaction) statement(row string) string {
	set, condition, _ := strings.Cut(t.String(), " IF ")
	return fmt.Sprintf("UPDATE lockstep.tests %s WHERE name = '%s' IF %s", set, row, condition)
}

// apply returns the row after the transaction, and whether its condition holds.
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

// Properties are the guarantees: transactions are serializable, in real-time order.
var Properties = spec.All(Once, Linearizable)

// Once is the guarantee that the first transaction, which precedes the second, does not take effect again after it. The
// second takes effect only if value_1 is A, and sets it to B. With final value_1=A and value_2=B, the first took effect
// both before and after it. That is the violation that the paper looks for.
var Once = spec.OnEvent("once", EventRow, func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	if r, ok := e.Value.(Row); ok && r[0] == "A" && r[1] == "B" {
		return &lockstep.Finding{
			Text: fmt.Sprintf("the row has %s: the first transaction took effect again after the second", r),
		}
	}
	return nil
})

// Linearizable is the guarantee that some order of all attempts explains their answers and the final row. An attempt
// without an answer may take effect once at any later time. If the first transaction was attempted twice, Linearizable
// therefore allows rows that Once forbids.
var Linearizable = spec.Linearizable{Model: model}

// operation is an attempt at a transaction, counted from 1; 0 is the final read.
type operation struct{ transaction int }

// String returns the operation as text.
func (o operation) String() string {
	if o.transaction == 0 {
		return "read in the end"
	}
	return Transactions[o.transaction-1].String()
}

// model is the sequential system. The answer to a transaction is whether it was applied, and to the read a Row.
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
