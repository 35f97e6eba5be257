package scenario_test

import (
	"context"
	"fmt"

	"github.com/lockstep-go/lockstep"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/trace"
)

// The scenario remembers the number of the first question and loses answers to other questions.
func ExampleVariable() {
	sc := New("answers to the first question")
	asked := Variable[int]("asked")
	sc.If(IsSend(), Type("Ask"), asked.IsSet().Not()).
		Then(CaptureBody(asked, "its number", func(n note) int { return n.Number }))
	sc.If(
		BodyWith(asked, "an answer to another question",
			func(n note, asked int) bool { return n.Kind == "Answer" && n.Number != asked }),
	).
		Then(Drop())
	sc.If(Type("Answer"), From(2)).Once().Then(Replace("Answer 7"))
	showOn(asking(), sc)
	// Output:
	// send 1->2 Ask | filter 1 (send and Ask and not (asked is set)): set asked to its number
	//     send 1->3 Ask
	//   2 receive 1->2 Ask
	//     send 2->1 Answer | filter 3 (Answer and from 2): replace by "Answer 7"
	//   3 replace 2->1 Answer
	//   4 receive 1->3 Ask
	//     send 3->1 Answer
	//   5 receive 2->1 Answer
	//     event 1 heard
	//   6 receive 3->1 Answer
	//     event 1 heard
	//     event 1 done
	//   7 request at node 2
	//     send 2->1 Ask
	//     send 2->3 Ask
	//   8 receive 2->1 Ask
	//     send 1->2 Answer
	//   9 receive 2->3 Ask
	//     send 3->2 Answer
	//  10 receive 1->2 Answer
	//     event 2 heard
	//  11 receive 3->2 Answer
	//     event 2 heard
	//     event 2 done
	//  12 timer node 1
	//     send 1->2 Ask
	//     send 1->3 Ask
	//  13 receive 1->2 Ask
	//     send 2->1 Answer | filter 2 (an answer to another question): drop
	//  14 drop 2->1 Answer
	//  15 receive 1->3 Ask
	//     send 3->1 Answer | filter 2 (an answer to another question): drop
	//  16 drop 3->1 Answer
	// verdict pass
}

func ExampleVar_Set() {
	sc := New("the time of the first answer")
	when := Variable[trace.Time]("first answer")
	sc.If(IsEvent("heard")).Once().Then(when.Set("now", func(m *Moment) trace.Time { return m.Run.Now() }))
	sc.If(IsEvent("done"), when.Is("in the same tick", func(m *Moment, t trace.Time) bool { return m.Run.Now() == t })).
		Then(when.Forget())
	show(sc)
	// Output:
	// event 1 heard | filter 1 (event heard): set first answer to now
	//   5 receive 3->1 Answer
	//     event 1 heard
	//     event 1 done | filter 2 (event done and in the same tick): forget first answer
	// verdict pass
}

func ExampleCaptureValue() {
	sc := New("one answer after the other")
	heard := Variable[int]("heard")
	sc.If(ValueWith(heard, "heard", "one more than before", func(now, before int) bool { return now == before+1 })).
		Then(Finish())
	sc.If(IsEvent("heard")).Then(CaptureValue(heard, "the number of answers", func(n int) int { return n }))
	show(sc)
	// Output:
	// event 1 heard | filter 2 (event heard): set heard to the number of answers
	//   5 receive 3->1 Answer
	//     event 1 heard | filter 1 (event heard and one more than before): finish
	// verdict pass
}

// Two answers of the same node count as one.
func ExampleCounter_Distinct() {
	sc := New("a quorum of two")
	answers := Count("answers").Distinct(BySender)
	m := sc.Machine()
	m.On(IsEvent("heard").And(answers.Ge(2)), "quorum").MarkSuccess()
	sc.If(IsSend(), Type("Answer"), From(2)).Once().Then(Duplicate())
	sc.If(IsReceive(), Type("Answer")).Then(answers.Incr())
	show(sc)
	// Output:
	// send 2->1 Answer | filter 1 (send and Answer and from 2): duplicate
	//   3 duplicate 2->1 Answer
	//   4 receive 1->3 Ask
	//     send 3->1 Answer
	//   5 receive 2->1 Answer | filter 2 (receive and Answer): count answers by different sender
	//     event 1 heard
	//   6 receive 2->1 Answer | filter 2 (receive and Answer): count answers by different sender (no effect)
	//     event 1 heard
	//     event 1 done
	//   7 receive 3->1 Answer | filter 2 (receive and Answer): count answers by different sender
	//     event 1 heard | machine a quorum of two: quorum
	// verdict pass
}

// Answers that are sent three ticks after the first question or later are lost.
func ExampleMachine_InStateFor() {
	b := bell()
	b.Requests = []string{"x"}
	sc := New("timeout")
	m := sc.Machine()
	m.On(IsReceive(), "asked")
	sc.If(m.InStateFor(3, "asked"), Type("Answer")).Then(Drop())
	sc.If(Type("Answer"), From(2)).Then(Delay(5))
	showOn(b, sc)
	// Output:
	// 2 receive 1->2 Ask | machine timeout: asked
	//     send 2->1 Answer | filter 2 (Answer and from 2): delay by 5
	//   3 receive 1->3 Ask
	//     send 3->1 Answer
	//   4 receive 3->1 Answer
	//     event 1 heard
	//   5 timer node 1
	//     send 1->2 Ask
	//     send 1->3 Ask
	//   6 receive 2->1 Answer
	//     event 1 heard
	//   7 receive 1->2 Ask
	//     send 2->1 Answer | filter 1 (timeout in asked for 3 and Answer): drop
	//   8 drop 2->1 Answer
	//   9 receive 1->3 Ask
	//     send 3->1 Answer | filter 1 (timeout in asked for 3 and Answer): drop
	//  10 drop 3->1 Answer
	// verdict pass
}

func ExampleRequestWhere() {
	last := func(p trace.Pending) bool { return p.Text > "x" }
	sc := New("y first").ReserveWhere("after x", last)
	sc.If(Did(trace.Start)).Then(RequestWhere("after x", last, Only(2)))
	sc.If(IsEvent("done")).Then(Finish())
	showOn(asking(), sc)
	// Output:
	// 0 start | filter 1 (start): request after x at 2
	//   1 request at node 2
	//     send 2->1 Ask
	//     send 2->3 Ask
	//   2 receive 2->1 Ask
	//     send 1->2 Answer
	//   3 receive 2->3 Ask
	//     send 3->2 Answer
	//   4 receive 1->2 Answer
	//     event 2 heard
	//   5 receive 3->2 Answer
	//     event 2 heard
	//     event 2 done | filter 2 (event done): finish
	// verdict pass
}

// Node 2 answers twice, the second time with a number of its own.
func ExampleInject() {
	sc := New("one answer too many")
	sc.If(Type("Answer"), From(2)).Then(Inject("Answer 9"))
	show(sc)
	// Output:
	// send 2->1 Answer | filter 1 (Answer and from 2): inject "Answer 9"
	//   3 duplicate 2->1 Answer
	//   4 replace 2->1 Answer
	//   5 receive 1->3 Ask
	//     send 3->1 Answer
	//   6 receive 2->1 Answer
	//     event 1 heard
	//   7 receive 2->1 Answer
	//     event 1 heard
	//     event 1 done
	//   8 receive 3->1 Answer
	//     event 1 heard
	// verdict pass
}

// The effect of Cut on a message in flight, and that of Sever.
func ExampleSever() {
	for _, cut := range []Action{Cut(Only(1), Only(2)), Sever(Only(1), Only(2))} {
		sc := New("cut")
		sc.If(IsSend(), Type("Ask"), To(3)).Then(cut)
		plan := bellPlan(sc)
		plan.Runs, plan.Workers = 1, 1
		arrived := 0
		sc.If(IsReceive(), Type("Ask"), To(2)).Auxiliary().Then(Do("count", func(*Moment, *lockstep.Control) { arrived++ }))
		if _, err := lockstep.Explore(context.Background(), plan); err != nil {
			fmt.Println(err)
		}
		fmt.Printf("%s: the question reaches 2 %d times\n", cut, arrived)
	}
	// Output:
	// cut 1 and 2: the question reaches 2 1 times
	// sever 1 and 2: the question reaches 2 0 times
}

func ExampleDropInFlight() {
	sc := New("the links stay")
	sc.If(IsSend(), Type("Ask"), To(3)).Then(DropInFlight(Only(1), Only(1).Others()))
	show(sc)
	// Output:
	// send 1->3 Ask | filter 1 (send and Ask and to 3): drop what is on its way from 1 to all but 1
	//   2 drop 1->2 Ask
	//   3 drop 1->3 Ask
	// verdict pass
}

func ExampleShare() {
	sc := New("two of five")
	sc.If(Type("Answer")).Then(Deliver())
	plan := bellPlan(sc)
	plan.Runs = 10
	result, err := lockstep.Explore(context.Background(), plan)
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(Share(result), CanSucceed(result))
	// Output:
	// 0.4 false
}
