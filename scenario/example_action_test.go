package scenario_test

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/trace"
)

func ExampleDeliver() {
	sc := New("answers first")
	sc.If(Type("Answer")).Then(Deliver())
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
	// verdict pass
}

func ExampleDrop() {
	sc := New("no answers")
	sc.If(Type("Answer")).Then(Drop())
	show(sc)
	// Output:
	// send 2->1 Answer | filter 1 (Answer): drop
	//   3 drop 2->1 Answer
	//   4 receive 1->3 Ask
	//     send 3->1 Answer | filter 1 (Answer): drop
	//   5 drop 3->1 Answer
	// verdict pass
}

func ExamplePass() {
	sc := New("only 2 is heard")
	sc.If(From(2)).Then(Pass())
	sc.If(Type("Answer")).Then(Drop())
	show(sc)
	// Output:
	// send 2->1 Answer | filter 1 (from 2): pass
	//   3 receive 1->3 Ask
	//     send 3->1 Answer | filter 2 (Answer): drop
	//   4 drop 3->1 Answer
	//   5 receive 2->1 Answer
	//     event 1 heard
	// verdict pass
}

func ExampleContinue() {
	sc := New("count, then drop")
	sc.If(Type("Answer"), IsSend()).Then(Count("answers").Incr(), Continue())
	sc.If(Type("Answer"), Count("answers").Gt(1)).Then(Drop())
	show(sc)
	// Output:
	// send 2->1 Answer | filter 1 (Answer and send): count answers, continue
	//   3 receive 1->3 Ask
	//     send 3->1 Answer | filter 1 (Answer and send): count answers, continue | filter 2 (Answer and answers > 1): drop
	//   4 drop 3->1 Answer
	//   5 receive 2->1 Answer
	//     event 1 heard
	// verdict pass
}

func ExampleStore() {
	sc := New("late")
	sc.If(Type("Ask"), To(2)).Then(Store("late"))
	sc.If(IsEvent("heard")).Then(ReleaseAll("late"))
	show(sc)
	// Output:
	// send 1->2 Ask | filter 1 (Ask and to 2): store in late
	//     send 1->3 Ask
	//   2 receive 1->3 Ask
	//     send 3->1 Answer
	//   3 receive 3->1 Answer
	//     event 1 heard | filter 2 (event heard): release late
	//   4 receive 1->2 Ask
	//     send 2->1 Answer
	//   5 receive 2->1 Answer
	//     event 1 heard | filter 2 (event heard): release late (no effect)
	//     event 1 done
	// verdict pass
}

func ExampleReleaseAll() {
	sc := New("given back")
	sc.If(Type("Ask"), To(2)).Then(Store("late"))
	sc.If(Type("Answer"), IsSend()).Then(ReleaseAll("late"))
	show(sc)
	// Output:
	// send 1->2 Ask | filter 1 (Ask and to 2): store in late
	//     send 1->3 Ask
	//   2 receive 1->3 Ask
	//     send 3->1 Answer | filter 2 (Answer and send): release late
	//   3 receive 1->2 Ask
	//     send 2->1 Answer | filter 2 (Answer and send): release late (no effect)
	//   4 receive 3->1 Answer
	//     event 1 heard
	//   5 receive 2->1 Answer
	//     event 1 heard
	//     event 1 done
	// verdict pass
}

func ExampleDeliverAll() {
	sc := New("reordered")
	sc.If(Type("Ask"), To(2)).Then(Store("late"))
	sc.If(Type("Answer"), From(3), IsSend()).Then(DeliverAll("late"))
	show(sc)
	// Output:
	// send 1->2 Ask | filter 1 (Ask and to 2): store in late
	//     send 1->3 Ask
	//   2 receive 1->3 Ask
	//     send 3->1 Answer | filter 2 (Answer and from 3 and send): deliver all of late
	//   3 receive 1->2 Ask
	//     send 2->1 Answer
	//   4 receive 3->1 Answer
	//     event 1 heard
	//   5 receive 2->1 Answer
	//     event 1 heard
	//     event 1 done
	// verdict pass
}

func ExampleDropAll() {
	sc := New("too late")
	sc.If(Type("Ask"), To(2)).Then(Store("late"))
	sc.If(IsEvent("heard")).Then(DropAll("late"))
	show(sc)
	// Output:
	// send 1->2 Ask | filter 1 (Ask and to 2): store in late
	//     send 1->3 Ask
	//   2 receive 1->3 Ask
	//     send 3->1 Answer
	//   3 receive 3->1 Answer
	//     event 1 heard | filter 2 (event heard): drop all of late
	//   4 drop 1->2 Ask
	// verdict pass
}

func ExampleRecord() {
	sc := New("recorded")
	sc.If(Type("Ask"), IsSend()).Then(Record("asks"))
	sc.If(Type("Answer"), SetHas(2, "asks")).Then(Drop())
	show(sc)
	// Output:
	// send 1->2 Ask | filter 1 (Ask and send): record in asks
	//     send 1->3 Ask | filter 1 (Ask and send): record in asks
	//   2 receive 1->2 Ask
	//     send 2->1 Answer | filter 2 (Answer and asks has 2): drop
	//   3 drop 2->1 Answer
	//   4 receive 1->3 Ask
	//     send 3->1 Answer | filter 2 (Answer and asks has 2): drop
	//   5 drop 3->1 Answer
	// verdict pass
}

// The message waits until the clock has advanced. As nothing else can happen here, the clock advances to the end of
// the delay.
func ExampleDelay() {
	sc := New("slow link")
	sc.If(To(3)).Then(Delay(50))
	sc.If(At(3), IsReceive()).Then(Do("print the time", func(m *Moment, _ *lockstep.Control) {
		fmt.Println("time", m.Run.Now())
	}))
	once(sc)
	// Output:
	// time 60
}

func ExampleDelayUntil() {
	sc := New("after the answer")
	sc.If(Type("Ask"), To(2)).Then(DelayUntil(IsEvent("heard")))
	show(sc)
	// Output:
	// send 1->2 Ask | filter 1 (Ask and to 2): delay until event heard
	//     send 1->3 Ask
	//   2 receive 1->3 Ask
	//     send 3->1 Answer
	//   3 receive 3->1 Answer
	//     event 1 heard | released 1->2 Ask
	//   4 receive 1->2 Ask
	//     send 2->1 Answer
	//   5 receive 2->1 Answer
	//     event 1 heard
	//     event 1 done
	// verdict pass
}

func ExampleDuplicate() {
	sc := New("twice")
	sc.If(From(2)).Then(Duplicate())
	show(sc)
	// Output:
	// send 2->1 Answer | filter 1 (from 2): duplicate
	//   3 duplicate 2->1 Answer
	//   4 receive 1->3 Ask
	//     send 3->1 Answer
	//   5 receive 2->1 Answer
	//     event 1 heard
	//   6 receive 2->1 Answer
	//     event 1 heard
	//     event 1 done
	//   7 receive 3->1 Answer
	//     event 1 heard
	// verdict pass
}

func ExampleReplace() {
	sc := New("a forgery")
	sc.If(Type("Answer"), From(2)).Then(Replace("Answer 7"), Deliver())
	sc.If(IsReceive(), Body("forged", func(n note) bool { return n.Number == 7 })).Then(FailWith("7 arrived"))
	show(sc)
	// Output:
	// send 2->1 Answer | filter 1 (Answer and from 2): replace by "Answer 7", deliver
	//   3 replace 2->1 Answer
	//   4 receive 2->1 Answer | filter 2 (receive and forged): fail
	// verdict fail
	// scenario a forgery: 7 arrived
}

func ExampleForge() {
	sc := New("a forgery for each")
	sc.If(Type("Ask")).Then(Forge("add the receiver", func(m *Moment) string {
		return note{"Ask", m.Body().(note).Number + 10*int(m.Message.To)}.String()
	}))
	sc.If(IsReceive(), Type("Answer")).Then(Do("print", func(m *Moment, _ *lockstep.Control) { fmt.Println(m, m.Body()) }))
	once(sc)
	// Output:
	// receive 2->1 Answer Answer 21
	// receive 3->1 Answer Answer 31
}

func ExampleRewrite() {
	sc := New("typed forgeries")
	sc.If(Type("Ask")).Then(Rewrite("negate", func(n note, to lockstep.Node) note {
		n.Number = -n.Number
		return n
	}))
	sc.If(IsReceive(), Type("Ask")).Then(Do("print", func(m *Moment, _ *lockstep.Control) { fmt.Println(m, m.Body()) }))
	once(sc)
	// Output:
	// receive 1->2 Ask Ask -1
	// receive 1->3 Ask Ask -1
}

func ExampleEquivocate() {
	sc := New("two truths")
	sc.If(Type("Ask")).Then(Equivocate("Ask 100", "Ask 200", Only(3)))
	sc.If(IsReceive(), Type("Ask")).Then(Do("print", func(m *Moment, _ *lockstep.Control) { fmt.Println(m, m.Body()) }))
	once(sc)
	// Output:
	// receive 1->2 Ask Ask 100
	// receive 1->3 Ask Ask 200
}

func ExampleCrash() {
	sc := New("crash")
	sc.If(IsSend(), Type("Answer"), From(2)).Then(Crash(Only(3)))
	show(sc)
	// Output:
	// send 2->1 Answer | filter 1 (send and Answer and from 2): crash 3
	//   3 crash node 3
	//   4 drop 1->3 Ask
	//   5 receive 2->1 Answer
	//     event 1 heard
	// verdict pass
}

// A scenario that needs a capability which the system lacks is refused. In a bubble built with the overlay, nodes can
// pause and have their own clocks.
func ExamplePause() {
	sc := New("sleepy")
	sc.If(IsEvent("heard")).Once().Then(Pause(Here()))
	once(sc)
	sc = New("dizzy")
	sc.If(IsEvent("heard")).Once().Then(Jump(Only(1, 2)))
	once(sc)
	// Output:
	// scenario sleepy: filter 1 (event heard): bell does not support pause (it supports deliver, drop, duplicate, replace, timer, crash, restart, request, cut, heal)
	// scenario dizzy: filter 1 (event heard): bell does not support jump (it supports deliver, drop, duplicate, replace, timer, crash, restart, request, cut, heal)
}

func ExampleRestart() {
	sc := New("bounce")
	sc.If(IsEvent("heard")).Once().Then(Crash(Only(1)))
	sc.If(Did(trace.Crash)).Then(Restart(Here()))
	show(sc)
	// Output:
	// event 1 heard | filter 1 (event heard): crash 1
	//   5 crash node 1 | filter 2 (crash): restart here
	//   6 restart node 1
	//   7 receive 3->1 Answer
	//     event 1 heard
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

func ExampleCut() {
	sc := New("cut")
	sc.If(Did(trace.Start)).Then(Cut(Only(1), Only(3)))
	show(sc)
	// Output:
	// 0 start | filter 1 (start): cut 1 and 3
	//   1 cut 1 <-> 3
	//   2 timer node 1
	//     send 1->2 Ask
	//     send 1->3 Ask
	//   3 receive 1->2 Ask
	//     send 2->1 Answer
	//   4 receive 2->1 Answer
	//     event 1 heard
	// verdict pass
}

func ExampleCutOneWay() {
	sc := New("deaf")
	sc.If(Did(trace.Start)).Then(CutOneWay(Only(3), Only(1)))
	show(sc)
	// Output:
	// 0 start | filter 1 (start): cut one way 3 and 1
	//   1 cut 3 -> 1
	//   2 timer node 1
	//     send 1->2 Ask
	//     send 1->3 Ask
	//   3 receive 1->2 Ask
	//     send 2->1 Answer
	//   4 receive 1->3 Ask
	//     send 3->1 Answer
	//   5 receive 2->1 Answer
	//     event 1 heard
	// verdict pass
}

func ExampleHeal() {
	sc := New("healed")
	sc.If(Did(trace.Start)).Then(Cut(Only(1), Only(3)), Heal(Only(3), Only(1)))
	sc.If(IsEvent("done")).Then(FailWith("all answered"))
	show(sc)
	// Output:
	// 0 start | filter 1 (start): cut 1 and 3, heal 3 and 1
	//   1 cut 1 <-> 3
	//   2 heal 3 <-> 1
	//   3 timer node 1
	//     send 1->2 Ask
	//     send 1->3 Ask
	//   4 receive 1->2 Ask
	//     send 2->1 Answer
	//   5 receive 1->3 Ask
	//     send 3->1 Answer
	//   6 receive 2->1 Answer
	//     event 1 heard
	//   7 receive 3->1 Answer
	//     event 1 heard
	//     event 1 done | filter 2 (event done): fail
	// verdict fail
	// scenario healed: all answered
}

func ExampleHealAll() {
	sc := New("all healed")
	sc.If(Did(trace.Start)).Then(Isolate(Only(1)), HealAll())
	sc.If(IsEvent("done")).Then(FailWith("all answered"))
	show(sc)
	// Output:
	// 0 start | filter 1 (start): isolate 1, heal all
	//   1 cut 1 <-> 2,3
	//   2 heal 1,2,3 <-> 1,2,3
	//   3 timer node 1
	//     send 1->2 Ask
	//     send 1->3 Ask
	//   4 receive 1->2 Ask
	//     send 2->1 Answer
	//   5 receive 1->3 Ask
	//     send 3->1 Answer
	//   6 receive 2->1 Answer
	//     event 1 heard
	//   7 receive 3->1 Answer
	//     event 1 heard
	//     event 1 done | filter 2 (event done): fail
	// verdict fail
	// scenario all healed: all answered
}

func ExampleIsolate() {
	sc := New("alone")
	sc.If(IsEvent("heard")).Then(Isolate(Here()))
	showOn(asking(), sc)
	// Output:
	// event 1 heard | filter 1 (event heard): isolate here
	//   5 cut 1 <-> 2,3
	//   6 receive 3->1 Answer
	//     event 1 heard | filter 1 (event heard): isolate here
	//     event 1 done
	//   7 cut 1 <-> 2,3
	//   8 request at node 2
	//     send 2->1 Ask
	//     send 2->3 Ask
	//   9 receive 2->3 Ask
	//     send 3->2 Answer
	//  10 receive 3->2 Answer
	//     event 2 heard | filter 1 (event heard): isolate here
	//  11 cut 2 <-> 1,3
	//  12 timer node 1
	//     send 1->2 Ask
	//     send 1->3 Ask
	// verdict pass
}

func ExamplePartition() {
	sc := New("parted")
	sc.If(Did(trace.Start)).Then(Partition(Only(1), Only(2), Only(3)))
	show(sc)
	// Output:
	// 0 start | filter 1 (start): partition 1 2 3
	//   1 cut 1 <-> 2
	//   2 cut 1 <-> 3
	//   3 cut 2 <-> 3
	//   4 timer node 1
	//     send 1->2 Ask
	//     send 1->3 Ask
	// verdict pass
}

func ExampleFireTimer() {
	sc := New("early")
	sc.If(Did(trace.Start)).Then(FireTimer(Only(1)))
	show(sc)
	// Output:
	// 0 start | filter 1 (start): fire timer of 1
	//   1 timer node 1
	//     send 1->2 Ask
	//     send 1->3 Ask
	//   2 receive 1->2 Ask
	//     send 2->1 Answer
	//   3 receive 1->3 Ask
	//     send 3->1 Answer
	//   4 receive 2->1 Answer
	//     event 1 heard
	//   5 receive 3->1 Answer
	//     event 1 heard
	//     event 1 done
	// verdict pass
}

func ExampleHoldTimers() {
	sc := New("no timer")
	sc.If(Did(trace.Start)).Then(HoldTimers(Only(1)))
	show(sc)
	// Output:
	// 0 start | filter 1 (start): hold timers of 1
	// verdict pass
}

func ExampleReleaseTimers() {
	sc := New("timer after the first request")
	sc.If(Did(trace.Start)).Then(HoldTimers(Only(1)))
	sc.If(IsEvent("done")).Once().Then(ReleaseTimers(Only(1)), FireTimer(Only(1)))
	showOn(asking(), sc)
	// Output:
	// 0 start | filter 1 (start): hold timers of 1
	//   1 request at node 1
	//     send 1->2 Ask
	//     send 1->3 Ask
	//   2 receive 1->2 Ask
	//     send 2->1 Answer
	//   3 receive 1->3 Ask
	//     send 3->1 Answer
	//   4 receive 2->1 Answer
	//     event 1 heard
	//   5 receive 3->1 Answer
	//     event 1 heard
	//     event 1 done | filter 2 (event done): release timers of 1, fire timer of 1
	//   6 timer node 1
	//     send 1->2 Ask
	//     send 1->3 Ask
	//   7 receive 1->2 Ask
	//     send 2->1 Answer
	//   8 receive 1->3 Ask
	//     send 3->1 Answer
	//   9 receive 2->1 Answer
	//     event 1 heard
	//  10 receive 3->1 Answer
	//     event 1 heard
	//     event 1 done
	//  11 request at node 2
	//     send 2->1 Ask
	//     send 2->3 Ask
	//  12 receive 2->1 Ask
	//     send 1->2 Answer
	//  13 receive 2->3 Ask
	//     send 3->2 Answer
	//  14 receive 1->2 Answer
	//     event 2 heard
	//  15 receive 3->2 Answer
	//     event 2 heard
	//     event 2 done
	// verdict pass
}

func ExampleRequest() {
	sc := New("ask for y")
	sc.Reserve("y")
	sc.If(IsEvent("done")).Once().Then(Request("y", Only(3)))
	showOn(asking(), sc)
	// Output:
	// event 1 done | filter 1 (event done): request "y" at 3
	//   6 request at node 3
	//     send 3->1 Ask
	//     send 3->2 Ask
	//   7 receive 3->1 Ask
	//     send 1->3 Answer
	//   8 receive 3->2 Ask
	//     send 2->3 Answer
	//   9 receive 1->3 Answer
	//     event 3 heard
	//  10 receive 2->3 Answer
	//     event 3 heard
	//     event 3 done
	//  11 timer node 1
	//     send 1->2 Ask
	//     send 1->3 Ask
	//  12 receive 1->2 Ask
	//     send 2->1 Answer
	//  13 receive 1->3 Ask
	//     send 3->1 Answer
	//  14 receive 2->1 Answer
	//     event 1 heard
	//  15 receive 3->1 Answer
	//     event 1 heard
	//     event 1 done
	// verdict pass
}

func ExampleMark() {
	sc := New("mark the first to answer")
	sc.If(Type("Answer"), IsSend()).Once().Then(Mark("quick"), Continue())
	sc.If(FromGroup(Marked("quick"))).Then(Drop())
	show(sc)
	// Output:
	// send 2->1 Answer | filter 1 (Answer and send): mark quick, continue | filter 2 (from quick): drop
	//   3 drop 2->1 Answer
	//   4 receive 1->3 Ask
	//     send 3->1 Answer
	//   5 receive 3->1 Answer
	//     event 1 heard
	// verdict pass
}

func ExampleFinish() {
	sc := New("enough")
	sc.If(IsEvent("heard")).Then(Finish())
	show(sc)
	// Output:
	// event 1 heard | filter 1 (event heard): finish
	// verdict pass
}

func ExampleFailWith() {
	sc := New("must not answer")
	sc.If(Type("Answer"), From(3)).Then(FailWith("node 3 answered"))
	show(sc)
	// Output:
	// send 3->1 Answer | filter 1 (Answer and from 3): fail
	// verdict fail
	// scenario must not answer: node 3 answered
}

func ExampleDo() {
	sc := New("by hand")
	sc.If(Type("Ask"), To(2), IsSend()).Then(Do("drop it by hand", func(m *Moment, h *lockstep.Control) {
		h.Do(lockstep.Step{Kind: trace.Drop, Msg: m.Message.ID})
	}))
	show(sc)
	// Output:
	// send 1->2 Ask | filter 1 (Ask and to 2 and send): drop it by hand
	//     send 1->3 Ask
	//   2 drop 1->2 Ask
	//   3 receive 1->3 Ask
	//     send 3->1 Answer
	//   4 receive 3->1 Answer
	//     event 1 heard
	// verdict pass
}
