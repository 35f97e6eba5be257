// Package scenario guides the exploration of runs with filters and state machines. It follows "A Domain Specific
// Language for Testing Consensus Implementations" (Drăgoi, Enea, Nagendra, Srivas), which calls the language Netrix.
//
// A [Scenario] controls some choices and leaves all others to the strategy:
//
//	sc := scenario.New("ReVote")
//	election := sc.Machine()
//	election.On(scenario.IsEvent("leader"), "elected").MarkSuccess()
//	sc.If(scenario.Type("Vote"), scenario.From(4), election.InState("start")).Then(scenario.Store("late"))
//	sc.If(scenario.IsEvent("leader")).Then(scenario.ReleaseAll("late"))
//
// # Moments
//
// A run is seen as a sequence of moments. Every step is one; for a delivery, the moment is the receipt of the
// message. The effects of the step follow: first each event, then each message sent. A duplicate of a message is a
// moment only when it is received, not when it appears.
//
// At each moment first the machines take at most one edge each, in the order in which they were made. Then the
// director evaluates the filters in order and carries out the first whose condition holds; the others do not see the
// moment. This is the cascade. If no filter matches, the strategy controls the message.
//
// # The fate of a message
//
// Only these actions of a filter decide over a message: [Deliver], [Drop], [Store], [Delay], [DelayUntil], or [Pass],
// which leaves it to the strategy without asking further filters. A filter without any of these leaves the message to
// the strategy. A filter with an action on a message matches only at the moment when a message is sent and in flight,
// whatever its condition says.
//
// # Memory
//
// A scenario remembers facts about a run under names that its author chooses. All of them are empty when a run begins:
//
//   - a set is a list of messages. [Store] puts a message into a set and holds it back, [Record] only puts it there.
//     [ReleaseAll], [DeliverAll] and [DropAll] empty a set;
//   - a [Counter] is a number, a [Var] is a value of a message or an event, and a mark ([Mark]) is a node.
//
// # Vacuity
//
// A scenario counts for each filter how often it matched and how often it acted, and for each state how often it was
// reached. It also counts the runs in which it succeeded. A run in which no filter acted is vacuous: its pass says
// nothing. The method VacuousParts of [lockstep.Result] names the filters that never acted in a whole campaign, and the
// states that were never reached.
package scenario
