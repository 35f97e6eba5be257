package operator_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep/kit/operator"
	"github.com/lockstep-go/lockstep/trace"
)

// sink writes down what is offered.
type sink []trace.Pending

func (s *sink) Offer(p trace.Pending) { *s = append(*s, p) }

// A task is offered as often as it is to be done, one at a time; what is refused may be
// offered again; asks are there from the start; and a number says which of them it is.
func TestOperator(t *testing.T) {
	o := operator.New(3, []operator.Task{{Name: "change members", Times: 2}, {Name: "transfer leadership"}},
		[]string{"remove 3", "add 3"})
	for range 2 { // runs
		var d sink
		o.Begin(&d)
		o.Next(0)
		o.Next(0)
		o.Retry(0)
		o.Next(1)
		var got []string
		for _, p := range d {
			task, ask := o.Given(p.ID)
			got = append(got, fmt.Sprint(p.Text, ": ", task, " ", ask))
			if !o.Has(p.ID) || p.To != trace.AllNodes(3) {
				t.Errorf("%+v is not the operator's", p)
			}
		}
		want := []string{"change members (1): 0 0", "remove 3: 2 0", "add 3: 2 1", "change members (2): 0 1",
			"change members (2): 0 1"}
		if !slices.Equal(got, want) {
			t.Errorf("offered %q, want %q", got, want)
		}
	}
	if o.Has(10_001) {
		t.Error("a client's request is the operator's")
	}
}

func TestChanges(t *testing.T) {
	for _, text := range []string{"add", "add 0", "add 4", "drop 1", "add 1;add 2", "add x", "; "} {
		if list, err := operator.Changes(text, 3); err == nil {
			t.Errorf("%q became %v", text, list)
		}
	}
	if list, err := operator.Changes("", 3); err != nil || list != nil {
		t.Error(list, err)
	}
}

func ExampleChanges() {
	list, err := operator.Changes("remove 3; add 2", 3)
	members := trace.NodesOf(1, 3)
	for _, c := range list {
		members = c.Of(members)
	}
	fmt.Println(list, members, err)
	_, err = operator.Changes("remove 7", 3)
	fmt.Println("changes", err)
	// Output:
	// [remove 3 add 2] 1,2 <nil>
	// changes has "remove 7", allowed are 'add N' and 'remove N' with a node of 1..3, separated by '; '
}
