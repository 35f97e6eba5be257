// Package scenario guides a search with filters and state machines, after "A Domain
// Specific Language for Testing Consensus Implementations" (Drăgoi, Enea, Nagendra,
// Srivas), which calls the language Netrix.
//
// A [Scenario] says what it cares about and leaves everything else to the strategy:
//
//	sc := scenario.New("ReVote")
//	election := sc.Machine()
//	election.On(scenario.IsEvent("leader"), "elected").MarkSuccess()
//	sc.If(scenario.Type("Vote"), scenario.From(4), election.InState("start")).Then(scenario.Store("late"))
//	sc.If(scenario.IsEvent("leader")).Then(scenario.ReleaseAll("late"))
//
// # Moments
//
// A run is seen as a sequence of moments. Every step is one, unless it delivers a
// message: then the moment is that the message is received. What the step caused
// follows: first each event, then each message sent.
// The copy of a duplicated message is no moment when it appears, only when it is
// received.
//
// At each moment first the machines take at most one edge each, in the order in which
// they were made. Then the filters are gone through in order, and the first whose
// condition holds is carried out; the others do not see the moment. Where no filter
// matches, a message is the strategy's.
//
// # What becomes of a message
//
// A filter decides over a message only by saying so: [Deliver], [Drop], [Store],
// [Delay], [DelayUntil], or [Pass], which leaves it to the strategy without asking
// further filters. A filter that says none of these takes nothing away: the message is
// the strategy's. A filter with an action on a message matches only at the moment that
// a message is sent and in flight, whatever its condition says.
//
// # Vacuity
//
// A scenario counts for each filter how often it matched and how often it acted, for
// each state how often it was reached, and in how many runs it succeeded. A run in which
// no filter acted is vacuous, and [lockstep.Result.VacuousParts] names the filters and
// states that never took part in a campaign.
package scenario
