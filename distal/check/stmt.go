package check

import "github.com/lockstep-go/lockstep/distal/syntax"

// stmts checks a block; names opened in it end with it.
func (c *checker) stmts(list []*syntax.Stmt) {
	depth := len(c.scope.names)
	for _, s := range list {
		c.stmt(s)
	}
	c.scope.pop(depth)
}

func (c *checker) stmt(s *syntax.Stmt) {
	switch s.Kind {
	case syntax.AssignStmt:
		c.assign(s)
	case syntax.LetStmt:
		t := c.infer(s.Expr, nil)
		c.info.Slots[s] = c.bind(s.Pos, s.Name, t)
	case syntax.IfStmt:
		c.infer(s.Expr, boolType)
		c.stmts(s.Body)
		c.stmts(s.Else)
	case syntax.ForStmt:
		t := c.elements(s.Expr)
		depth := len(c.scope.names)
		c.info.Slots[s] = c.bind(s.Pos, s.Name, t)
		c.stmts(s.Body)
		c.scope.pop(depth)
	case syntax.SendStmt:
		c.send(s)
	case syntax.OutputStmt:
		if c.prog.Output == nil {
			c.errorf(s.Pos, "types", "the program declares no output type; write for instance: output int")
			return
		}
		c.infer(s.Expr, c.prog.Output)
	case syntax.CallStmt:
		c.call(s)
	}
}

func (c *checker) assign(s *syntax.Stmt) {
	i, ok := c.vars[s.Name]
	switch {
	case ok:
		c.info.Slots[s] = i
		c.infer(s.Expr, c.prog.Vars[i].Type)
	case c.scope.find(s.Name) >= 0:
		c.errorf(s.Pos, "names", "%s is a local name and cannot be assigned; only the state can", s.Name)
	default:
		c.errorf(s.Pos, "names", "unknown variable %s%s", s.Name, syntax.Suggest(s.Name, keys(c.vars)))
	}
}

func (c *checker) send(s *syntax.Stmt) {
	i, ok := c.msgs[s.Name]
	if !ok {
		c.errorf(s.Pos, "names", "unknown message %s%s", s.Name, syntax.Suggest(s.Name, keys(c.msgs)))
		return
	}
	c.info.Slots[s] = i
	c.arguments(s.Pos, s.Name, s.Args, c.prog.Messages[i].Type.Fields)
	t := c.infer(s.Expr, nil)
	if t != nil && t.Kind != Node && !t.Equal(nodeSet) {
		c.errorf(s.Expr.Pos, "types", "a message goes to a node or a set of nodes, not to %s", t)
	}
}

func (c *checker) call(s *syntax.Stmt) {
	i, ok := c.actions[s.Name]
	if !ok {
		c.errorf(s.Pos, "names", "unknown action %s%s", s.Name, syntax.Suggest(s.Name, keys(c.actions)))
		return
	}
	c.info.Slots[s] = i
	c.arguments(s.Pos, s.Name, s.Args, c.prog.Actions[i].Params)
}

func (c *checker) arguments(pos syntax.Pos, name string, args []*syntax.Expr, want []Field) {
	if len(args) != len(want) {
		c.errorf(pos, "types", "%s takes %d arguments, not %d", name, len(want), len(args))
		return
	}
	for i, a := range args {
		c.infer(a, want[i].Type)
	}
}

// noRecursion refuses functions and actions that call themselves: every action ends.
func (c *checker) noRecursion() {
	funCalls := func(e *syntax.Expr, visit func(int)) {
		syntax.Walk(e, func(x *syntax.Expr) {
			if r := c.info.Refs[x]; x.Kind == syntax.CallExpr && r.Kind == RefFun {
				visit(r.Index)
			}
		})
	}
	c.findCycle(len(c.prog.Funs), func(i int, visit func(int)) { funCalls(c.prog.Funs[i].Expr, visit) },
		func(i int) { c.errorf(c.prog.Funs[i].Pos, "names", "function %s calls itself", c.prog.Funs[i].Name) })
	c.findCycle(len(c.prog.Actions), func(i int, visit func(int)) {
		syntax.WalkStmts(c.prog.Actions[i].Body, func(s *syntax.Stmt) {
			if j, ok := c.info.Slots[s]; ok && s.Kind == syntax.CallStmt {
				visit(j)
			}
		})
	}, func(i int) {
		c.errorf(c.prog.Actions[i].Pos, "names", "action %s calls itself", c.prog.Actions[i].Name)
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
	t := &Test{Pos: d.Pos, Name: d.Name, Params: map[string]int64{}}
	for _, old := range c.prog.Tests {
		if old.Name == d.Name {
			c.errorf(d.Pos, "names", "test %s is declared twice", d.Name)
		}
	}
	for _, f := range d.Fields {
		c.setting(t, f)
	}
	c.prog.Tests = append(c.prog.Tests, t)
}

func (c *checker) setting(t *Test, f *syntax.Field) {
	word := f.Value.Name
	switch f.Name {
	case "phases":
		t.Phases = int(c.number(f))
	case "network":
		kind := f.Value
		var count *syntax.Expr
		if kind.Kind == syntax.CallExpr && len(kind.Args) == 1 {
			count = kind.Args[0]
		}
		n := c.network(f.Pos, word, count)
		t.Network = &n
	case "timeouts":
		switch word {
		case "eager":
			t.Timeouts = Eager
		case "free":
		default:
			c.errorf(f.Value.Pos, "types", "timeouts are eager or free, not %s", f.Value)
		}
	case "expect":
		if word != "pass" && word != "violation" {
			c.errorf(f.Value.Pos, "types", "a test expects pass or violation, not %s", f.Value)
		}
		t.Expect = word
	default:
		if _, ok := c.params[f.Name]; !ok {
			c.errorf(f.Pos, "names", "unknown setting %s%s", f.Name,
				syntax.Suggest(f.Name, append(keys(c.params), "phases", "network", "timeouts", "expect")))
			return
		}
		t.Params[f.Name] = c.number(f)
	}
}

func (c *checker) number(f *syntax.Field) int64 {
	if f.Value.Kind != syntax.IntExpr {
		c.errorf(f.Value.Pos, "types", "%s is a number", f.Name)
		return 1
	}
	return f.Value.Int
}
