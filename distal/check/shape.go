package check

import "github.com/lockstep-go/lockstep/distal/syntax"

// SendsInto says for each round whether a body may send into it, also through the actions it calls.
func (p *Program) SendsInto(body []*syntax.Stmt) []bool {
	out := make([]bool, len(p.Rounds))
	p.EachSend(body, func(s *syntax.Stmt) { out[p.Messages[p.Info.Slots[s]].Round] = true })
	return out
}

// EachSend visits every send statement of a body and of the actions it calls, each once.
func (p *Program) EachSend(body []*syntax.Stmt, visit func(*syntax.Stmt)) {
	seen := map[int]bool{}
	var walk func([]*syntax.Stmt)
	walk = func(list []*syntax.Stmt) {
		syntax.WalkStmts(list, func(s *syntax.Stmt) {
			switch i := p.Info.Slots[s]; {
			case s.Kind == syntax.SendStmt:
				visit(s)
			case s.Kind == syntax.CallStmt && !seen[i]:
				seen[i] = true
				walk(p.Actions[i].Body)
			}
		})
	}
	walk(body)
}

func (c *checker) shape()      {}
func (c *checker) conditions() {}
