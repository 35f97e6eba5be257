package check

import (
	"fmt"

	"github.com/lockstep-go/lockstep/distal/syntax"
)

// ParseNetwork reads a network assumption written outside the program, such as "reliable" or "atleast(n - f)"; it may
// use the program's parameters.
func (p *Program) ParseNetwork(text string) (Network, error) {
	e, errs := syntax.ParseExpr(text)
	if len(errs) > 0 {
		return Network{}, fmt.Errorf("network %q: %s", text, errs[0].Text)
	}
	c := &checker{prog: p, info: p.Info, params: map[string]int{}, taken: map[string]syntax.Pos{}}
	for i, q := range p.Params {
		c.params[q.Name] = i
	}
	var count *syntax.Expr
	if e.Kind == syntax.CallExpr && len(e.Args) == 1 {
		count = e.Args[0]
	} else if e.Kind != syntax.NameExpr {
		return Network{}, fmt.Errorf("unknown network %q; known are any, reliable, atleast(k) and kernel", text)
	}
	n := c.network(e.Pos, e.Name, count)
	if len(c.diags) > 0 {
		return Network{}, fmt.Errorf("network %q: %s", text, c.diags[0].Text)
	}
	return n, nil
}
