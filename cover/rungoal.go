package cover

import (
	"fmt"
	"strings"
)

// An Op is an operation that a client asked of a node.
type Op struct {
	Name string // what was asked, as in "read" or "write 1"
	Node int    // of which node; 0 if that does not matter
}

// A Role is a part that some nodes play for the time being.
type Role struct {
	Name  string // as in "leader"
	Nodes Set
}

// A Stage is a part of a run during which nodes heard each other in one way. A healed
// network is a partition with one side.
type Stage struct {
	Partition Partition
	// Links is set where the network was not a partition, which then is the zero Partition
	// and covers no goal.
	Links Links
	Ops   []Op   // the operations asked meanwhile, in their order
	Roles []Role // the roles of the nodes when the partition came into force; nodes may have several
}

// role is the set of the nodes with a role.
func (s Stage) role(name string) Set {
	var nodes Set
	for _, r := range s.Roles {
		if r.Name == name {
			nodes |= r.Nodes
		}
	}
	return nodes
}

// An Goal is a goal for a whole run: a PartitionGoal, a RoleGoal, a Sequence, a PartitionSequence, a OneWayCut or an
// IndirectPath.
type Goal interface {
	fmt.Stringer
	// In reports whether the run covers the goal.
	In(run []Stage) bool
	// Tests is how many independent tests of such a goal the run is worth in the
	// sense of the theorems.
	Tests(run []Stage) int
}

// In reports whether a partition of the run covers the goal.
func (g PartitionGoal) In(run []Stage) bool {
	for _, stage := range run {
		if g.CoveredBy(stage.Partition) {
			return true
		}
	}
	return false
}

// Tests is the number of stages with more than one side.
func (g PartitionGoal) Tests(run []Stage) int {
	tests := 0
	for _, stage := range run {
		if stage.Partition.Len() > 1 {
			tests++
		}
	}
	return tests
}

// A RoleGoal is a goal about roles instead of nodes, such as the leader in a
// minority. It is resolved again in each stage.
type RoleGoal struct {
	Kind Kind
	A, B string // the roles whose nodes are the sets A and B of the PartitionGoal
}

// PartitionGoal resolves the roles; ok is false if no node plays one of them.
func (r RoleGoal) PartitionGoal(stage Stage) (goal PartitionGoal, ok bool) {
	goal = PartitionGoal{Kind: r.Kind, A: stage.role(r.A), B: stage.role(r.B)}
	return goal, goal.A != 0 && (goal.B != 0 || r.Kind != Separates)
}

// In reports whether a stage of the run covers the goal with its own roles.
func (r RoleGoal) In(run []Stage) bool {
	for _, stage := range run {
		if goal, ok := r.PartitionGoal(stage); ok && goal.CoveredBy(stage.Partition) {
			return true
		}
	}
	return false
}

// Tests is the number of stages with more than one side in which the roles are played by
// nodes for which a partition into as many sides could cover the goal: four followers of
// five nodes are never in the smaller of two sides.
func (r RoleGoal) Tests(run []Stage) int {
	tests := 0
	for _, stage := range run {
		if goal, ok := r.PartitionGoal(stage); ok && stage.Partition.Len() > 1 && goal.possible(stage.Partition) {
			tests++
		}
	}
	return tests
}

// String writes the goal with the names of the roles.
func (r RoleGoal) String() string {
	switch r.Kind {
	case Splits:
		return "split the nodes of " + r.A
	case Separates:
		return "separate " + r.A + " from " + r.B
	case Isolates:
		return "isolate " + r.A + " in a minority"
	}
	return "anything"
}

// A Sequence is a contiguous sequence of operations anywhere in a run, no matter
// which partitions are in force. An Op with node 0 stands for any node.
type Sequence []Op

// In looks for the sequence among all operations of the run.
func (s Sequence) In(run []Stage) bool {
	var ops []Op
	for _, stage := range run {
		ops = append(ops, stage.Ops...)
	}
	return contains(len(ops), len(s), func(i, j int) bool {
		return ops[i].Name == s[j].Name && (s[j].Node == 0 || ops[i].Node == s[j].Node)
	})
}

// Tests is the number of whole blocks of the length of the sequence, as in the proof
// of Theorem 3.2.
func (s Sequence) Tests(run []Stage) int {
	ops := 0
	for _, stage := range run {
		ops += len(stage.Ops)
	}
	return ops / max(len(s), 1)
}

// String lists the operations.
func (s Sequence) String() string {
	names := make([]string, len(s))
	for i, op := range s {
		names[i] = op.Name
		if op.Node != 0 {
			names[i] += fmt.Sprint(" at ", op.Node)
		}
	}
	return strings.Join(names, ", ")
}

// contains reports whether a pattern of length k matches somewhere in n items.
func contains(n, k int, same func(item, pattern int) bool) bool {
	for start := 0; start+k <= n; start++ {
		matched := 0
		for matched < k && same(start+matched, matched) {
			matched++
		}
		if matched == k {
			return true
		}
	}
	return false
}
