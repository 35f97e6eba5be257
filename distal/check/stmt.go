package check

import (
	"fmt"

	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

// stmts lowers a block; names opened in it end with it.
func (c *checker) stmts(list []*syntax.Stmt) []core.Stmt {
	depth := len(c.scope.names)
	var out []core.Stmt
	for _, s := range list {
		c.texts[s.Pos] = s
		if x := c.stmt(s); x != nil {
			out = append(out, x)
		}
	}
	c.scope.pop(depth)
	return out
}

// stmt lowers a statement; nil after an error that has been reported.
func (c *checker) stmt(s *syntax.Stmt) core.Stmt {
	at := core.Place{Pos: s.Pos}
	switch s.Kind {
	case syntax.AssignStmt:
		return c.assign(s)
	case syntax.LetStmt:
		x := c.Infer(s.Expr, nil)
		var t *core.Type
		if x != nil {
			t = x.Of()
		}
		return &core.Let{Place: at, Slot: c.bind(s.Pos, s.Name, t), X: x}
	case syntax.IfStmt:
		return &core.Branch{Place: at, Cond: c.Infer(s.Expr, core.BoolType), Then: c.stmts(s.Body), Else: c.stmts(s.Else)}
	case syntax.ForStmt:
		x, t := c.Elements(s.Expr)
		depth := len(c.scope.names)
		slot := c.bind(s.Pos, s.Name, t)
		body := c.stmts(s.Body)
		c.scope.pop(depth)
		return &core.For{Place: at, Slot: slot, X: x, Body: body}
	case syntax.SendStmt:
		return c.send(s)
	case syntax.OutputStmt:
		if c.prog.Output < 0 {
			c.Errorf(s.Pos, "types", "the program declares no output type; write for instance: output int")
			return nil
		}
		return &core.Output{Place: at, X: c.stored(s.Expr, c.prog.OutputType())}
	case syntax.CallStmt:
		return c.call(s)
	case syntax.AssertStmt:
		return c.assert(s)
	case syntax.TryStmt:
		return &core.Try{Place: at, Body: c.stmts(s.Body), Ensure: c.Infer(s.Expr, core.BoolType), Else: c.stmts(s.Else)}
	}
	panic(fmt.Sprintf("check: a statement of kind %d", s.Kind))
}

// assert lowers an assertion; the words of the conditions stand for them in lock-step programs.
func (c *checker) assert(s *syntax.Stmt) core.Stmt {
	out := &core.Assert{Place: core.Place{Pos: s.Pos}, Name: s.Name, X: c.Infer(s.Expr, core.BoolType)}
	for _, condition := range core.Conditions {
		if c.prog.Lockstep && condition.Word() == s.Name {
			out.Condition, out.Name = condition, ""
		}
	}
	return out
}

func (c *checker) assign(s *syntax.Stmt) core.Stmt {
	i, ok := c.vars[s.Name]
	switch {
	case ok:
		return &core.Assign{Place: core.Place{Pos: s.Pos}, Var: i, X: c.stored(s.Expr, c.prog.Vars[i].Type)}
	case c.scope.find(s.Name) >= 0:
		c.Errorf(s.Pos, "names", "%s is a local name and cannot be assigned; only the state can", s.Name)
	default:
		c.Errorf(s.Pos, "names", "unknown variable %s%s", s.Name, syntax.Suggest(s.Name, keys(c.vars)))
	}
	return nil
}

// send lowers a send; the receivers are a set even if one node is written.
func (c *checker) send(s *syntax.Stmt) core.Stmt {
	i, ok := c.msgs[s.Name]
	if !ok {
		c.Errorf(s.Pos, "names", "unknown message %s%s", s.Name, syntax.Suggest(s.Name, keys(c.msgs)))
		return nil
	}
	if !c.scope.place.send {
		c.Errorf(s.Pos, "rounds", "in a lock-step program messages are sent in the send block of a round")
		return nil
	}
	args, ok := c.arguments(s.Pos, s.Name, s.Args, c.prog.Messages[i].Type.Fields)
	to := c.Infer(s.Expr, nil)
	if to == nil {
		return nil
	}
	switch t := to.Of(); {
	case t.Kind == core.Node:
		to = &core.Apply{Info: core.Info{Pos: to.At(), Type: core.NodeSet}, Op: core.SetOfAll, Args: []core.Expr{to}}
	case !t.Equal(core.NodeSet):
		c.Errorf(s.Expr.Pos, "types", "a message goes to a node or a set of nodes, not to %s", t)
		return nil
	}
	if !ok {
		return nil
	}
	return &core.Send{Place: core.Place{Pos: s.Pos}, Message: i, Args: args, To: to}
}

func (c *checker) call(s *syntax.Stmt) core.Stmt {
	i, ok := c.actions[s.Name]
	if !ok {
		c.Errorf(s.Pos, "names", "unknown action %s%s", s.Name, syntax.Suggest(s.Name, keys(c.actions)))
		return nil
	}
	args, ok := c.arguments(s.Pos, s.Name, s.Args, c.prog.Actions[i].Params)
	if !ok {
		return nil
	}
	return &core.Do{Place: core.Place{Pos: s.Pos}, Action: i, Args: args}
}

// noRecursion refuses functions and actions that call themselves: every action ends.
func (c *checker) noRecursion() {
	c.findCycle(len(c.prog.Funs), func(i int, visit func(int)) {
		core.Walk(c.prog.Funs[i].Body, func(e core.Expr) {
			if x, ok := e.(*core.Call); ok {
				visit(x.Fun)
			}
		})
	}, func(i int) { c.Errorf(c.prog.Funs[i].Pos, "names", "function %s calls itself", c.prog.Funs[i].Name) })
	c.findCycle(len(c.prog.Actions), func(i int, visit func(int)) {
		core.WalkStmts(c.prog.Actions[i].Body, func(s core.Stmt) {
			if d, ok := s.(*core.Do); ok {
				visit(d.Action)
			}
		})
	}, func(i int) {
		c.Errorf(c.prog.Actions[i].Pos, "names", "action %s calls itself", c.prog.Actions[i].Name)
	})
}

// findCycle reports one member of each cycle of a graph with n vertices.
func (c *checker) findCycle(n int, edges func(int, func(int)), report func(int)) {
	state := make([]int, n) // 0 new, 1 open, 2 done
	var visit func(int)
	visit = func(i int) {
		state[i] = 1
		edges(i, func(j int) {
			switch state[j] {
			case 0:
				visit(j)
			case 1:
				report(j)
			}
		})
		state[i] = 2
	}
	for i := range n {
		if state[i] == 0 {
			visit(i)
		}
	}
}

// test reads the settings of a test.
func (c *checker) test(d *syntax.Decl) {
	t := &core.Test{Pos: d.Pos, Name: d.Name, Params: map[string]int64{}, Network: -1}
	for _, old := range c.prog.Tests {
		if old.Name == d.Name {
			c.Errorf(d.Pos, "names", "test %s is declared twice", d.Name)
		}
	}
	for _, f := range d.Fields {
		c.setting(t, f)
	}
	c.prog.Tests = append(c.prog.Tests, t)
}

func (c *checker) setting(t *core.Test, f *syntax.Field) {
	word := f.Value.Name
	switch f.Name {
	case "phases":
		t.Phases = int(c.number(f))
	case "network":
		var arg *syntax.Expr
		if f.Value.Kind == syntax.CallExpr && len(f.Value.Args) == 1 {
			arg = f.Value.Args[0]
		}
		t.Network = c.namedNetwork(f.Pos, word, arg)
	case "timeouts":
		switch word {
		case "eager":
			t.Timeouts = core.Eager
		case "free":
		default:
			c.Errorf(f.Value.Pos, "types", "timeouts are eager or free, not %s", f.Value)
		}
	case "expect":
		if word != "pass" && word != "violation" {
			c.Errorf(f.Value.Pos, "types", "a test expects pass or violation, not %s", f.Value)
		}
		t.Expect = word
	default:
		if _, ok := c.params[f.Name]; !ok {
			c.Errorf(f.Pos, "names", "unknown setting %s%s", f.Name,
				syntax.Suggest(f.Name, append(keys(c.params), "phases", "network", "timeouts", "expect")))
			return
		}
		t.Params[f.Name] = c.number(f)
	}
}

func (c *checker) number(f *syntax.Field) int64 {
	if f.Value.Kind != syntax.IntExpr {
		c.Errorf(f.Value.Pos, "types", "%s is a number", f.Name)
		return 1
	}
	return f.Value.Int
}
