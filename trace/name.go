package trace

import "fmt"

// Name identifies a message of a run by its content instead of its number. So it means the same message in another
// run of the same system, even if steps were left out or the system changed a little. It is the Nth message, counted
// from 1, of its type and tag on its link.
type Name struct {
	From, To Node
	Type     string
	Tag      Tag
	Nth      int
}

// String is the name as text: "1->2 Prepare #3", with the number only from the second message on.
func (n Name) String() string {
	s := fmt.Sprintf("%d->%d %s", n.From, n.To, n.Type)
	if n.Tag != (Tag{}) {
		s += fmt.Sprintf(" (%d,%d)", n.Tag.Phase, n.Tag.Round)
	}
	if n.Nth > 1 {
		s += fmt.Sprintf(" #%d", n.Nth)
	}
	return s
}

// Namer names the messages of a run in the order of sending. Its zero value is ready.
type Namer struct {
	ids   map[Name][]ID // by name with Nth 0
	names []Name        // by ID-1
}

// Reset forgets the messages of the previous run.
func (n *Namer) Reset() {
	clear(n.ids)
	n.names = n.names[:0]
}

// Named is the number of messages named so far: the next one must have the next number.
func (n *Namer) Named() int { return len(n.names) }

// Add names the next message.
func (n *Namer) Add(m *Message) Name {
	if n.ids == nil {
		n.ids = map[Name][]ID{}
	}
	name := Name{From: m.From, To: m.To, Type: m.Type, Tag: m.Tag}
	n.ids[name] = append(n.ids[name], ID(len(n.names)+1))
	name.Nth = len(n.ids[name])
	n.names = append(n.names, name)
	return name
}

// Name is the name of a message that was added.
func (n *Namer) Name(id ID) Name { return n.names[id-1] }

// Find is the message of that name, or 0 if there is none so far.
func (n *Namer) Find(name Name) ID {
	nth := name.Nth
	name.Nth = 0
	if ids := n.ids[name]; nth >= 1 && nth <= len(ids) {
		return ids[nth-1]
	}
	return 0
}
