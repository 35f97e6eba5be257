package pbft

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/mix"
)

// Message is a message of any type. A message is immutable once it is sent.
type Message struct {
	Kind        string
	View, Index int32
	Request     string        // empty for the no-op request
	Prepared    []Certificate // of a ViewChange
	Changes     []Change      // of a NewView
	Signature   uint64        // of the sender, over all of the above
}

// Certificate is the proof that a request was prepared: the signatures of a quorum of nodes under their Prepare.
type Certificate struct {
	View, Index int32
	Request     string
	Signed      []Signature
}

// Signature is the signature of a node.
type Signature struct {
	Node lockstep.Node
	Sign uint64
}

// Change is a ViewChange inside a NewView.
type Change struct {
	Node     lockstep.Node
	View     int32
	Prepared []Certificate
	Sign     uint64
}

// mixCertificates adds certificates to a hash of the signed content.
func mixCertificates(h *mix.Hash, list []Certificate) {
	h.Mix(uint64(len(list)))
	for _, c := range list {
		h.Mix(uint64(c.View)<<32 | uint64(c.Index))
		h.Text(c.Request)
		for _, s := range c.Signed {
			h.Mix(uint64(s.Node))
			h.Mix(s.Sign)
		}
	}
}

// sign is the signature of a node under a message. Only the nodes' own programs and Forger call it: that makes
// signatures unforgeable here.
func sign(by lockstep.Node, m Message) uint64 {
	h := mix.Start
	h.Mix(uint64(by))
	h.Text(m.Kind)
	h.Mix(uint64(m.View)<<32 | uint64(m.Index))
	h.Text(m.Request)
	mixCertificates(&h, m.Prepared)
	for _, c := range m.Changes {
		h.Mix(uint64(c.Node))
		h.Mix(c.Sign)
	}
	return uint64(h)
}

// signed is the message with the signature of a node.
func signed(by lockstep.Node, m Message) Message {
	m.Signature = sign(by, m)
	return m
}

// message is the original ViewChange of a change.
func (c Change) message() Message {
	return Message{Kind: ViewChange, View: c.View, Prepared: c.Prepared, Signature: c.Sign}
}

// String is the whole message as text, as Parse reads it.
func (m Message) String() string { return m.Kind + " " + m.content() }

// content is the message as text without its type.
func (m Message) content() string {
	var b strings.Builder
	switch m.Kind {
	case Request:
		fmt.Fprintf(&b, "request=%s", orDash(m.Request))
	case ViewChange:
		fmt.Fprintf(&b, "view=%d prepared=%s", m.View, certificates(m.Prepared))
	case NewView:
		fmt.Fprintf(&b, "view=%d changes=", m.View)
		for i, c := range m.Changes {
			if i > 0 {
				b.WriteByte('+')
			}
			fmt.Fprintf(&b, "%d{%s}%x", c.Node, certificates(c.Prepared), c.Sign)
		}
	default:
		fmt.Fprintf(&b, "view=%d index=%d request=%s", m.View, m.Index, orDash(m.Request))
	}
	fmt.Fprintf(&b, " sign=%x", m.Signature)
	return b.String()
}

// certificates writes "1:a@0(1.ff,2.ee,3.dd);2:b@0(...)", and "-" for none.
func certificates(list []Certificate) string {
	var words []string
	for _, c := range list {
		var by []string
		for _, s := range c.Signed {
			by = append(by, fmt.Sprintf("%d.%x", s.Node, s.Sign))
		}
		words = append(words, fmt.Sprintf("%d:%s@%d(%s)", c.Index, orDash(c.Request), c.View, strings.Join(by, ",")))
	}
	return orDash(strings.Join(words, ";"))
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func fromDash(s string) string {
	if s == "-" {
		return ""
	}
	return s
}

// Parse parses a message in the format of String.
func Parse(text string) (Message, error) {
	words := strings.Fields(text)
	if len(words) == 0 || !slices.Contains([]string{Request, PrePrepare, Prepare, Commit, ViewChange, NewView},
		words[0]) {
		return Message{}, fmt.Errorf("pbft: %q begins with no type of message", text)
	}
	m := Message{Kind: words[0]}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		var err error
		switch key {
		case "view":
			err = scan(value, "%d", &m.View)
		case "index":
			err = scan(value, "%d", &m.Index)
		case "request":
			m.Request = fromDash(value)
		case "sign":
			err = scan(value, "%x", &m.Signature)
		case "prepared":
			m.Prepared, err = parseCertificates(value)
		case "changes":
			m.Changes, err = parseChanges(value, m.View)
		default:
			err = fmt.Errorf("there is no %q", key)
		}
		if err != nil {
			return Message{}, fmt.Errorf("pbft: %s: %w", w, err)
		}
	}
	return m, nil
}

// scan reads one value that must fill the whole text.
func scan(text, format string, into any) error {
	var rest string
	if n, _ := fmt.Sscanf(text, format+"%s", into, &rest); n != 1 {
		return fmt.Errorf("%q is not a number", text)
	}
	return nil
}

func parseCertificates(text string) (list []Certificate, err error) {
	if text == "-" {
		return nil, nil
	}
	for _, w := range strings.Split(text, ";") {
		head, by, ok := strings.Cut(strings.TrimSuffix(w, ")"), "(")
		index, rest, ok2 := strings.Cut(head, ":")
		request, view, ok3 := strings.Cut(rest, "@")
		if !ok || !ok2 || !ok3 {
			return nil, fmt.Errorf("%q is no certificate like 1:a@0(1.ff,2.ee)", w)
		}
		c := Certificate{Request: fromDash(request)}
		if err := scan(index, "%d", &c.Index); err != nil {
			return nil, err
		}
		if err := scan(view, "%d", &c.View); err != nil {
			return nil, err
		}
		if c.Signed, err = parseSignatures(by); err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

func parseSignatures(text string) (list []Signature, err error) {
	if text == "" {
		return nil, nil
	}
	for _, w := range strings.Split(text, ",") {
		node, mark, _ := strings.Cut(w, ".")
		var s Signature
		if err := scan(node, "%d", &s.Node); err != nil {
			return nil, err
		}
		if err := scan(mark, "%x", &s.Sign); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

func parseChanges(text string, view int32) (list []Change, err error) {
	if text == "" {
		return nil, nil
	}
	for _, w := range strings.Split(text, "+") {
		node, rest, ok := strings.Cut(w, "{")
		prepared, mark, ok2 := strings.Cut(rest, "}")
		if !ok || !ok2 {
			return nil, fmt.Errorf("%q is no change like 2{-}ff", w)
		}
		c := Change{View: view}
		if err := scan(node, "%d", &c.Node); err != nil {
			return nil, err
		}
		if err := scan(mark, "%x", &c.Sign); err != nil {
			return nil, err
		}
		if c.Prepared, err = parseCertificates(prepared); err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}
