package pbft

import (
	"slices"

	"github.com/lockstep-go/lockstep"
)

// changeView leaves the current view and asks for another.
func (n *node) changeView(view int32) {
	n.view, n.waiting, n.announce, n.ticks = view, true, false, 0
	n.asked++
	var proof []Certificate
	for _, c := range n.prepared {
		if c != nil {
			proof = append(proof, *c)
		}
	}
	m := n.send(Message{Kind: ViewChange, View: view, Prepared: proof})
	n.changeAsked(Change{Node: n.self, View: view, Prepared: proof, Sign: m.Signature})
}

// changeAsked records a node's request for a view. The node joins when so many nodes ask that a correct one must be
// among them. The leader announces the view when a quorum asks for it.
func (n *node) changeAsked(c Change) {
	if !n.believable(c) {
		return
	}
	at := slices.IndexFunc(n.changes, func(o Change) bool { return o.Node == c.Node })
	switch {
	case at < 0:
		n.changes = append(n.changes, c)
	case n.changes[at].View >= c.View:
		return
	default:
		n.changes[at] = c
	}
	if view, ok := n.joinable(); ok {
		n.changeView(view)
		return
	}
	n.announceView()
}

// joinable is the smallest view beyond the node's own that f+1 nodes ask for or have
// gone beyond.
func (n *node) joinable() (int32, bool) {
	var views []int32
	for _, c := range n.changes {
		if c.View > n.view {
			views = append(views, c.View)
		}
	}
	if len(views) <= n.cluster.Faulty() {
		return 0, false
	}
	slices.Sort(views)
	return views[len(views)-n.cluster.Faulty()-1], true
}

// announceView sends the new view if the node leads it and a quorum asks for it.
func (n *node) announceView() {
	if !n.waiting || n.announce || n.leader(n.view) != n.self {
		return
	}
	var quorum []Change
	for _, c := range n.changes {
		if c.View == n.view && len(quorum) < n.quorum() {
			quorum = append(quorum, c)
		}
	}
	if len(quorum) < n.quorum() {
		return
	}
	n.announce = true
	n.send(Message{Kind: NewView, View: n.view, Changes: quorum})
	n.enter(n.view, quorum)
}

// newView enters the view that its leader announces, if a quorum asked for it.
func (n *node) newView(from lockstep.Node, m Message) {
	if from != n.leader(m.View) || m.View < n.view || m.View == n.view && !n.waiting {
		return
	}
	var by lockstep.Nodes
	for _, c := range m.Changes {
		if c.View != m.View || c.Node < 1 || int(c.Node) > n.cluster.Nodes || c.Sign != sign(c.Node, c.message()) ||
			!n.believable(c) {
			return
		}
		by = by.With(c.Node)
	}
	if by.Len() >= n.quorum() {
		n.enter(m.View, m.Changes)
	}
}

// believable reports whether every certificate of a change is valid.
func (n *node) believable(c Change) bool {
	return !slices.ContainsFunc(c.Prepared, func(p Certificate) bool {
		if p.View >= c.View || p.Index < 1 || p.Index > longest {
			return true
		}
		var by lockstep.Nodes
		claim := Message{Kind: Prepare, View: p.View, Index: p.Index, Request: p.Request}
		for _, s := range p.Signed {
			if s.Node >= 1 && int(s.Node) <= n.cluster.Nodes && s.Sign == sign(s.Node, claim) {
				by = by.With(s.Node)
			}
		}
		return by.Len() < n.quorum()
	})
}

// enter begins work in a view: first on the prepared requests that the changes prove, then on the pending ones.
func (n *node) enter(view int32, changes []Change) {
	n.view, n.waiting, n.ticks = view, false, 0
	clear(n.slots[:])
	n.votes = slices.DeleteFunc(n.votes, func(v vote) bool { return v.view < view })
	n.entered = view
	n.context.Emit(Entered, n.entered)
	for index, request := range n.again(changes) {
		n.accept(int32(index)+1, request)
	}
	late := n.early
	n.early = nil
	for _, e := range late {
		n.handle(e.from, e.m)
	}
	n.lead()
}

// again lists the requests that a new view proposes again, from index 1 on. At each index it is the one prepared in
// the latest view. If there is none before a later index, it is the no-op request.
func (n *node) again(changes []Change) []string {
	if n.cluster.Forgetful {
		return nil
	}
	var best [longest + 1]*Certificate
	last := int32(0)
	for _, c := range changes {
		for i := range c.Prepared {
			p := &c.Prepared[i]
			if best[p.Index] == nil || p.View > best[p.Index].View {
				best[p.Index] = p
			}
			last = max(last, p.Index)
		}
	}
	requests := make([]string, last)
	for i := range requests {
		if b := best[i+1]; b != nil {
			requests[i] = b.Request
		}
	}
	return requests
}
