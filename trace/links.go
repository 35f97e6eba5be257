package trace

// Links is the set of cut links: by sender, the receivers that its messages do not reach. Index 0 is unused.
type Links []Nodes

// NewLinks is the set for the given number of nodes, with no link cut.
func NewLinks(nodes int) Links { return make(Links, nodes+1) }

// Switch applies a Cut or Heal step. No node is ever cut off from itself.
func (l Links) Switch(s *Step) {
	l.set(s.From, s.To, s.Kind == Cut)
	if !s.OneWay {
		l.set(s.To, s.From, s.Kind == Cut)
	}
}

func (l Links) set(from, to Nodes, cut bool) {
	for n := range (from & AllNodes(len(l)-1)).All() {
		if cut {
			l[n] |= to.Without(n)
		} else {
			l[n] &^= to
		}
	}
}
