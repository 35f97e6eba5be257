package check

import (
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep/distal/core"
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
	Pos       syntax.Pos     `json:"pos"`
	Condition core.Condition `json:"condition"`
	Rule      string         `json:"rule"`
	Status    Status         `json:"status"`
	Text      string         `json:"text,omitempty"` // why, when it is not proved
	at        syntax.Pos     // of the rule
}

// check collects the findings of all paths of one rule.
type verifier struct {
	c     *checker
	pos   syntax.Pos
	rule  string
	worst map[core.Condition]*Proof
}

func (v *verifier) note(condition core.Condition, status Status, pos syntax.Pos, format string, args ...any) {
	p := v.worst[condition]
	if p.Status < status {
		p.Status, p.Pos, p.Text = status, pos, fmt.Sprintf(format, args...)
	}
}

// conditions decides the five conditions for init and every rule.
func (c *checker) conditions() {
	if c.prog.Phase < 0 {
		c.inferPhase()
	}
	follows := c.phaseFollows()
	c.skipped = c.skippable()
	start := symbolicStart(c.prog.Program, nil)
	c.verify("init", c.prog.Init.Pos, c.prog.Init.Body, start, func(j *verifier, e *symbolic) {
		j.sends(e, core.Linear{}, -1, false)
		j.mailbox(c.prog.Init.Body, "init")
	})
	for i, r := range c.prog.Rules {
		c.verifyRule(r, c.prog.heads[i], follows)
	}
}

// checked follows all paths of a body and files what visit notes about them.
func (c *checker) verify(rule string, pos syntax.Pos, body []core.Stmt, start *symbolic,
	visit func(*verifier, *symbolic)) {
	j := &verifier{c: c, pos: pos, rule: rule, worst: map[core.Condition]*Proof{}}
	for _, name := range core.Conditions {
		j.worst[name] = &Proof{Pos: pos, Condition: name, Rule: rule, at: pos}
	}
	ok := follow(body, start, func(e *symbolic) {
		j.changes(e)
		visit(j, e)
	})
	if !ok {
		for _, name := range core.Conditions {
			j.note(name, Watched, pos, "the action is too long to follow: more than %d paths or %d steps", maxPaths, maxSteps)
		}
		j.mailbox(body, rule)
	}
	for _, name := range core.Conditions {
		c.file(*j.worst[name])
	}
	for _, r := range c.prog.Rules {
		if r.Body.Pos == pos && j.worst[core.Current].Status == Proved {
			r.Current = true
		}
	}
}

func (c *checker) file(p Proof) {
	c.prog.Proofs = append(c.prog.Proofs, p)
	if p.Status == Refuted {
		c.prog.Refused = append(c.prog.Refused, syntax.Diagnostic{Pos: p.Pos, Check: p.Condition.String(),
			Text: fmt.Sprintf("%s breaks %s (%s): %s", p.Rule, p.Condition, p.Condition.Text(), p.Text)})
	}
}

// startOf is what is known when a rule fires.
func (c *checker) startOf(r *core.Rule) *symbolic {
	var message *core.MessageType
	if m := r.Message(); m >= 0 {
		message = c.prog.Messages[m]
	}
	start := symbolicStart(c.prog.Program, message)
	start.slot = 1 // in the guard
	start.learn(r.Enabling.Guard, true)
	start.slot = 0 // in the body
	return start
}

// verifyRule decides the conditions for one rule. follows says that the phase variable is never behind the node's tag.
func (c *checker) verifyRule(r *core.Rule, d *syntax.Decl, follows bool) {
	start := c.startOf(r)
	if start.facts.absurd() {
		c.Errorf(d.Pos, "never fires", "%s can never fire: its guard contradicts itself", d.Rule.Label())
		return
	}
	known, tag := start.facts, c.ruleTag(r)
	c.verify(d.Rule.Label(), d.Pos, r.Body.Body, start, func(j *verifier, e *symbolic) {
		if _, plain := r.Trigger.(core.OnTimeout); plain {
			own := core.Linear{}
			if c.prog.Phase >= 0 {
				own = varOf(c.prog.Phase)
			}
			j.sends(e, own, -1, c.prog.Phase >= 0 && follows)
			if e.changed != nil && len(e.sends) == 0 {
				j.note(core.Rests, Refuted, e.changed.At(), "a timeout changes the state without sending into another round")
			}
			j.mailbox(r.Body.Body, "a timeout")
			return
		}
		j.sends(e, tag, r.Round(c.prog.Program), true)
		j.guard(r, d, known, tag, follows)
		j.reads(r)
	})
}

// text is a statement as it is written.
func (c *checker) text(s core.Stmt) string {
	if t := c.texts[s.At()]; t != nil {
		return t.String()
	}
	return "the statement"
}

// changes looks for updates after a send (condition 5).
func (v *verifier) changes(e *symbolic) {
	if e.late != nil {
		v.note(core.Rests, Refuted, e.late.At(), "'%s' comes after a send", v.c.text(e.late))
	}
}

// sends looks at the tags along a path (conditions 1 and 2, one message). It begins in (phase, round); when known is
// not set nothing is known about where it begins.
func (v *verifier) sends(e *symbolic, phase core.Linear, round int, known bool) {
	prog := v.c.prog
	for i, s := range e.sends {
		fs := e.facts
		if known || i > 0 {
			ahead := fs.less(phase, s.phase) || fs.noMore(phase, s.phase) && (s.round > round && round >= 0)
			same := i > 0 && fs.equal(phase, s.phase) && s.round == round
			back := fs.less(s.phase, phase) || round >= 0 && fs.equal(phase, s.phase) && s.round <= round
			switch {
			case ahead || same:
			case back:
				v.note(core.Grows, Refuted, s.stmt.At(), "'%s' goes back to, or stays in, a round that the node is already in",
					v.c.text(s.stmt))
			default:
				v.note(core.Grows, Watched, s.stmt.At(), "the tag of '%s' could not be proved to grow", v.c.text(s.stmt))
			}
		} else if prog.Init.Name != v.rule {
			v.note(core.Grows, Watched, s.stmt.At(), "the tag of '%s' could not be proved to grow", v.c.text(s.stmt))
		}
		phase, round = s.phase, s.round
		v.ownPhase(fs, s)
		v.once(e, i)
	}
}

func (v *verifier) ownPhase(fs facts, s sentAt) {
	prog := v.c.prog
	if prog.Phase < 0 {
		return // the tag is an auxiliary variable, set before each send
	}
	name := prog.Vars[prog.Phase].Name
	switch {
	case fs.equal(s.phase, s.own):
	case fs.less(s.phase, s.own) || fs.less(s.own, s.phase):
		v.note(core.Carries, Refuted, s.stmt.At(), "'%s' carries a phase other than %s", v.c.text(s.stmt), name)
	default:
		v.note(core.Carries, Watched, s.stmt.At(), "the phase of '%s' could not be proved to be %s", v.c.text(s.stmt), name)
	}
}

// once compares a send with the earlier ones on its path.
func (v *verifier) once(e *symbolic, i int) {
	s := e.sends[i]
	for _, old := range e.sends[:i] {
		if old.round != s.round || e.facts.less(old.phase, s.phase) || e.facts.less(s.phase, old.phase) {
			continue
		}
		if s.each != 0 && old.each == s.each {
			continue // two passes of one loop over a set, to one element each
		}
		a, b := v.c.receivers(old.stmt), v.c.receivers(s.stmt)
		someA, someB := a == "all" || v.pure(old.stmt.To), b == "all" || v.pure(s.stmt.To)
		meet := someA && someB && (a == "all" || b == "all" || a == b && e.late == nil && !old.deep && !s.deep)
		switch {
		case old.stmt == s.stmt:
			v.note(core.Once, Watched, s.stmt.At(), "'%s' may be sent more than once", v.c.text(s.stmt))
		case !old.loop && !s.loop && e.facts.equal(old.phase, s.phase) && meet:
			v.note(core.Once, Refuted, s.stmt.At(), "'%s' follows '%s', which goes to the same receivers in the same round",
				v.c.text(s.stmt), v.c.text(old.stmt))
		default:
			v.note(core.Once, Watched, s.stmt.At(), "'%s' and '%s' may go to the same receiver", v.c.text(old.stmt),
				v.c.text(s.stmt))
		}
	}
}

// pure says whether an expression certainly stands for a node or some nodes, the same whenever it is evaluated.
func (v *verifier) pure(x core.Expr) bool {
	lit, ok := x.(*core.Apply)
	if !ok || lit.Op != core.SetOfAll {
		return false
	}
	pure := true
	core.Walk(x, func(e core.Expr) {
		if a, ok := e.(*core.Apply); ok && a.Op == core.Choose {
			pure = false
		}
	})
	return pure
}

// receivers writes the nodes that a send goes to.
func (c *checker) receivers(s *core.Send) string {
	if t := c.texts[s.At()]; t != nil {
		return t.Expr.String()
	}
	return ""
}

// guard decides condition 3: the tag of the messages is not before the node's own.
func (v *verifier) guard(r *core.Rule, d *syntax.Decl, known facts, tag core.Linear, follows bool) {
	prog := v.c.prog
	_, timeout := r.Trigger.(core.OnRoundTimeout)
	if timeout || r.Timely {
		return // timely messages only, or a timeout, which cannot fire in a round that the node has passed
	}
	if prog.Phase < 0 {
		v.note(core.Current, Watched, d.Pos, "no variable is known to hold the node's phase")
		return
	}
	own, name, round := varOf(prog.Phase), prog.Vars[prog.Phase].Name, r.Round(prog.Program)
	switch {
	case known.less(tag, own):
		v.note(core.Current, Refuted, d.Pos, "the guard admits only messages of phases before %s", name)
	case follows && known.less(own, tag):
	case follows && known.noMore(own, tag) && !v.c.skipped[round]:
	case follows && known.noMore(own, tag):
		v.note(core.Current, Watched, d.Pos, "within phase %s the node may have passed round %s", name,
			prog.Rounds[round].Name)
	case known.noMore(own, tag):
		v.note(core.Current, Watched, d.Pos, "%s may lag behind the node's tag", name)
	default:
		v.note(core.Current, Watched, d.Pos, "the guard does not say that the message's phase is at least %s", name)
	}
}

// reads decides condition 4: received shows messages of the rule's tag, so it must be asked for those of its round.
func (v *verifier) reads(r *core.Rule) {
	prog := v.c.prog
	round := r.Round(prog.Program)
	look := func(e core.Expr) {
		x, ok := e.(*core.Mail)
		if !ok || !x.All {
			return
		}
		if m := prog.Messages[x.Message]; m.Round != round {
			v.note(core.Reads, Refuted, x.Pos, "received(%s) reads messages of round %s in a rule of round %s", m.Type.Name,
				prog.Rounds[m.Round].Name, prog.Rounds[round].Name)
		}
	}
	core.Walk(r.Enabling.Guard, look)
	prog.ReachExprs(r.Body.Body, look)
}

// mailbox refuses to read the mailbox where there is no round: in init and in plain timeouts, through an action.
func (v *verifier) mailbox(body []core.Stmt, reader string) {
	v.c.prog.ReachExprs(body, func(e core.Expr) {
		if x, ok := e.(*core.Mail); ok && x.All {
			v.note(core.Reads, Refuted, x.Pos, "%s belongs to no round and reads received(%s)", reader,
				v.c.prog.Messages[x.Message].Type.Name)
		}
	})
}

// inferPhase takes as phase variable the first int variable that every send carries as its phase.
func (c *checker) inferPhase() {
	for i, v := range c.prog.Vars {
		if v.Type.Kind != core.Int {
			continue
		}
		c.prog.Phase = i
		fits, sends := true, 0
		c.everyPath(func(_ *core.Rule, e *symbolic) {
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

// phaseFollows says whether, after every action, the phase variable is at least the phase of the node's tag. Then a
// guard that compares with the variable compares with the tag.
func (c *checker) phaseFollows() bool {
	if c.prog.Phase < 0 {
		return false
	}
	ok := true
	complete := c.everyPath(func(r *core.Rule, e *symbolic) {
		end := e.vars[c.prog.Phase]
		switch {
		case len(e.sends) > 0:
			ok = ok && e.facts.noMore(e.sends[len(e.sends)-1].phase, end)
		case r == nil:
		case r.Round(c.prog.Program) < 0:
			ok = ok && e.facts.noMore(varOf(c.prog.Phase), end)
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
	complete := c.everyPath(func(r *core.Rule, e *symbolic) {
		var phase core.Linear
		own, last := -1, -1
		if r != nil {
			own = r.Round(c.prog.Program)
			last = own
			phase = c.ruleTag(r)
		}
		acted := phase
		if len(e.sends) > 0 {
			s := e.sends[len(e.sends)-1]
			phase, last = s.phase, s.round
		}
		if e.facts.less(phase, e.vars[c.prog.Phase]) {
			return // the node is in a later phase already
		}
		for round := range out {
			// What the node has acted in counts only if it was in the phase in which it is now.
			out[round] = out[round] || round < last && (round != own || !e.facts.equal(acted, phase))
		}
	})
	for round := range out {
		out[round] = out[round] || !complete
	}
	return out
}

// ruleTag is the symbolic phase of a rule's messages, or of the round in which a timeout waits.
func (c *checker) ruleTag(r *core.Rule) core.Linear {
	t, ok := r.Trigger.(core.OnRoundTimeout)
	if !ok {
		return core.Linear{Base: "tag"}
	}
	v, ok := symbolicStart(c.prog.Program, nil).value(t.Phase)
	if !ok {
		return core.Linear{Base: "unknown phase"}
	}
	return v
}

// everyPath follows init and every rule; false when one of them takes too much.
func (c *checker) everyPath(visit func(*core.Rule, *symbolic)) bool {
	ok := follow(c.prog.Init.Body, symbolicStart(c.prog.Program, nil), func(e *symbolic) { visit(nil, e) })
	for _, r := range c.prog.Rules {
		ok = follow(r.Body.Body, c.startOf(r), func(e *symbolic) { visit(r, e) }) && ok
	}
	return ok
}

// Ways is where a node can be after an action: in which rounds of the same phase, and in which of another one, it has
// sent last, and whether it may have sent nothing.
type Ways struct {
	Same, Other []int
	Rests       bool
	Unknown     bool // the action is too long to follow
}

// Leads finds where a rule can lead; nil is the init block.
func (p *Program) Leads(r *core.Rule) Ways {
	var out Ways
	own, body := -1, p.Init.Body
	if r != nil {
		own, body = r.Round(p.Program), r.Body.Body
	}
	add := func(list *[]int, round int) {
		if !slices.Contains(*list, round) {
			*list = append(*list, round)
			slices.Sort(*list)
		}
	}
	out.Unknown = !follow(body, symbolicStart(p.Program, nil), func(e *symbolic) {
		if len(e.sends) == 0 {
			out.Rests = true
			return
		}
		// Conditions 1 and 2: the last send shows where the node is, and a round that is not later is one of a later phase.
		if last := e.sends[len(e.sends)-1]; last.round > own && own >= 0 {
			add(&out.Same, last.round)
		} else {
			add(&out.Other, last.round)
		}
	})
	return out
}

// MostSends is the largest number of messages of a type that one action sends; 0 when that cannot be determined.
func (p *Program) MostSends(message int) int {
	most, known := 1, true
	visit := func(e *symbolic) {
		count := 0
		for _, s := range e.sends {
			if s.stmt.Message == message {
				count++
				known = known && !s.loop
			}
		}
		most = max(most, count)
	}
	known = follow(p.Init.Body, symbolicStart(p.Program, nil), visit) && known
	for _, r := range p.Rules {
		known = follow(r.Body.Body, symbolicStart(p.Program, nil), visit) && known
	}
	if !known {
		return 0
	}
	return most
}
