package cover

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// A PartitionSequence is a course of events: stages that follow each other directly, without a stage in
// between, such as two partitions one after the other with no healing. It is one value for
// three uses: Probability says how probable it is, Spaces says what a test that samples it draws,
// and as an Goal it finds out whether a run had it. ParsePartitionSequence reads it from text.
type PartitionSequence []StageGoal

// A StageGoal is a stage to be covered: a partition with certain sides and, while it is in force,
// the wanted operations contiguously. Without sides the network is whole.
type StageGoal struct {
	Sides []Part
	Ops   []Want
}

// A Part is a side of a stage's partition: the nodes that must be on it, and how many nodes it has. The
// sides of a stage are different sides of the partition, which may have more of them.
type Part struct {
	Nodes Set
	Roles []string // all nodes with these roles
	Size  int      // how many nodes; 0 for any number, Minority or Majority
}

// A Want is an operation that a StageGoal asks for.
type Want struct {
	Name string // the Name of the Op
	At   int    // the stage's side on which it is asked, from 1; 0 for any node, Minority or Majority
}

// Sizes of sides relative to the nodes that are not on the bridge.
const (
	Minority = -1 // less than half
	Majority = -2 // more than half
)

// limits of a partition sequence
const (
	maxStageGoals = 16
	maxWants      = 16
	maxParts      = 8
)

// Check refuses what no run can do.
func (s PartitionSequence) Check() error {
	if err := inRange("stages of the partition sequence", len(s), 1, maxStageGoals, ""); err != nil {
		return err
	}
	for i, goal := range s {
		if i > 0 && len(goal.Sides) == 0 && len(s[i-1].Sides) == 0 {
			return &RangeError{"stage", i + 1, "no healed network after a healed network, which is one stage"}
		}
		if err := goal.check(); err != nil {
			return fmt.Errorf("stage %d of the partition sequence: %w", i+1, err)
		}
	}
	return nil
}

func (s StageGoal) check() error {
	if len(s.Sides) == 1 || len(s.Sides) > maxParts {
		return &RangeError{"sides", len(s.Sides),
			fmt.Sprintf("2 to %d, or none for the whole network; * is a side of any nodes", maxParts)}
	}
	if err := inRange("operations", len(s.Ops), 0, maxWants, ""); err != nil {
		return err
	}
	var seen Set
	for _, p := range s.Sides {
		if p.Nodes&seen != 0 {
			return &RangeError{"nodes on two sides", p.Nodes & seen, "each node on one side"}
		}
		seen |= p.Nodes
		if err := inRange("size of a side", p.Size, Majority, MaxNodes, ""); err != nil {
			return err
		}
		for _, role := range p.Roles {
			if !isRole(role) {
				return &RangeError{"role", strconv.Quote(role),
					"a word of letters, digits and hyphens that does not read as a size or a node"}
			}
		}
	}
	for _, w := range s.Ops {
		if err := inRange("side of an operation", w.At, Majority, len(s.Sides), "the sides of the stage"); err != nil {
			return err
		}
		if w.Name == "" || w.Name != strings.TrimSpace(w.Name) || strings.ContainsAny(w.Name, ",;:@|") ||
			strings.Contains(w.Name, " then ") {
			return &RangeError{"operation", strconv.Quote(w.Name), "a name without , ; : @ | and without the word then"}
		}
	}
	return nil
}

// Roles lists the roles that the partition sequence names, in the order of their first mention.
func (s PartitionSequence) Roles() []string {
	var roles []string
	for _, goal := range s {
		for _, p := range goal.Sides {
			for _, role := range p.Roles {
				if !slices.Contains(roles, role) {
					roles = append(roles, role)
				}
			}
		}
	}
	return roles
}

// Operations lists the names of the operations that the partition sequence wants, likewise.
func (s PartitionSequence) Operations() []string {
	var names []string
	for _, goal := range s {
		for _, w := range goal.Ops {
			if !slices.Contains(names, w.Name) {
				names = append(names, w.Name)
			}
		}
	}
	return names
}

// In reports whether consecutive stages of the run cover the stages.
func (s PartitionSequence) In(run []Stage) bool {
	return len(s) > 0 && contains(len(run), len(s), func(i, j int) bool { return s[j].covered(run[i]) })
}

// Tests is the number of times, side by side, that stages of the run are partitions from
// which the partition sequence's stages are drawn.
func (s PartitionSequence) Tests(run []Stage) int {
	tests := 0
	for i := 0; len(s) > 0 && i+len(s) <= len(run); i++ {
		if contains(len(s), len(s), func(j, _ int) bool { return s[j].alike(run[i+j].Partition) }) {
			tests++
			i += len(s) - 1
		}
	}
	return tests
}

// alike reports whether a partition has the number of sides, and the sizes, of the stage.
func (s StageGoal) alike(p Partition) bool {
	if p.Nodes() == 0 {
		return false
	}
	space, err := s.space(p.Nodes(), false)
	return err == nil && space.Contains(p) == nil
}

func (s StageGoal) covered(stage Stage) bool {
	for sides := range s.places(stage.Partition, stage.role) {
		if contains(len(stage.Ops), len(s.Ops), func(i, j int) bool {
			op, want := stage.Ops[i], s.Ops[j]
			return op.Name == want.Name && (want.At == 0 || stage.Partition.asked(want.At, sides).Has(op.Node))
		}) {
			return true
		}
	}
	return false
}

// Covers reports whether the partition has the stage's sides, with roles played as the function
// says. It leaves operations aside.
func (s StageGoal) Covers(p Partition, role func(string) Set) bool {
	for range s.places(p, role) {
		return true
	}
	return false
}

// asked is the set of the nodes that an operation of a stage may be asked of, whose sides are
// these.
func (p Partition) asked(at int, sides []Set) Set {
	var nodes Set
	switch {
	case at > 0:
		return sides[at-1]
	case at == 0:
		return firstNodes(p.Nodes())
	}
	for _, side := range p.Sides() {
		if p.sized(side, at) {
			nodes |= side
		}
	}
	return nodes
}

// sized reports whether a side has the size.
func (p Partition) sized(side Set, size int) bool {
	switch size {
	case 0:
		return true
	case Minority:
		return p.minority(side.min())
	case Majority:
		return p.majority(side.min())
	}
	return side.Len() == size
}

// places yields the ways in which the stage's sides are sides of the partition: the side of
// each part. There is one, with no sides, for the whole network where the stage wants that.
func (s StageGoal) places(p Partition, role func(string) Set) iter.Seq[[]Set] {
	return func(yield func([]Set) bool) {
		if len(s.Sides) == 0 || p.Len() < 2 {
			if len(s.Sides) == 0 && p.Len() == 1 {
				yield(nil)
			}
			return
		}
		members := make([]Set, len(s.Sides))
		for i, part := range s.Sides {
			members[i] = part.Nodes
			for _, name := range part.Roles {
				nodes := role(name)
				if nodes == 0 {
					return // no node plays it
				}
				members[i] |= nodes
			}
		}
		s.place(p, members, p.Sides(), nil, yield)
	}
}

// place chooses a side for the next part, of those that are left; taken ones are 0.
func (s StageGoal) place(p Partition, members, left, chosen []Set, yield func([]Set) bool) bool {
	i := len(chosen)
	if i == len(s.Sides) {
		return yield(chosen)
	}
	for j, side := range left {
		if side == 0 || members[i]&^side != 0 || !p.sized(side, s.Sides[i].Size) {
			continue
		}
		left[j] = 0
		on := s.place(p, members, left, append(chosen, side), yield)
		left[j] = side
		if !on {
			return false
		}
	}
	return true
}

// Spaces lists what the partitions of the stages are drawn from: those with as many sides as
// the stage has, of its sizes where they are numbers for all sides but one. Where they are
// not, balanced takes partitions whose sides differ by at most one node, or for two sides of
// an even number of nodes by two.
func (s PartitionSequence) Spaces(nodes int, balanced bool) ([]Space, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	spaces := make([]Space, len(s))
	for i, goal := range s {
		space, err := goal.space(nodes, balanced)
		if err != nil {
			return nil, fmt.Errorf("stage %d of the partition sequence: %w", i+1, err)
		}
		spaces[i] = space
		if i > 0 && spaces[i-1].leavesNone(space) {
			return nil,
				&RangeError{"stage", i + 1, "another partition than that of the stage before, and there is only one of its kind"}
		}
	}
	return spaces, nil
}

// leavesNone reports whether a partition of the space may leave no other one of the next space
// to be drawn.
func (s Space) leavesNone(next Space) bool {
	if count := next.count(); !count.IsInt64() || count.Int64() != 1 {
		return false
	}
	only, err := next.All()
	if err != nil {
		return false
	}
	for p := range only {
		return s.Contains(p) == nil
	}
	return false
}

func (s StageGoal) space(nodes int, balanced bool) (Space, error) {
	k := max(len(s.Sides), 1)
	space := Uniform(nodes, k)
	if balanced && k == 2 {
		space = Semibalanced(nodes)
	} else if balanced {
		space = Balanced(nodes, k)
	}
	sizes := make([]int, 0, k)
	sum := 0
	for _, p := range s.Sides {
		if p.Size > 0 {
			sizes = append(sizes, p.Size)
			sum += p.Size
		}
	}
	if len(sizes) == k-1 && len(sizes) > 0 {
		sizes = append(sizes, nodes-sum)
	}
	if len(sizes) == k {
		space = Space{Nodes: nodes, Blocks: k, Sizes: sizes}
	}
	return space, space.check()
}

// String writes the partition sequence as ParsePartitionSequence reads it.
func (s PartitionSequence) String() string {
	goals := make([]string, len(s))
	for i, goal := range s {
		goals[i] = goal.String()
	}
	return strings.Join(goals, " then ")
}

// String writes the stage, as in "leader(minority)|*: write 1@2; read@1".
func (s StageGoal) String() string {
	text := "healed"
	if len(s.Sides) > 0 {
		parts := make([]string, len(s.Sides))
		for i, p := range s.Sides {
			parts[i] = p.String()
		}
		text = strings.Join(parts, "|")
	}
	separator := ": "
	for _, w := range s.Ops {
		text += separator + w.Name
		separator = "; "
		if w.At != 0 {
			text += "@" + sizeText(w.At)
		}
	}
	return text
}

// String writes the side: nodes and roles with plus signs between them, then the size in
// brackets; the size alone, or a star, where it names no node.
func (p Part) String() string {
	var members []string
	for _, n := range p.Nodes.Nodes() {
		members = append(members, "n"+strconv.Itoa(n))
	}
	text := strings.Join(append(members, p.Roles...), "+")
	switch {
	case text == "" && p.Size == 0:
		return "*"
	case text == "":
		return sizeText(p.Size)
	case p.Size != 0:
		text += "(" + sizeText(p.Size) + ")"
	}
	return text
}

func sizeText(size int) string {
	switch size {
	case Minority:
		return "minority"
	case Majority:
		return "majority"
	}
	return strconv.Itoa(size)
}

// ParsePartitionSequence reads a partition sequence: stages with the word "then" between them, each "healed" or sides
// with bars between them, and after a colon operations with semicolons between them.
//
//	2|2 then 1|3
//	leader+zookeeper(2)|*(2): write then leader(1)|*: write@2
//	chronos|zookeeper: job then healed: job
//	n1+n4(minority)|*: write 1@2; read@1
//
// On a side are nodes (n1), roles (any other word) and, in brackets or alone, the size: a
// number, minority or majority. A star is a side of any nodes. An operation is asked of any
// node, or at the side with the number after the @, or in the minority or the majority.
func ParsePartitionSequence(text string) (PartitionSequence, error) {
	if strings.Contains(text, ",") {
		return nil, &RangeError{"partition sequence", strconv.Quote(text),
			"no comma: sides are separated by |, operations by ;"}
	}
	var sequence PartitionSequence
	for part := range strings.SplitSeq(text, " then ") {
		goal, err := parseStageGoal(part)
		if err != nil {
			return nil, fmt.Errorf("stage %d of the partition sequence: %w", len(sequence)+1, err)
		}
		sequence = append(sequence, goal)
	}
	return sequence, sequence.Check()
}

func parseStageGoal(text string) (StageGoal, error) {
	var goal StageGoal
	division, ops, _ := strings.Cut(text, ":")
	if division = strings.TrimSpace(division); division == "" {
		return goal, &RangeError{"sides", `""`, "healed, or sides as in leader|* or 2|2"}
	}
	if division != "healed" {
		for side := range strings.SplitSeq(division, "|") {
			part, err := parsePart(strings.TrimSpace(side))
			if err != nil {
				return goal, err
			}
			goal.Sides = append(goal.Sides, part)
		}
	}
	if ops = strings.TrimSpace(ops); ops == "" {
		return goal, nil
	}
	for op := range strings.SplitSeq(ops, ";") {
		name, place, at := strings.Cut(op, "@")
		want := Want{Name: strings.TrimSpace(name)}
		if at {
			var err error
			if want.At, err = parseSize("side of an operation", strings.TrimSpace(place)); err != nil {
				return goal, err
			}
		}
		goal.Ops = append(goal.Ops, want)
	}
	return goal, nil
}

func parsePart(text string) (Part, error) {
	var part Part
	if text == "*" {
		return part, nil
	}
	members, size, sized := strings.Cut(text, "(")
	if sized {
		inner, closed := strings.CutSuffix(size, ")")
		if !closed {
			return part, &RangeError{"side", strconv.Quote(text), "a size in brackets at the end, as in leader(2)"}
		}
		var err error
		if part.Size, err = parseSize("size of a side", inner); err != nil {
			return part, err
		}
		if members == "*" {
			return part, nil
		}
	} else if n, err := parseSize("size of a side", text); err == nil {
		part.Size = n
		return part, nil
	}
	for word := range strings.SplitSeq(members, "+") {
		word = strings.TrimSpace(word)
		if n, ok := nodeOf(word); ok {
			set, err := SetOf(n)
			if err != nil {
				return part, err
			}
			part.Nodes |= set
			continue
		}
		if !isRole(word) {
			return part, &RangeError{"side", strconv.Quote(text), "nodes (n1) and roles with + between them, a size, or *"}
		}
		part.Roles = append(part.Roles, word)
	}
	return part, nil
}

func parseSize(what, text string) (int, error) {
	switch text {
	case "minority":
		return Minority, nil
	case "majority":
		return Majority, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > MaxNodes {
		return 0, &RangeError{what, strconv.Quote(text), fmt.Sprintf("1 to %d, minority or majority", MaxNodes)}
	}
	return n, nil
}

// nodeOf reads n1 as node 1.
func nodeOf(word string) (int, bool) {
	digits, ok := strings.CutPrefix(word, "n")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil
}

// isRole reports whether a word is a role in the text of a partition sequence.
func isRole(word string) bool {
	for _, c := range word {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	_, isNode := nodeOf(word)
	_, notSize := parseSize("", word)
	return word != "" && !isNode && notSize != nil && word != "healed" && word != "then"
}
