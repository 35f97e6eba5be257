package symmetry

import (
	"fmt"
	"maps"
	"slices"

	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/syntax"
)

// A shade goes with the type of an expression and says, for every whole number in its values, which kind of number it
// is. What is compared with one another, or flows from one place to another, is of one kind.
type shade struct {
	number *kind    // of an int
	elem   *shade   // of an optional value, a set, a sequence
	fields []*shade // of a record or message
	sender bool     // of messages: in a set they are in the order of their senders
}

// kind of numbers, as far as it has been found. Kinds that turn out to be one are joined.
type kind struct {
	joined *kind
	apart  string            // why its numbers are distinguished by more than being equal; "": they are not
	named  map[int64]bool    // numbers that stand alone somewhere
	sets   []map[int64]bool  // numbers that stand together in a set
	blocks []map[int64]bool  // once all is seen: numbers that can be exchanged for one another
	maps   []map[int64]int64 // by naming: what the numbers become
}

// root is the kind that a kind has become.
func (k *kind) root() *kind {
	for k.joined != nil {
		k = k.joined
	}
	return k
}

func join(a, b *kind) {
	a, b = a.root(), b.root()
	if a == b {
		return
	}
	b.joined = a
	if a.apart == "" {
		a.apart = b.apart
	}
	maps.Copy(a.named, b.named)
	a.sets = append(a.sets, b.sets...)
}

// unify makes the kinds of two shades of one type the same.
func unify(a, b *shade) {
	if a == b || a == nil || b == nil {
		return
	}
	if a.number != nil && b.number != nil {
		join(a.number, b.number)
	}
	unify(a.elem, b.elem)
	// declared types have one shade each; this is never reached for them
	for i := range min(len(a.fields), len(b.fields)) {
		unify(a.fields[i], b.fields[i])
	}
}

// kinds calls visit for every kind in a shade, once for each declared type.
func (s *shade) kinds(visit func(*kind)) { s.walk(map[*shade]bool{}, visit) }

func (s *shade) walk(seen map[*shade]bool, visit func(*kind)) {
	if s == nil || seen[s] {
		return
	}
	seen[s] = true
	if s.number != nil {
		visit(s.number.root())
	}
	s.elem.walk(seen, visit)
	for _, f := range s.fields {
		f.walk(seen, visit)
	}
}

// mark notes that numbers in a shade are distinguished.
func (s *shade) mark(pos syntax.Pos, reason string) {
	s.kinds(func(k *kind) {
		if k.apart == "" {
			k.apart = fmt.Sprintf("%s at %s", reason, pos)
		}
	})
}

// reason says why numbers that stand together cannot be exchanged; "" where none do.
func (k *kind) reason() string {
	for _, set := range k.sets {
		list := sorted(set)
		switch {
		case len(list) < 2:
		case k.apart != "":
			return fmt.Sprintf("%d and %d are distinguished: %s", list[0], list[1], k.apart)
		default:
			return fmt.Sprintf("of %d and %d, one also stands alone or in another set", list[0], list[1])
		}
	}
	return ""
}

// name notes the numbers of a value that stands in the text.
func (s *shade) name(t *core.Type, v core.Value) {
	switch {
	case s == nil:
	case s.number != nil:
		s.number.root().named[v.N] = true
	case t.Kind == core.Set && s.elem != nil && s.elem.number != nil:
		s.together(v.E)
	case s.elem != nil:
		for _, e := range v.E {
			s.elem.name(t.Elem, e)
		}
	default:
		for i, e := range v.E {
			s.fields[i].name(t.Fields[i].Type, e)
		}
	}
}

// together notes a set of numbers that stands in the text.
func (s *shade) together(elems []core.Value) {
	set := map[int64]bool{}
	for _, e := range elems {
		set[e.N] = true
	}
	k := s.elem.number.root()
	k.sets = append(k.sets, set)
}

// block finds the numbers that can be exchanged: those that stand alone nowhere and are in the same sets everywhere.
func (k *kind) block() {
	if k.apart != "" || k.blocks != nil {
		return
	}
	in := map[string][]int64{}
	var order []string
	for _, v := range k.numbers() {
		var where []byte
		for _, set := range k.sets {
			where = append(where, '0'+byte(core.Truth(set[v]).N))
		}
		if in[string(where)] == nil {
			order = append(order, string(where))
		}
		in[string(where)] = append(in[string(where)], v)
	}
	for _, where := range order {
		if list := in[where]; len(list) > 1 {
			block := map[int64]bool{}
			for _, v := range list {
				block[v] = true
			}
			k.blocks = append(k.blocks, block)
		}
	}
}

// numbers lists, in order, those in sets that do not also stand alone.
func (k *kind) numbers() []int64 {
	all := map[int64]bool{}
	for _, set := range k.sets {
		for _, v := range sorted(set) {
			if !k.named[v] {
				all[v] = true
			}
		}
	}
	return sorted(all)
}

func sorted(set map[int64]bool) []int64 { return slices.Sorted(maps.Keys(set)) }
