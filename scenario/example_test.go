package scenario_test

import (
	"context"
	"fmt"

	"github.com/lockstep-go/lockstep"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/trace"
)

// The answer of node 2 is held back until node 1 has heard another.
func Example() {
	sc := New("late answer")
	m := sc.Machine()
	m.On(IsEvent("heard"), "one").On(IsEvent("done"), "both").MarkSuccess()
	sc.If(IsSend().And(Type("Answer")).And(From(2)).And(m.InState("start"))).Then(Store("late"))
	sc.If(IsEvent("heard")).Then(ReleaseAll("late"))

	result, err := lockstep.Explore(context.Background(), lockstep.Plan{
		System: bell(), Strategy: Synchronous{}, Scenario: sc, Runs: 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Verdict(), Successes(result), "of", result.Runs)
	for _, c := range result.Effects {
		fmt.Println(c.Name, c.N)
	}
	// Output:
	// pass 10 of 10
	// filter 1 (send and Answer and from 2 and late answer in start) matched 10
	// filter 1 (send and Answer and from 2 and late answer in start) acted 10
	// filter 2 (event heard) matched 20
	// filter 2 (event heard) acted 10
	// state one of machine late answer reached 10
	// state both of machine late answer reached 10
	// success 10
	// steps 50
	// steps taken by the scenario 0
}

func ExampleFilter_First() {
	sc := New("the first only")
	sc.If(Type("Ask")).First(1).Then(Drop())
	show(sc)
	// Output:
	// send 1->2 Ask | filter 1 (Ask): drop
	//     send 1->3 Ask
	//   2 drop 1->2 Ask
	//   3 receive 1->3 Ask
	//     send 3->1 Answer
	//   4 receive 3->1 Answer
	//     event 1 heard
	// verdict pass
}

func ExampleFilter_Once() {
	sc := New("once")
	sc.If(Type("Answer")).Once().Then(Drop())
	show(sc)
	// Output:
	// send 2->1 Answer | filter 1 (Answer): drop
	//   3 drop 2->1 Answer
	//   4 receive 1->3 Ask
	//     send 3->1 Answer
	//   5 receive 3->1 Answer
	//     event 1 heard
	// verdict pass
}

func ExampleFilter_Per() {
	sc := New("one from each")
	sc.If(Type("Ask")).First(1).Per(ByReceiver).Then(Pass())
	sc.If(Type("Ask")).Then(Drop())
	showOn(asking(), sc)
	// Output:
	// send 1->2 Ask | filter 1 (Ask): pass
	//     send 1->3 Ask | filter 1 (Ask): pass
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
	//     send 2->1 Ask | filter 1 (Ask): pass
	//     send 2->3 Ask | filter 2 (Ask): drop
	//   7 drop 2->3 Ask
	//   8 receive 2->1 Ask
	//     send 1->2 Answer
	//   9 receive 1->2 Answer
	//     event 2 heard
	//  10 timer node 1
	//     send 1->2 Ask | filter 2 (Ask): drop
	//     send 1->3 Ask | filter 2 (Ask): drop
	//  11 drop 1->2 Ask
	//  12 drop 1->3 Ask
	// verdict pass
}

func ExampleBy() {
	sc := New("the first of each number")
	number := By("number", func(m *Moment) uint64 { return uint64(m.Body().(note).Number) })
	sc.If(Type("Ask")).Once().Per(number).Then(Drop())
	show(sc)
	// Output:
	// send 1->2 Ask | filter 1 (Ask): drop
	//     send 1->3 Ask
	//   2 drop 1->2 Ask
	//   3 receive 1->3 Ask
	//     send 3->1 Answer
	//   4 receive 3->1 Answer
	//     event 1 heard
	// verdict pass
}

func ExampleFilter_Named() {
	sc := New("named")
	sc.If(Type("Answer"), From(3)).Named("3 is mute").Then(Drop())
	show(sc)
	// Output:
	// send 3->1 Answer | filter 1 (3 is mute): drop
	//   4 drop 3->1 Answer
	//   5 receive 2->1 Answer
	//     event 1 heard
	// verdict pass
}

func ExampleScenario_Pick() {
	sc := New("one node is mute")
	mute := sc.Pick("mute", 1)
	sc.If(FromGroup(mute), Type("Answer")).Then(Drop())
	show(sc)
	// Output:
	// drawn: mute=2
	//   0 start
	//   1 timer node 1
	//     send 1->2 Ask
	//     send 1->3 Ask
	//   2 receive 1->2 Ask
	//     send 2->1 Answer | filter 1 (from mute and Answer): drop
	//   3 drop 2->1 Answer
	//   4 receive 1->3 Ask
	//     send 3->1 Answer
	//   5 receive 3->1 Answer
	//     event 1 heard
	// verdict pass
}

func ExampleScenario_Split() {
	sc := New("a random partition")
	parts := sc.Split(Side{Name: "small", Size: 1}, Side{Name: "rest"})
	sc.Use(PartitionWhile(All(), parts...))
	show(sc)
	// Output:
	// drawn: small=2 rest=1,3
	//   0 start
	//   1 timer node 1
	//     send 1->2 Ask | filter 1 (part small from rest): drop
	//     send 1->3 Ask
	//   2 drop 1->2 Ask
	//   3 receive 1->3 Ask
	//     send 3->1 Answer
	//   4 receive 3->1 Answer
	//     event 1 heard
	// verdict pass
}

func ExampleScenario_Without() {
	sc := New("two filters")
	sc.If(Type("Answer"), From(2)).Then(Drop())
	sc.If(Type("Answer"), From(3)).Then(Drop())
	show(sc.Without(1))
	// Output:
	// send 3->1 Answer | filter 2 (Answer and from 3): drop
	//   4 drop 3->1 Answer
	//   5 receive 2->1 Answer
	//     event 1 heard
	// verdict pass
}

func ExampleScenario_Reserve() {
	sc := New("no node asks")
	sc.Reserve()
	sc.If(Did(trace.Timer)).Then(Request("", Only(2)))
	showOn(asking(), sc)
	// Output:
	// 1 timer node 1 | filter 1 (timer): request "" at 2
	//     send 1->2 Ask
	//     send 1->3 Ask
	//   2 request at node 2
	//     send 2->1 Ask
	//     send 2->3 Ask
	//   3 receive 1->2 Ask
	//     send 2->1 Answer
	//   4 receive 1->3 Ask
	//     send 3->1 Answer
	//   5 receive 2->1 Ask
	//     send 1->2 Answer
	//   6 receive 2->3 Ask
	//     send 3->2 Answer
	//   7 receive 2->1 Answer
	//     event 1 heard
	//   8 receive 3->1 Answer
	//     event 1 heard
	//     event 1 done
	//   9 receive 1->2 Answer
	//     event 2 heard
	//  10 receive 3->2 Answer
	//     event 2 heard
	//     event 2 done
	// verdict pass
}

func ExampleScenario_MustSucceed() {
	sc := New("must hear").MustSucceed()
	sc.Machine().On(IsEvent("done"), "all").MarkSuccess()
	sc.If(Type("Answer"), From(3)).Then(Drop())
	show(sc)
	// Output:
	// send 3->1 Answer | filter 1 (Answer and from 3): drop
	//   4 drop 3->1 Answer
	//   5 receive 2->1 Answer
	//     event 1 heard
	// verdict fail
	// scenario must hear: no success: machine must hear ended in state start
	// never: state all of machine must hear reached
	// never: success
}

func ExampleScenario_Faults() {
	sc := New("too much")
	sc.Faults(lockstep.Budget{Crashes: 1})
	sc.If(IsEvent("heard")).Then(Crash(Only(2, 3)))
	sc.If(Did(trace.Crash), At(3)).Then(FailWith("both are down"))
	show(sc)
	// Output:
	// event 1 heard | filter 1 (event heard): crash 2|3
	//   5 crash node 2
	//   6 crash node 3 | filter 2 (crash and at 3): fail
	// verdict unknown
	// fault budget exceeded: 2 nodes crashed, 1 allowed
}

func ExampleScenario_Size() {
	sc := New("small")
	sc.Machine().On(IsEvent("heard"), "one").On(IsEvent("done"), "both")
	sc.If(To(2)).Then(Drop())
	fmt.Println(sc.Size())
	// Output:
	// 1 3
}

func ExampleMachine_At() {
	sc := New("back and forth")
	m := sc.Machine()
	m.On(Did(trace.Timer), "asked").On(IsEvent("done"), Start)
	m.At("asked").On(IsEvent("heard"), "half").On(IsEvent("done"), "all").MarkSuccess()
	sc.If(To(3)).Then(Deliver())
	show(sc)
	// Output:
	// 1 timer node 1 | machine back and forth: asked
	//     send 1->2 Ask
	//     send 1->3 Ask | filter 1 (to 3): deliver
	//   2 receive 1->3 Ask
	//     send 3->1 Answer
	//   3 receive 1->2 Ask
	//     send 2->1 Answer
	//   4 receive 3->1 Answer
	//     event 1 heard | machine back and forth: half
	//   5 receive 2->1 Answer
	//     event 1 heard
	//     event 1 done | machine back and forth: all
	// verdict pass
}

func ExampleState_On() {
	sc := New("two edges to one state")
	m := sc.Machine()
	m.On(IsReceive().And(From(2)), "answered").MarkSuccess()
	m.On(IsReceive().And(From(3)), "answered")
	sc.If(Type("Ask"), To(2)).Then(Drop())
	show(sc)
	// Output:
	// send 1->2 Ask | filter 1 (Ask and to 2): drop
	//     send 1->3 Ask
	//   2 drop 1->2 Ask
	//   3 receive 1->3 Ask
	//     send 3->1 Answer
	//   4 receive 3->1 Answer | machine two edges to one state: answered
	//     event 1 heard
	// verdict pass
}

func ExampleState_MarkOptional() {
	sc := New("should not")
	m := sc.Machine()
	m.On(IsEvent("done"), "all answered").MarkOptional()
	m.On(IsEvent("heard"), "one answered").MarkSuccess()
	sc.If(Type("Ask"), To(2)).Then(Drop())
	show(sc)
	// Output:
	// send 1->2 Ask | filter 1 (Ask and to 2): drop
	//     send 1->3 Ask
	//   2 drop 1->2 Ask
	//   3 receive 1->3 Ask
	//     send 3->1 Answer
	//   4 receive 3->1 Answer
	//     event 1 heard | machine should not: one answered
	// verdict pass
}

func ExampleState_MarkSuccess() {
	sc := New("good from the start")
	m := sc.Machine()
	m.MarkSuccess()
	m.On(IsEvent("done"), Fail)
	sc.If(Type("Ask"), To(2)).Then(Drop())
	show(sc)
	// Output:
	// send 1->2 Ask | filter 1 (Ask and to 2): drop
	//     send 1->3 Ask
	//   2 drop 1->2 Ask
	//   3 receive 1->3 Ask
	//     send 3->1 Answer
	//   4 receive 3->1 Answer
	//     event 1 heard
	// verdict pass
}

func ExampleState_EndRun() {
	sc := New("one is enough")
	sc.Machine().On(IsEvent("heard"), "heard").MarkSuccess().EndRun()
	sc.If(Type("Ask"), To(3)).Then(Pass())
	show(sc)
	// Output:
	// send 1->3 Ask | filter 1 (Ask and to 3): pass
	//   2 receive 1->2 Ask
	//     send 2->1 Answer
	//   3 receive 1->3 Ask
	//     send 3->1 Answer
	//   4 receive 2->1 Answer
	//     event 1 heard | machine one is enough: heard
	// verdict pass
}

func ExampleIsolateWhile() {
	sc := New("isolated").Use(IsolateWhile(Only(3), Since(0)))
	show(sc)
	// Output:
	// send 1->3 Ask | filter 1 (isolate 3): drop
	//   2 drop 1->3 Ask
	//   3 receive 1->2 Ask
	//     send 2->1 Answer
	//   4 receive 2->1 Answer
	//     event 1 heard
	// verdict pass
}

func ExampleBreakLinks() {
	sc := New("broken").Use(BreakLinks([2]lockstep.Node{1, 2}, [2]lockstep.Node{3, 1}))
	show(sc)
	// Output:
	// send 1->2 Ask | filter 1 (break link 1-2): drop
	//     send 1->3 Ask | filter 2 (break link 3-1): drop
	//   2 drop 1->2 Ask
	//   3 drop 1->3 Ask
	// verdict pass
}

func ExamplePartitionWhile() {
	sc := New("parts").Use(PartitionWhile(Type("Answer"), Only(1), Only(2, 3)))
	show(sc)
	// Output:
	// send 2->1 Answer | filter 1 (part 1 from 2|3): drop
	//   3 drop 2->1 Answer
	//   4 receive 1->3 Ask
	//     send 3->1 Answer | filter 1 (part 1 from 2|3): drop
	//   5 drop 3->1 Answer
	// verdict pass
}

func ExampleWithhold() {
	sc := New("withheld").Use(Withhold(Type("Ask").And(To(2)), IsEvent("heard")))
	show(sc)
	// Output:
	// send 1->2 Ask | filter 2 (withhold: Ask and to 2): store in withheld 1
	//     send 1->3 Ask
	//   2 receive 1->3 Ask
	//     send 3->1 Answer
	//   3 receive 3->1 Answer
	//     event 1 heard | filter 1 (release: event heard): count withheld 1 released, release withheld 1, continue
	//   4 receive 1->2 Ask
	//     send 2->1 Answer
	//   5 receive 2->1 Answer
	//     event 1 heard
	//     event 1 done
	// verdict pass
}

func ExampleDropFirst() {
	sc := New("first lost").Use(DropFirst(1, Type("Ask"), ByReceiver))
	showOn(asking(), sc)
	// Output:
	// send 1->2 Ask | filter 1 (drop the first 1 per receiver: Ask): drop
	//     send 1->3 Ask | filter 1 (drop the first 1 per receiver: Ask): drop
	//   2 drop 1->2 Ask
	//   3 drop 1->3 Ask
	//   4 request at node 2
	//     send 2->1 Ask | filter 1 (drop the first 1 per receiver: Ask): drop
	//     send 2->3 Ask
	//   5 drop 2->1 Ask
	//   6 receive 2->3 Ask
	//     send 3->2 Answer
	//   7 receive 3->2 Answer
	//     event 2 heard
	//   8 timer node 1
	//     send 1->2 Ask
	//     send 1->3 Ask
	//   9 receive 1->2 Ask
	//     send 2->1 Answer
	//  10 receive 1->3 Ask
	//     send 3->1 Answer
	//  11 receive 2->1 Answer
	//     event 1 heard
	//  12 receive 3->1 Answer
	//     event 1 heard
	//     event 1 done
	// verdict pass
}

func ExampleAtMost() {
	sc := New("no more than one").Use(AtMost(1, Type("Answer"), ByReceiver))
	show(sc)
	// Output:
	// send 2->1 Answer | filter 1 (pass the first 1 per receiver: Answer): pass
	//   3 receive 1->3 Ask
	//     send 3->1 Answer | filter 2 (drop: Answer): drop
	//   4 drop 3->1 Answer
	//   5 receive 2->1 Answer
	//     event 1 heard
	// verdict pass
}

func ExampleFilter_Auxiliary() {
	sc := New("nothing but surroundings")
	sc.If(Type("Answer")).Auxiliary().Then(Deliver())
	sc.If(Type("Ask"), To(1)).Then(Drop())
	show(sc)
	// Output:
	// send 2->1 Answer | filter 1 (Answer): deliver
	//   3 receive 2->1 Answer
	//     event 1 heard
	//   4 receive 1->3 Ask
	//     send 3->1 Answer | filter 1 (Answer): deliver
	//   5 receive 3->1 Answer
	//     event 1 heard
	//     event 1 done
	// verdict vacuous
	// no filter of the scenario acted
	// never: filter 2 (Ask and to 1) acted
}

func ExampleOnly() {
	fmt.Println(Only(1, 3), "and", Only(1, 3).Others())
	// Output:
	// 1|3 and all but 1|3
}

func ExampleHere() {
	sc := New("the first to answer")
	sc.If(Type("Answer"), IsSend()).Once().Then(Crash(Here()))
	show(sc)
	// Output:
	// send 2->1 Answer | filter 1 (Answer and send): crash here
	//   3 crash node 2
	//   4 receive 1->3 Ask
	//     send 3->1 Answer
	//   5 receive 2->1 Answer
	//     event 1 heard
	//   6 receive 3->1 Answer
	//     event 1 heard
	//     event 1 done
	// verdict pass
}

func ExampleWhere() {
	sc := New("by what is known")
	busy := Where("a node with mail", func(m *Moment) (set lockstep.Nodes) {
		for _, id := range m.Run.FreeMessages() {
			set = set.With(m.Run.Message(id).To)
		}
		return set
	})
	sc.If(Did(trace.Timer)).Then(Crash(busy))
	show(sc)
	// Output:
	// 1 timer node 1 | filter 1 (timer): crash a node with mail
	//     send 1->2 Ask
	//     send 1->3 Ask
	//   2 crash node 2
	//   3 crash node 3
	//   4 drop 1->2 Ask
	//   5 drop 1->3 Ask
	// verdict pass
}

func ExampleMarked() {
	sc := New("the second asker")
	sc.If(IsSend(), Type("Ask")).Then(Mark("asker"), Continue())
	sc.If(IsReceive(), ToGroup(Marked("asker"))).Then(FailWith("the asker heard something"))
	show(sc)
	// Output:
	// send 1->2 Ask | filter 1 (send and Ask): mark asker, continue
	//     send 1->3 Ask | filter 1 (send and Ask): mark asker, continue
	//   2 receive 1->2 Ask
	//     send 2->1 Answer
	//   3 receive 1->3 Ask
	//     send 3->1 Answer
	//   4 receive 2->1 Answer | filter 2 (receive and to asker): fail
	// verdict fail
	// scenario the second asker: the asker heard something
}
