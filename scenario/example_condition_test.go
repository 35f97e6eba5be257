package scenario_test

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/trace"
)

func ExampleIsSend() {
	watched(IsSend())
	// Output:
	// send 1->2 Ask
	// send 1->3 Ask
	// send 2->1 Answer
	// send 3->1 Answer
}

func ExampleIsReceive() {
	watched(IsReceive())
	// Output:
	// receive 1->2 Ask
	// receive 1->3 Ask
	// receive 2->1 Answer
	// receive 3->1 Answer
}

func ExampleIsEvent() {
	watched(IsEvent("done"))
	// Output:
	// event 1 done
}

func ExampleDid() {
	watched(Did(trace.Start, trace.Timer))
	// Output:
	// start
	// timer node 1
}

func ExampleDuring() {
	watched(During(trace.Timer))
	// Output:
	// timer node 1
	// send 1->2 Ask
	// send 1->3 Ask
}

func ExampleType() {
	watched(Type("Answer"))
	// Output:
	// send 2->1 Answer
	// send 3->1 Answer
	// receive 2->1 Answer
	// receive 3->1 Answer
}

func ExampleFrom() {
	watched(From(1, 2).And(IsReceive()))
	// Output:
	// receive 1->2 Ask
	// receive 1->3 Ask
	// receive 2->1 Answer
}

func ExampleTo() {
	watched(To(2))
	// Output:
	// send 1->2 Ask
	// receive 1->2 Ask
}

func ExampleLink() {
	watched(Link(2, 1).And(IsSend()))
	// Output:
	// send 1->2 Ask
	// send 2->1 Answer
}

func ExampleAt() {
	watched(At(3))
	// Output:
	// receive 1->3 Ask
	// send 3->1 Answer
}

func ExampleFromGroup() {
	watched(FromGroup(Only(1).Others()).And(IsSend()))
	// Output:
	// send 2->1 Answer
	// send 3->1 Answer
}

func ExampleToGroup() {
	watched(ToGroup(Only(2, 3)).And(IsSend()))
	// Output:
	// send 1->2 Ask
	// send 1->3 Ask
}

func ExampleAtGroup() {
	watched(AtGroup(Only(1)).And(IsEvent("heard", "done")))
	// Output:
	// event 1 heard
	// event 1 heard
	// event 1 done
}

func ExampleBetween() {
	watched(Between(Only(1), Only(3)).And(IsSend()))
	// Output:
	// send 1->3 Ask
	// send 3->1 Answer
}

func ExampleBody() {
	watched(Body("the first", func(n note) bool { return n.Number == 1 }).And(IsSend(), To(1)))
	// Output:
	// send 2->1 Answer
	// send 3->1 Answer
}

func ExampleValue() {
	watched(Value("heard", "two answers", func(n int) bool { return n == 2 }))
	// Output:
	// event 1 heard
}

func ExampleCond() {
	watched(Cond("late", func(m *Moment) bool { return m.Run.Steps() >= 4 }))
	// Output:
	// receive 2->1 Answer
	// event 1 heard
	// receive 3->1 Answer
	// event 1 heard
	// event 1 done
}

func ExampleSince() {
	watched(Since(10).And(Did(trace.Start, trace.Timer)))
	// Output:
	// timer node 1
}

func ExampleWithProbability() {
	watched(WithProbability(1).And(IsEvent("done")))
	watched(WithProbability(0))
	// Output:
	// event 1 done
}

func ExampleCondition_And() {
	watched(IsSend().And(Type("Ask"), To(3)))
	// Output:
	// send 1->3 Ask
}

func ExampleCondition_Or() {
	watched(IsEvent("done").Or(Did(trace.Timer)))
	// Output:
	// timer node 1
	// event 1 done
}

func ExampleCondition_Not() {
	watched(IsSend().Or(IsReceive()).Not())
	// Output:
	// start
	// timer node 1
	// event 1 heard
	// event 1 heard
	// event 1 done
}

func ExampleAll() {
	watched(All(IsSend(), Type("Ask"), To(3)))
	fmt.Println(All())
	// Output:
	// send 1->3 Ask
	// always
}

func ExampleAny() {
	watched(Any(IsEvent("done"), Did(trace.Timer)))
	// Output:
	// timer node 1
	// event 1 done
}

func ExamplePhase() {
	sc := New("phases")
	sc.If(Phase(2), Round("Propose")).Then(Drop())
	_, err := sc.Fit(
		lockstep.Info{
			Name:     "smr",
			Nodes:    3,
			Rounds:   []string{"Prepare", "Propose"},
			Supports: trace.KindsOf(trace.Drop),
		},
	)
	fmt.Println(err)
	_, err = sc.Fit(lockstep.Info{Name: "untagged", Nodes: 3, Supports: trace.KindsOf(trace.Drop)})
	fmt.Println(err)
	// Output:
	// <nil>
	// filter 1 (phase 2 and round Propose): the messages of untagged carry no phase and round
	// filter 1 (phase 2 and round Propose): the messages of untagged carry no phase and round
}

func ExampleRound() {
	sc := New("rounds")
	sc.If(Round("Propos")).Then(Drop())
	_, err := sc.Fit(
		lockstep.Info{
			Name:     "smr",
			Nodes:    3,
			Rounds:   []string{"Prepare", "Propose"},
			Supports: trace.KindsOf(trace.Drop),
		},
	)
	fmt.Println(err)
	// Output:
	// filter 1 (round Propos): no round is called "Propos", there are Prepare, Propose
}

// Votes are counted as they arrive; the second one is dropped in flight.
func ExampleCounter() {
	answers := Count("answers")
	sc := New("counting")
	sc.If(IsSend(), Type("Answer"), answers.Lt(1)).Then(answers.Incr())
	sc.If(Type("Answer")).Then(Drop())
	show(sc)
	// Output:
	// send 2->1 Answer | filter 1 (send and Answer and answers < 1): count answers
	//   3 receive 1->3 Ask
	//     send 3->1 Answer | filter 2 (Answer): drop
	//   4 drop 3->1 Answer
	//   5 receive 2->1 Answer
	//     event 1 heard
	// verdict pass
}

func ExampleCounter_Incr() {
	sc := New("count")
	sc.If(IsReceive()).Then(Count("received").Incr(), Continue())
	sc.If(IsEvent("done"), Count("received").Eq(4)).Then(FailWith("all four arrived"))
	show(sc)
	// Output:
	// 2 receive 1->2 Ask | filter 1 (receive): count received, continue
	//     send 2->1 Answer
	//   3 receive 1->3 Ask | filter 1 (receive): count received, continue
	//     send 3->1 Answer
	//   4 receive 2->1 Answer | filter 1 (receive): count received, continue
	//     event 1 heard
	//   5 receive 3->1 Answer | filter 1 (receive): count received, continue
	//     event 1 heard
	//     event 1 done | filter 2 (event done and received = 4): fail
	// verdict fail
	// scenario count: all four arrived
}

func ExampleCounter_Reset() {
	n := Count("n")
	sc := New("count again")
	sc.If(IsReceive(), n.Ge(2)).Then(n.Reset())
	sc.If(IsReceive()).Then(n.Incr())
	show(sc)
	// Output:
	// 2 receive 1->2 Ask | filter 2 (receive): count n
	//     send 2->1 Answer
	//   3 receive 1->3 Ask | filter 2 (receive): count n
	//     send 3->1 Answer
	//   4 receive 2->1 Answer | filter 1 (receive and n >= 2): reset n
	//     event 1 heard
	//   5 receive 3->1 Answer | filter 2 (receive): count n
	//     event 1 heard
	//     event 1 done
	// verdict pass
}

func ExampleCounter_Per() {
	n := Count("asked").Per(ByReceiver)
	sc := New("one each")
	sc.If(IsSend(), Type("Ask"), n.Ge(1)).Then(Drop())
	sc.If(IsSend(), Type("Ask")).Then(n.Incr())
	showOn(asking(), sc)
	// Output:
	// send 1->2 Ask | filter 2 (send and Ask): count asked per receiver
	//     send 1->3 Ask | filter 2 (send and Ask): count asked per receiver
	//   2 receive 1->2 Ask
	//     send 2->1 Answer
	//   3 receive 1->3 Ask
	//     send 3->1 Answer
	//   4 receive 2->1 Answer
	//     event 1 heard
	//   5 receive 3->1 Answer
	//     event 1 heard
	//     event 1 done
	//   6 request at node 2
	//     send 2->1 Ask | filter 2 (send and Ask): count asked per receiver
	//     send 2->3 Ask | filter 1 (send and Ask and asked per receiver >= 1): drop
	//   7 drop 2->3 Ask
	//   8 receive 2->1 Ask
	//     send 1->2 Answer
	//   9 receive 1->2 Answer
	//     event 2 heard
	//  10 timer node 1
	//     send 1->2 Ask | filter 1 (send and Ask and asked per receiver >= 1): drop
	//     send 1->3 Ask | filter 1 (send and Ask and asked per receiver >= 1): drop
	//  11 drop 1->2 Ask
	//  12 drop 1->3 Ask
	// verdict pass
}

func ExampleCounter_Lt() {
	comparing(Count("n").Lt(2))
	// Output:
	// receive 1->2 Ask
}

func comparing(c Condition) {
	sc := New("comparing")
	sc.If(IsReceive()).Then(Count("n").Incr(), Continue())
	sc.If(IsReceive(), c).Then(Do("print", func(m *Moment, _ *lockstep.Control) { fmt.Println(m) }))
	once(sc)
}

func ExampleCounter_Le() {
	comparing(Count("n").Le(2))
	// Output:
	// receive 1->2 Ask
	// receive 1->3 Ask
}

func ExampleCounter_Gt() {
	comparing(Count("n").Gt(2))
	// Output:
	// receive 2->1 Answer
	// receive 3->1 Answer
}

func ExampleCounter_Ge() {
	comparing(Count("n").Ge(2))
	// Output:
	// receive 1->3 Ask
	// receive 2->1 Answer
	// receive 3->1 Answer
}

func ExampleCounter_Eq() {
	comparing(Count("n").Eq(2))
	// Output:
	// receive 1->3 Ask
}

func ExampleInSet() {
	sc := New("recorded")
	sc.If(IsSend(), To(3)).Then(Record("to 3"))
	sc.If(IsReceive(), InSet("to 3")).Then(FailWith("what was recorded arrived"))
	show(sc)
	// Output:
	// send 1->3 Ask | filter 1 (send and to 3): record in to 3
	//   2 receive 1->2 Ask
	//     send 2->1 Answer
	//   3 receive 1->3 Ask | filter 2 (receive and in to 3): fail
	// verdict fail
	// scenario recorded: what was recorded arrived
}

func ExampleLike() {
	sc := New("asked twice")
	sc.If(IsSend(), Like("asked", "the same number again", func(now, asked note) bool { return now == asked })).
		Then(FailWith("the second ask has the number of the first"))
	sc.If(IsSend(), Type("Ask")).Then(Record("asked"))
	show(sc)
	// Output:
	// send 1->2 Ask | filter 2 (send and Ask): record in asked
	//     send 1->3 Ask | filter 1 (send and the same number again): fail
	// verdict fail
	// scenario asked twice: the second ask has the number of the first
}

func ExampleSetHas() {
	sc := New("both")
	sc.If(IsSend(), SetHas(1, "answers")).Then(DeliverAll("answers"))
	sc.If(IsSend(), Type("Answer")).Then(Store("answers"))
	show(sc)
	// Output:
	// send 2->1 Answer | filter 2 (send and Answer): store in answers
	//   3 receive 1->3 Ask
	//     send 3->1 Answer | filter 1 (send and answers has 1): deliver all of answers
	//   4 receive 2->1 Answer
	//     event 1 heard
	//   5 receive 3->1 Answer
	//     event 1 heard
	//     event 1 done
	// verdict pass
}

func ExampleMachine_InState() {
	sc := New("states")
	m := sc.Machine()
	m.On(IsEvent("heard"), "heard one").MarkSuccess()
	sc.If(m.InState("heard one"), IsReceive()).Then(FailWith("a second answer"))
	show(sc)
	// Output:
	// event 1 heard | machine states: heard one
	//   5 receive 3->1 Answer | filter 1 (states in heard one and receive): fail
	// verdict fail
	// scenario states: a second answer
	// never: success
}
