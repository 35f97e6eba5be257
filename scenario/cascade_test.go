package scenario_test

import (
	"context"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/trace"
)

// cascades are the scenarios of testdata/cascade.txt.
var cascades = map[string]func(*Scenario){
	"first-match": func(sc *Scenario) {
		sc.If(Type("Answer"), From(2)).Named("answer of 2").Then(Deliver())
		sc.If(Type("Answer")).Named("any answer").Then(Drop())
		sc.If(IsSend(), From(2)).Named("too late").Then(Drop())
	},
	"machine-first": func(sc *Scenario) {
		m := sc.Machine("m")
		m.On(IsSend().And(Type("Answer")), "answering").On(IsEvent("heard"), "heard").MarkSuccess()
		sc.If(m.InState(Start)).Named("before").Then(Pass())
		sc.If(m.InState("answering"), IsSend()).Named("while answering").Then(Drop())
		sc.If(m.InState("heard")).Named("after").Then(Finish())
	},
	"no-fate": func(sc *Scenario) {
		sc.If(Type("Answer")).Named("only count").Then(Count("seen").Incr())
		sc.If(IsSend(), From(2)).Named("never asked").Then(Drop())
	},
	"limit": func(sc *Scenario) {
		sc.If(Type("Ask")).Named("the first").Once().Then(Drop())
		sc.If(Type("Ask")).Named("the others").Then(Deliver())
	},
	"hold": func(sc *Scenario) {
		sc.If(Type("Answer"), From(2)).Named("hold").Then(Store("late"))
		sc.If(IsEvent("heard")).Named("release").Then(ReleaseAll("late"))
	},
	"cut": func(sc *Scenario) {
		sc.If(Did(trace.Start)).Named("cut off 3").Then(Isolate(Only(3)))
		sc.If(To(3)).Named("to 3").Then(Deliver())
		sc.If(IsSend(), To(3)).Named("sent to 3").Then(Count("lost").Incr())
	},
}

// TestCascade explains runs of a bell moment by moment.
func TestCascade(t *testing.T) {
	datadriven.RunTest(t, "testdata/cascade.txt", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd != "explain" || len(d.CmdArgs) != 1 || cascades[d.CmdArgs[0].Key] == nil {
			d.Fatalf(t, "use: explain NAME, with one of the scenarios of the test")
		}
		sc := New(d.CmdArgs[0].Key)
		cascades[sc.Name()](sc)
		var text strings.Builder
		if err := Explain(context.Background(), bellPlan(sc), &text); err != nil {
			return err.Error() + "\n"
		}
		return text.String()
	})
}
