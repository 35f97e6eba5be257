package scenario

import (
	"fmt"
	"slices"
	"strings"
)

// facts are the static knowledge of a condition: it holds only if all of the atoms do. They reveal conditions that
// can never hold, and filters that are never reached.
type facts struct {
	atoms []atom
	// whole says that the condition also holds wherever all atoms do.
	whole bool
}

// atom is a fact about one subject. If in is nil, the text in about says all of it.
type atom struct {
	about string
	in    []string
	// memory says that earlier events of the run decide, which a filter may change.
	memory bool
}

// The subjects of atoms that conditions of several kinds share.
const (
	aboutWhat  = "what happened"
	aboutType  = "the type of the message"
	aboutEvent = "the type of the event"
	aboutStep  = "the step"
	aboutFrom  = "the sender"
	aboutTo    = "the receiver"
	aboutNode  = "the node concerned"
)

// The words for the kinds of moment.
const (
	aSend    = "a send"
	aReceive = "a receive"
	anEvent  = "an event"
	aStep    = "a step"
)

var everything = []string{aSend, aReceive, anEvent, aStep}

// happened is the fact that the moment is of one of these kinds.
func happened(kinds ...string) facts {
	return facts{atoms: []atom{{about: aboutWhat, in: kinds}}, whole: true}
}

// ofMessage is the fact that the moment concerns a message, and more.
func ofMessage(whole bool, more ...atom) facts {
	return facts{atoms: append([]atom{{about: aboutWhat, in: []string{aSend, aReceive, aStep}}}, more...), whole: whole}
}

// remembered is a condition on the run's memory, which its text describes.
func remembered(text string) facts {
	return facts{atoms: []atom{{about: text, memory: true}}, whole: true}
}

// all combines the facts of conditions that all hold.
func all(conditions []Condition) facts {
	f := facts{whole: true}
	for _, c := range conditions {
		f.atoms = append(f.atoms, c.facts.atoms...)
		f.whole = f.whole && c.facts.whole
	}
	return f
}

// anyOf combines the facts of conditions of which one holds.
func anyOf(conditions []Condition) facts {
	f := facts{whole: true}
	var kinds, keys []string
	memory := false
	for _, c := range conditions {
		f.whole = f.whole && c.facts.whole
		kinds = append(kinds, c.facts.kinds()...)
		keys = append(keys, c.facts.key())
		memory = memory || c.facts.memory()
	}
	slices.Sort(kinds)
	f.atoms = append(f.atoms, atom{about: aboutWhat, in: slices.Compact(kinds)})
	if f.whole {
		f.atoms = append(f.atoms, atom{about: "(" + strings.Join(keys, " or ") + ")", memory: memory})
	}
	return f
}

// not is the facts when the condition does not hold.
func (f facts) not() facts {
	if !f.whole {
		return facts{}
	}
	if len(f.atoms) == 1 && f.atoms[0].about == aboutWhat {
		return happened(
			slices.DeleteFunc(slices.Clone(everything),
				func(k string) bool { return slices.Contains(f.atoms[0].in, k) })...)
	}
	return facts{atoms: []atom{{about: "not (" + f.key() + ")", memory: f.memory()}}, whole: true}
}

// kinds are the kinds of moment at which the condition may hold.
func (f facts) kinds() []string {
	kinds := slices.Clone(everything)
	for _, a := range f.atoms {
		if a.about == aboutWhat {
			kinds = slices.DeleteFunc(kinds, func(k string) bool { return !slices.Contains(a.in, k) })
		}
	}
	return kinds
}

// key is a text that two whole conditions share only if they hold at the same moments.
func (f facts) key() string {
	var keys []string
	for _, a := range f.atoms {
		key := a.about
		if a.in != nil {
			in := slices.Sorted(slices.Values(a.in))
			key = fmt.Sprintf("%s=%q", key, in)
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return strings.Join(slices.Compact(keys), " and ")
}

func (f facts) memory() bool {
	return slices.ContainsFunc(f.atoms, func(a atom) bool { return a.memory })
}

// impossible says why the condition can never hold, or is empty if it may.
func (f facts) impossible() string {
	for i, a := range f.atoms {
		for _, b := range f.atoms[:i] {
			if a.about == b.about && a.in != nil &&
				!slices.ContainsFunc(a.in, func(v string) bool { return slices.Contains(b.in, v) }) {
				return fmt.Sprintf("%s cannot be %s and %s at once", a.about, orWords(b.in), orWords(a.in))
			}
		}
	}
	if len(f.kinds()) == 0 { // no two atoms exclude each other, but all together do
		return "no moment is of all the kinds that it requires"
	}
	return ""
}

// implies reports that the other condition, which must be whole, holds wherever this one does.
func (f facts) implies(other facts) bool {
	return other.whole &&
		!slices.ContainsFunc(other.atoms, func(a atom) bool { return !slices.ContainsFunc(f.atoms, a.impliedBy) })
}

func (a atom) impliedBy(b atom) bool {
	if a.about != b.about {
		return false
	}
	return a.in == nil || !slices.ContainsFunc(b.in, func(v string) bool { return !slices.Contains(a.in, v) })
}

func orWords(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, " or ")
}

// inText renders values as texts.
func inText[T any](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = fmt.Sprint(v)
	}
	return out
}
