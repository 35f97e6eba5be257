package check

import (
	"fmt"

	"github.com/lockstep-go/lockstep/distal/syntax"
)

// Status of a condition for a rule.
type Status int

// A condition is proved from the text, watched at run time, or refused.
const (
	Proved Status = iota
	Watched
	Refuted
)

func (s Status) String() string { return [...]string{"proved", "watched at run time", "refused"}[s] }

// MarshalText writes the status as words.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Proof is what is known about one condition for one rule.
type Proof struct {
	Pos       syntax.Pos `json:"pos"`
	Condition string     `json:"condition"`
	Rule      string     `json:"rule"`
	Status    Status     `json:"status"`
	Text      string     `json:"text,omitempty"` // why, when it is not proved
}

// The conditions of Section 4.2, in plain words.
var conditionText = map[string]string{
	"condition 1": "the tag of a node only grows",
	"condition 2": "a message is sent with the tag of its sender",
	"condition 3": "a guard uses only messages of the current round or a later one",
	"condition 4": "an action reads only messages of the current round",
	"condition 5": "between a send and the next receive nothing changes unless the tag moves",
	"one message": "at most one message goes from one node to another in one round",
}

// ConditionText says in plain words what a condition demands.
func ConditionText(condition string) string { return conditionText[condition] }

// judge collects the findings of all paths of one rule.
type judge struct {
	c     *checker
	pos   syntax.Pos
	rule  string
	worst map[string]*Proof
}

func (j *judge) note(condition string, status Status, pos syntax.Pos, format string, args ...any) {
	p := j.worst[condition]
	if p.Status < status {
		p.Status, p.Pos, p.Text = status, pos, fmt.Sprintf(format, args...)
	}
}

var conditionNames = []string{"condition 1", "condition 2", "condition 3", "condition 4", "condition 5", "one message"}

// conditions decides the five conditions for init and every rule.
func (c *checker) conditions() {
	if c.prog.Phase < 0 {
		c.inferPhase()
	}
	follows := c.phaseFollows()
	c.skipped = c.skippable()
	c.judged("init", c.prog.Init.Pos, c.prog.Init.Body, nil, func(j *judge, e *symbolic) {
		j.sends(e, linear{}, -1, false)
	})
	for _, r := range c.prog.Rules {
		c.judgeRule(r, follows)
	}
}

// judged follows all paths of a body and files what visit notes about them.
func (c *checker) judged(rule string, pos syntax.Pos, body []*syntax.Stmt, start *symbolic, visit func(*judge, *symbolic)) {
	j := &judge{c: c, pos: pos, rule: rule, worst: map[string]*Proof{}}
	for _, name := range conditionNames {
		j.worst[name] = &Proof{Pos: pos, Condition: name, Rule: rule}
	}
	if start == nil {
		start = c.prog.symbolicStart(nil)
	}
	ok := c.prog.explorePaths(body, start, func(e *symbolic) {
		j.changes(e)
		visit(j, e)
	})
	if !ok {
		for _, name := range conditionNames {
			j.note(name, Watched, pos, "the action has too many paths to follow")
		}
	}
	for _, name := range conditionNames {
		c.file(*j.worst[name])
	}
}

func (c *checker) file(p Proof) {
	c.prog.Proofs = append(c.prog.Proofs, p)
	switch p.Status {
	case Watched:
		c.prog.Monitors = append(c.prog.Monitors, Monitor{p.Pos, p.Condition, p.Rule, p.Text})
	case Refuted:
		c.prog.Refused = append(c.prog.Refused, syntax.Diagnostic{Pos: p.Pos, Check: p.Condition,
			Text: fmt.Sprintf("%s breaks %s (%s): %s", p.Rule, p.Condition, conditionText[p.Condition], p.Text)})
	}
}

// judgeRule decides the conditions for one rule. follows says that the phase variable is never behind the node's tag.
func (c *checker) judgeRule(r *Rule, follows bool) {
	h := r.Decl.Rule
	var message *MessageType
	if r.Message >= 0 {
		message = c.prog.Messages[r.Message]
	}
	start := c.prog.symbolicStart(message)
	tag := c.ruleTag(r)
	if h.Guard != nil {
		start.learn(h.Guard, true)
	}
	if start.facts.absurd() {
		c.errorf(r.Pos(), "never fires", "%s can never fire: its guard contradicts itself", r.Label())
		return
	}
	known := start.facts
	c.judged(r.Label(), r.Pos(), r.Decl.Body, start, func(j *judge, e *symbolic) {
		if r.Plain() {
			own := linear{}
			if c.prog.Phase >= 0 {
				own = linear{"var " + c.prog.Vars[c.prog.Phase].Name, 0}
			}
			j.sends(e, own, -1, c.prog.Phase >= 0 && follows)
			if e.changed != nil && len(e.sends) == 0 {
				j.note("condition 5", Refuted, e.changed.Pos, "a timeout changes the state without sending into another round")
			}
			return
		}
		j.sends(e, tag, r.Round, true)
		j.guard(r, known, tag, follows)
		j.reads(r)
	})
}

// changes looks for updates after a send (condition 5).
func (j *judge) changes(e *symbolic) {
	if e.late != nil {
		j.note("condition 5", Refuted, e.late.Pos, "'%s' comes after a send", e.late)
	}
}

// sends looks at the tags along a path (conditions 1 and 2, one message). It begins in (phase, round); when known is not
// set nothing is known about where it begins.
func (j *judge) sends(e *symbolic, phase linear, round int, known bool) {
	prog := j.c.prog
	for i, s := range e.sends {
		fs := e.facts
		if known || i > 0 {
			ahead := fs.less(phase, s.phase) || fs.noMore(phase, s.phase) && (s.round > round && round >= 0)
			same := i > 0 && fs.equal(phase, s.phase) && s.round == round
			back := fs.less(s.phase, phase) || round >= 0 && fs.equal(phase, s.phase) && s.round <= round
			switch {
			case ahead || same:
			case back:
				j.note("condition 1", Refuted, s.stmt.Pos, "'%s' goes back to, or stays in, a round that the node is already in", s.stmt)
			default:
				j.note("condition 1", Watched, s.stmt.Pos, "the tag of '%s' could not be proved to grow", s.stmt)
			}
		} else if prog.Init.Name != j.rule {
			j.note("condition 1", Watched, s.stmt.Pos, "the tag of '%s' could not be proved to grow", s.stmt)
		}
		phase, round = s.phase, s.round
		j.ownPhase(fs, s)
		j.once(e, i)
	}
}

func (j *judge) ownPhase(fs facts, s sentAt) {
	prog := j.c.prog
	if prog.Phase < 0 {
		return // the tag is an auxiliary variable, set before each send
	}
	name := prog.Vars[prog.Phase].Name
	switch {
	case fs.equal(s.phase, s.own):
	case fs.less(s.phase, s.own) || fs.less(s.own, s.phase):
		j.note("condition 2", Refuted, s.stmt.Pos, "'%s' carries a phase other than %s", s.stmt, name)
	default:
		j.note("condition 2", Watched, s.stmt.Pos, "the phase of '%s' could not be proved to be %s", s.stmt, name)
	}
}

// once compares a send with the earlier ones on its path.
func (j *judge) once(e *symbolic, i int) {
	s := e.sends[i]
	if s.loop {
		j.note("one message", Watched, s.stmt.Pos, "'%s' stands in a loop", s.stmt)
	}
	for _, old := range e.sends[:i] {
		if old.round != s.round || e.facts.less(old.phase, s.phase) || e.facts.less(s.phase, old.phase) {
			continue
		}
		a, b := old.stmt.Expr.String(), s.stmt.Expr.String()
		if e.facts.equal(old.phase, s.phase) && (a == b || a == "all" || b == "all") {
			j.note("one message", Refuted, s.stmt.Pos, "'%s' follows '%s', which goes to the same receivers in the same round", s.stmt, old.stmt)
		} else {
			j.note("one message", Watched, s.stmt.Pos, "'%s' and '%s' may go to the same receiver", old.stmt, s.stmt)
		}
	}
}

// guard decides condition 3: the tag of the messages is not before the node's own.
func (j *judge) guard(r *Rule, known facts, tag linear, follows bool) {
	prog := j.c.prog
	if prog.Phase < 0 && !demandsTimely(r.Decl.Rule.Guard) && !r.Decl.Rule.Timeout {
		j.note("condition 3", Watched, r.Pos(), "no variable is known to hold the node's phase")
		return
	}
	if prog.Phase < 0 {
		return
	}
	own := linear{"var " + prog.Vars[prog.Phase].Name, 0}
	name := prog.Vars[prog.Phase].Name
	switch {
	case r.Decl.Rule.Timeout || demandsTimely(r.Decl.Rule.Guard):
		// Timely messages only, or a timeout, which cannot fire in a round that the node has passed.
	case known.less(tag, own):
		j.note("condition 3", Refuted, r.Pos(), "the guard admits only messages of phases before %s", name)
	case follows && known.less(own, tag):
	case follows && known.noMore(own, tag) && !j.c.skipped[r.Round]:
	case follows && known.noMore(own, tag):
		j.note("condition 3", Watched, r.Pos(), "within phase %s the node may have passed round %s", name, prog.Rounds[r.Round])
	case known.noMore(own, tag):
		j.note("condition 3", Watched, r.Pos(), "%s may lag behind the node's tag", name)
	default:
		j.note("condition 3", Watched, r.Pos(), "the guard does not say that the message's phase is at least %s", name)
	}
}

// demandsTimely says whether a guard holds only for timely messages.
func demandsTimely(g *syntax.Expr) bool {
	switch {
	case g == nil:
		return false
	case g.Kind == syntax.BinaryExpr && g.Name == "and":
		return demandsTimely(g.Args[0]) || demandsTimely(g.Args[1])
	}
	return g.Kind == syntax.NameExpr && g.Name == "timely"
}

// reads decides condition 4: the mailbox is read only through the rule's own messages.
func (j *judge) reads(r *Rule) {
	prog := j.c.prog
	look := func(e *syntax.Expr) {
		syntax.Walk(e, func(x *syntax.Expr) {
			if x.Kind != syntax.CallExpr || prog.Info.Refs[x] != (Ref{RefBuiltin, BuiltinReceived}) {
				return
			}
			m := prog.Messages[prog.Info.Refs[x.Args[0]].Index]
			if m.Round != r.Round {
				j.note("condition 4", Refuted, x.Pos, "%s reads messages of round %s in a rule of round %s", x, prog.Rounds[m.Round], prog.Rounds[r.Round])
			} else {
				j.note("condition 4", Watched, x.Pos, "%s may hold messages of other phases", x)
			}
		})
	}
	look(r.Decl.Rule.Guard)
	prog.eachStmt(r.Decl.Body, func(s *syntax.Stmt) { s.Exprs(look) })
}

// inferPhase takes as phase variable the first int variable that every send carries as its phase.
func (c *checker) inferPhase() {
	for i, v := range c.prog.Vars {
		if v.Type.Kind != Int {
			continue
		}
		c.prog.Phase = i
		fits, sends := true, 0
		c.everyPath(func(_ *Rule, e *symbolic) {
			for _, s := range e.sends {
				sends++
				fits = fits && e.facts.equal(s.phase, s.own)
			}
		})
		if fits && sends > 0 {
			return
		}
	}
	c.prog.Phase = -1
}

// phaseFollows says whether, after every action, the phase variable is at least the phase of the node's tag. Then a guard
// that compares with the variable compares with the tag.
func (c *checker) phaseFollows() bool {
	if c.prog.Phase < 0 {
		return false
	}
	ok := true
	complete := c.everyPath(func(r *Rule, e *symbolic) {
		end := e.vars[c.prog.Phase]
		switch {
		case len(e.sends) > 0:
			ok = ok && e.facts.noMore(e.sends[len(e.sends)-1].phase, end)
		case r == nil:
		case r.Plain():
			ok = ok && e.facts.noMore(linear{"var " + c.prog.Vars[c.prog.Phase].Name, 0}, end)
		default:
			ok = ok && e.facts.noMore(c.ruleTag(r), end)
		}
	})
	return ok && complete
}

// skippable says for each round whether a node can come to rest past it, in the phase that its phase variable names,
// without having acted in it. Only then can a message of that round be too old and still pass a guard that compares
// phases: a node acts once in a round, and a message of an earlier phase does not pass.
func (c *checker) skippable() []bool {
	out := make([]bool, len(c.prog.Rounds))
	if c.prog.Phase < 0 {
		return out
	}
	complete := c.everyPath(func(r *Rule, e *symbolic) {
		var phase linear
		own, last := -1, -1
		if r != nil {
			own, last = r.Round, r.Round
			phase = c.ruleTag(r)
		}
		if len(e.sends) > 0 {
			s := e.sends[len(e.sends)-1]
			phase, last = s.phase, s.round
		}
		if e.facts.less(phase, e.vars[c.prog.Phase]) {
			return // the node is in a later phase already
		}
		for round := range out {
			out[round] = out[round] || round < last && round != own
		}
	})
	for round := range out {
		out[round] = out[round] || !complete
	}
	return out
}

// ruleTag is the symbolic phase of a rule's messages, or of the round in which a timeout waits.
func (c *checker) ruleTag(r *Rule) linear {
	h := r.Decl.Rule
	if h.Tag == nil {
		return linear{"tag", 0}
	}
	start := c.prog.symbolicStart(nil)
	v, ok := start.value(h.Tag.Phase)
	if !ok {
		return linear{"unknown phase", 0}
	}
	return v
}

func (c *checker) everyPath(visit func(*Rule, *symbolic)) bool {
	ok := c.prog.explorePaths(c.prog.Init.Body, c.prog.symbolicStart(nil), func(e *symbolic) { visit(nil, e) })
	for _, r := range c.prog.Rules {
		var m *MessageType
		if r.Message >= 0 {
			m = c.prog.Messages[r.Message]
		}
		start := c.prog.symbolicStart(m)
		if g := r.Decl.Rule.Guard; g != nil {
			start.learn(g, true)
		}
		ok = c.prog.explorePaths(r.Decl.Body, start, func(e *symbolic) { visit(r, e) }) && ok
	}
	return ok
}
