package scenario

import (
	"fmt"

	"github.com/lockstep-go/lockstep"
)

// IsolateWhile loses all messages from and to a group while the condition holds. Unlike the action Isolate, it needs
// no moment to begin or to end.
func IsolateWhile(g Group, while Condition) Piece {
	return func(s *Scenario) {
		s.If(while, Any(FromGroup(g), ToGroup(g))).Named("isolate " + g.text).Then(Drop())
	}
}

// BreakLinks loses all messages between each given pair of nodes, in both directions.
func BreakLinks(pairs ...[2]lockstep.Node) Piece {
	return func(s *Scenario) {
		for _, p := range pairs {
			s.If(Link(p[0], p[1])).Named(fmt.Sprintf("break link %d-%d", p[0], p[1])).Then(Drop())
		}
	}
}

// PartitionWhile loses all messages between every two of the groups while the condition holds.
func PartitionWhile(while Condition, groups ...Group) Piece {
	return func(s *Scenario) {
		for i := range groups {
			for j := range i {
				s.If(while, Between(groups[j], groups[i])).
					Named(fmt.Sprintf("part %s from %s", groups[j].text, groups[i].text)).Then(Drop())
			}
		}
	}
}

// Withhold keeps matching messages from the strategy until a condition holds, and then leaves them to it. Later matches
// are not withheld.
func Withhold(what, until Condition) Piece {
	return func(s *Scenario) {
		set := fmt.Sprintf("withheld %d", len(s.filters)+1)
		released := Count(set + " released")
		s.If(until, released.Eq(0)).Named("release: "+until.text).Then(released.Incr(), ReleaseAll(set), Continue())
		s.If(what, released.Eq(0)).Named("withhold: " + what.text).Then(Store(set))
	}
}

// DropFirst loses the first k matching messages, for each key.
func DropFirst(k int, what Condition, per Key) Piece {
	return func(s *Scenario) {
		s.If(what).
			Named(fmt.Sprintf("drop the first %d per %s: %s", k, per.text, what.text)).
			First(k).
			Per(per).
			Then(Drop())
	}
}

// AtMost leaves the first k matching messages, for each key, to the strategy and loses all others.
func AtMost(k int, what Condition, per Key) Piece {
	return func(s *Scenario) {
		s.If(what).
			Named(fmt.Sprintf("pass the first %d per %s: %s", k, per.text, what.text)).
			First(k).
			Per(per).
			Then(Pass())
		s.If(what).Named("drop: " + what.text).Then(Drop())
	}
}
