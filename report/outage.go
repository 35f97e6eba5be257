package report

import "github.com/lockstep-go/lockstep/trace"

// outage has the nodes that cannot help the others. They are down after a crash, or cut off from a majority in which
// they count themselves.
type outage struct{ down, cut trace.Nodes }

// outages returns the nodes that are out after each record.
func outages(t *trace.Trace) []outage {
	all := trace.AllNodes(t.Header.Nodes)
	reach := make([]trace.Nodes, t.Header.Nodes+1) // by sender
	for n := range reach {
		reach[n] = all
	}
	set := func(from, to trace.Nodes, cut bool) {
		for n := range (from & all).All() {
			if cut {
				reach[n] &^= to.Without(n)
			} else {
				reach[n] |= to & all
			}
		}
	}
	list := make([]outage, len(t.Records))
	var now outage
	for i := range t.Records {
		switch s := &t.Records[i].Step; s.Kind {
		case trace.Crash:
			now.down = now.down.With(s.Node) & all
		case trace.Restart:
			now.down = now.down.Without(s.Node)
		case trace.Cut, trace.Heal:
			set(s.From, s.To, s.Kind == trace.Cut)
			if !s.OneWay {
				set(s.To, s.From, s.Kind == trace.Cut)
			}
			now.cut = cutOff(reach, all)
		}
		list[i] = now
	}
	return list
}

// cutOff returns the nodes that cannot communicate both ways with a majority.
func cutOff(reach []trace.Nodes, all trace.Nodes) trace.Nodes {
	var cut trace.Nodes
	for n := range all.All() {
		both := 0
		for m := range reach[n].All() {
			if reach[m].Has(n) {
				both++
			}
		}
		if 2*both <= all.Len() {
			cut = cut.With(n)
		}
	}
	return cut
}

// anyOut reports whether a node is ever out.
func anyOut(list []outage) bool {
	for _, o := range list {
		if o.down|o.cut != 0 {
			return true
		}
	}
	return false
}

// word describes how a node is out; empty: it is not.
func (o outage) word(n trace.Node) string {
	switch {
	case o.down.Has(n):
		return "down"
	case o.cut.Has(n):
		return "cut off"
	default:
		return ""
	}
}

// signs draws the nodes side by side, one sign each: "..x" is node 3 down.
func (o outage) signs(nodes int) string {
	signs := make([]byte, nodes)
	for i := range signs {
		switch o.word(trace.Node(i + 1)) {
		case "down":
			signs[i] = 'x'
		case "cut off":
			signs[i] = '~'
		default:
			signs[i] = '.'
		}
	}
	return string(signs)
}
