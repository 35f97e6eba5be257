package scenario_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	. "github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/trace"
)

// TestCheck feeds bad scenarios to a campaign: each is refused before the first run, with a text that names the error
// and the allowed values.
func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name  string
		build func(*Scenario)
		want  string
	}{
		{"no part at all", func(*Scenario) {}, "it has neither a filter nor a machine"},
		{"undeclared state", func(sc *Scenario) {
			m := sc.Machine()
			m.On(IsEvent("done"), "elected")
			sc.If(m.InState("electd")).Then(Drop())
		}, `machine "bad" has no state "electd", it has start, elected`},
		{"state without an edge", func(sc *Scenario) {
			m := sc.Machine()
			m.On(IsEvent("done"), "a")
			m.At("b").On(IsEvent("done"), "c")
		}, `state "b" can never be reached`},
		{"undeclared set", func(sc *Scenario) { sc.If(IsSend(), InSet("late")).Then(Drop()) },
			`set "late" is never filled: nothing does Store or Record in it`},
		{"release of a set that nothing fills", func(sc *Scenario) {
			sc.If(Type("Ask")).Then(Store("late"))
			sc.If(IsEvent("done")).Then(ReleaseAll("latte"))
		}, `filter 2 (event done): set "latte" is never filled`},
		{"undeclared counter", func(sc *Scenario) { sc.If(Count("votes").Lt(3)).Then(Drop()) },
			`counter "votes" is never changed`},
		{"counter used in two ways", func(sc *Scenario) {
			sc.If(Count("votes").Per(ByReceiver).Lt(3)).Then(Count("votes").Incr())
		}, `counter "votes" is used as "votes per receiver" and as "votes"`},
		{"unmarked node", func(sc *Scenario) { sc.If(FromGroup(Marked("leader"))).Then(Drop()) },
			`no node is ever marked "leader"`},
		{"message type that is never sent", func(sc *Scenario) { sc.If(Type("Aks")).Then(Drop()) },
			`bell has no message of type "Aks", it has Ask, Answer`},
		{"event type that is never emitted", func(sc *Scenario) { sc.If(IsEvent("finished")).Then(Finish()) },
			`bell has no event of type "finished", it has heard, done`},
		{"two machines of one name", func(sc *Scenario) {
			sc.Machine("m").On(IsEvent("done"), "a")
			sc.Machine("m").On(IsEvent("done"), "b")
		}, `two machines are called "m"`},
		{"machine of another scenario", func(sc *Scenario) {
			other := New("other").Machine()
			sc.If(other.InState(Start)).Then(Drop())
		}, `machine "other" belongs to another scenario`},
		{"no such node", func(sc *Scenario) { sc.If(From(4)).Then(Drop()) }, "node 4: the nodes are 1..3"},
		{"filter without Then", func(sc *Scenario) { sc.If(From(1)) }, "it has no Then"},
		{"two fates", func(sc *Scenario) { sc.If(From(1)).Then(Deliver(), Drop()) },
			"it decides more than once over the message: deliver, drop"},
		{"decide and continue", func(sc *Scenario) { sc.If(From(1)).Then(Drop(), Continue()) },
			"cannot let the cascade continue"},
		{"forge what is gone", func(sc *Scenario) { sc.If(From(1)).Then(Deliver(), Replace("Ask 1")) },
			"when the message is gone already"},
		{
			"First of none",
			func(sc *Scenario) { sc.If(From(1)).First(0).Then(Drop()) },
			"First(0), it must be at least 1",
		},
		{
			"Per without First",
			func(sc *Scenario) { sc.If(From(1)).Per(ByReceiver).Then(Drop()) },
			"Per needs a First or Once",
		},
		{"delay of nothing", func(sc *Scenario) { sc.If(From(1)).Then(Delay(0)) }, "a delay of 0, it must be positive"},
		{
			"chance out of range",
			func(sc *Scenario) { sc.If(WithProbability(1.5)).Then(Drop()) },
			"a probability of 1.5, allowed is [0,1]",
		},
		{"parts too large", func(sc *Scenario) {
			sc.If(FromGroup(sc.Pick("most", 4))).Then(Drop())
		}, "the parts of a partition need 4 nodes, there are 3"},
		{"empty condition", func(sc *Scenario) { sc.If(Condition{}).Then(Drop()) }, "a condition is empty"},
		{"empty action", func(sc *Scenario) { sc.If(From(1)).Then(Action{}) }, "an action is empty"},
		{"drop on an event", func(sc *Scenario) { sc.If(IsEvent("heard")).Then(Drop()) },
			`"drop" acts on a message that was just sent, but the condition holds only at an event: allowed there are actions on nodes, links, sets and memory`},
		{"drop on an arrival", func(sc *Scenario) { sc.If(IsReceive(), Type("Ask")).Then(Drop()) },
			"but the condition holds only at a receive"},
		{"store on an arrival or an event", func(sc *Scenario) {
			sc.If(IsReceive().Or(IsEvent("heard"))).Then(Store("late"))
			sc.If(IsEvent("done")).Then(ReleaseAll("late"))
		}, "but the condition holds only at a receive or an event"},
		{"record an event", func(sc *Scenario) {
			sc.If(IsEvent("heard")).Then(Record("seen"))
			sc.If(SetHas(1, "seen")).Then(Finish())
		}, `"record in seen" needs a message`},
		{"send and receive at once", func(sc *Scenario) { sc.If(IsSend(), IsReceive()).Then(Finish()) },
			"its condition can never hold: what happened cannot be a send and a receive at once"},
		{"an event from a node", func(sc *Scenario) { sc.If(IsEvent("heard"), From(1)).Then(Finish()) },
			"what happened cannot be an event and a send or a receive or a step at once"},
		{"two types at once", func(sc *Scenario) { sc.If(Type("Ask"), Type("Answer")).Then(Drop()) },
			"the type of the message cannot be Ask and Answer at once"},
		{"two senders at once", func(sc *Scenario) { sc.If(From(1), From(2, 3)).Then(Drop()) },
			"the sender cannot be 1 and 2 or 3 at once"},
		{"an edge that cannot be taken", func(sc *Scenario) {
			sc.Machine().On(IsSend().And(IsEvent("done")), "a")
		}, "the edge from start to a can never be taken"},
		{"shadowed", func(sc *Scenario) {
			sc.If(Type("Ask", "Answer")).Named("all").Then(Drop())
			sc.If(Type("Ask"), From(1)).Named("late").Then(Deliver())
		}, "filter 2 (late): it never matches: filter 1 (all) takes all that it would"},
		{"shadowed by one that does nothing to messages", func(sc *Scenario) {
			sc.If(Type("Ask")).Named("count").Then(Count("asks").Incr())
			sc.If(Type("Ask"), From(1)).Named("late").Then(Drop())
		}, "filter 2 (late): it never matches"},
		{"a request that no node offers", func(sc *Scenario) { sc.If(IsEvent("done")).Then(Request("z", Here())) },
			"bell offers no requests"},
		{"a request that no node offers is reserved", func(sc *Scenario) {
			sc.Reserve("z")
			sc.If(From(1)).Then(Drop())
		}, "bell offers no requests"},
		{"a set that is never released", func(sc *Scenario) { sc.If(From(1)).Then(Store("late")) },
			`filter 1 (from 1): what is stored in set "late" is never released: use ReleaseAll, DeliverAll or DropAll`},
		{"success without a state of it", func(sc *Scenario) {
			sc.Machine().On(IsEvent("done"), "done")
			sc.MustSucceed()
		}, "MustSucceed, but no state is one of success"},
		{"a variable of two types", func(sc *Scenario) {
			sc.If(IsEvent("done")).Then(CaptureValue(Variable[int]("n"), "its number", func(n int) int { return n }))
			sc.If(Variable[string]("n").IsSet()).Then(Finish())
		}, `variable "n" is used as int and as string: all uses must agree`},
		{"a variable that nothing sets", func(sc *Scenario) { sc.If(Variable[int]("n").IsSet()).Then(Finish()) },
			`variable "n" is never set`},
		{"no time in a state", func(sc *Scenario) {
			m := sc.Machine()
			m.On(IsEvent("done"), "a")
			sc.If(m.InStateFor(0, "a")).Then(Finish())
		}, "a time of 0 in a state, it must be positive"},
		{
			"Did about deliveries",
			func(sc *Scenario) { sc.If(Did(trace.Deliver)).Then(Finish()) },
			"use IsReceive for deliveries",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sc := New("bad")
			tt.build(sc)
			_, err := lockstep.Explore(context.Background(), bellPlan(sc))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestCheckRequests: if a system lists its requests, the error lists them.
func TestCheckRequests(t *testing.T) {
	sc := New("asking")
	sc.If(Did(trace.Start)).Then(Request("z", Only(1)))
	plan := bellPlan(sc)
	plan.System = asking()
	want := `bell offers no request "z", it offers x, y`
	if _, err := lockstep.Explore(context.Background(), plan); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

// TestNotShadowed: a filter for messages that an earlier filter lets through, now or later, is not refused.
func TestNotShadowed(t *testing.T) {
	for name, build := range map[string]func(*Scenario){
		"an earlier one with a limit":    func(sc *Scenario) { sc.If(Type("Ask")).Once().Then(Drop()) },
		"an earlier one that continues":  func(sc *Scenario) { sc.If(Type("Ask")).Then(Count("n").Incr(), Continue()) },
		"an earlier one of another type": func(sc *Scenario) { sc.If(Type("Answer")).Then(Drop()) },
		"an earlier one by chance":       func(sc *Scenario) { sc.If(WithProbability(0.5)).Then(Drop()) },
		"an earlier one in plain Go": func(sc *Scenario) {
			sc.If(Cond("text", func(*Moment) bool { return false })).Then(Drop())
		},
		"an earlier one that is left out": func(sc *Scenario) {
			sc.If(Type("Ask")).Then(Drop())
			*sc = *sc.Without(1)
		},
		"memory that changes between the two": func(sc *Scenario) {
			sc.If(Count("n").Ge(1)).Then(Drop())
			sc.If(Type("Ask")).Then(Count("n").Incr(), Continue())
			sc.If(Type("Ask"), Count("n").Ge(1)).Then(Deliver())
		},
	} {
		t.Run(name, func(t *testing.T) {
			sc := New("fine")
			build(sc)
			sc.If(Type("Ask"), From(1)).Then(Deliver())
			info, err := bell().Describe()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := sc.Fit(info); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCheckUnsupported(t *testing.T) {
	b := bell()
	b.Parse = nil
	sc := New("forging")
	sc.If(From(1)).Then(Replace("Ask 7"))
	plan := bellPlan(sc)
	plan.System = b
	if _, err := lockstep.Explore(context.Background(), plan); err == nil ||
		!strings.Contains(err.Error(), "bell does not support replace") {
		t.Errorf("error %v", err)
	}
	b.FIFO = true
	plan.System = b
	plan.Scenario = New("holding").Use(Withhold(From(1), IsEvent("done")))
	if _, err := lockstep.Explore(context.Background(), plan); err == nil ||
		!strings.Contains(err.Error(), "are FIFO") {
		t.Errorf("error %v", err)
	}
}

// TestBugsInARun has errors that appear only in a run: they end the campaign with an error, not with a finding.
func TestBugsInARun(t *testing.T) {
	for _, tt := range []struct {
		name string
		then func(*Scenario)
		want string
	}{
		{"body of another type", func(sc *Scenario) { sc.If(Body("odd", func(int) bool { return true })).Then(Drop()) },
			`"odd" is about messages of type int, but the system's are scenario_test.note`},
		{"value of another type", func(sc *Scenario) {
			sc.If(Value("done", "odd", func(string) bool { return true })).Then(Finish())
		}, `"odd" is about values of type string, but those of event done are int`},
		{"rewrite of another type", func(sc *Scenario) {
			sc.If(From(1)).Then(Rewrite("odd", func(k trace.Kind, _ lockstep.Node) trace.Kind { return k }))
		}, `"odd" is about messages of type trace.Kind`},
		{
			"forged nonsense",
			func(sc *Scenario) { sc.If(From(1)).Then(Replace("nonsense")) },
			`forged message "nonsense"`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sc := New("wrong")
			tt.then(sc)
			_, err := lockstep.Explore(context.Background(), bellPlan(sc))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestProblemsAreAllReported: one error message is enough to fix a scenario.
func TestProblemsAreAllReported(t *testing.T) {
	sc := New("bad in many ways")
	sc.If(From(9)).Then(Drop())
	sc.If(Type("Aks")).Then(Drop())
	sc.If(IsEvent("heard")).Then(Drop())
	sc.If(IsSend(), IsReceive()).Then(Finish())
	sc.If(Type("Aks"), To(1)).Then(Store("late"))
	sc.Reserve("z").MustSucceed()
	info, err := bell().Describe()
	if err != nil {
		t.Fatal(err)
	}
	var joined interface{ Unwrap() []error }
	if _, err := sc.Fit(info); !errors.As(err, &joined) || len(joined.Unwrap()) != 9 {
		t.Errorf("got %v, want all nine problems", err)
	}
}
