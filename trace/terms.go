package trace

import (
	"regexp"
	"slices"
)

// named are the parts of a finding's text that other texts of the run may have, too: numbers of more than one digit,
// numbers of things that most stores have, and names with a number such as keys.
var named = regexp.MustCompile(
	`\b(revision [0-9]+|watch [0-9]+|index [0-9]+|term [0-9]+|sequence [0-9]+|[A-Za-z]+[0-9]+|[0-9]{2,})\b`)

// maxTerms bounds the number of values of a finding that readers look for.
const maxTerms = 20

// Terms returns the values that a finding names, so that a reader can look for them in other texts of the run: its
// Values, and numbers and names in its text.
func (f Finding) Terms() []string {
	list := slices.Concat(f.Values, named.FindAllString(f.Text, -1))
	slices.Sort(list)
	list = slices.DeleteFunc(slices.Compact(list), func(v string) bool { return v == "" })
	return list[:min(len(list), maxTerms)]
}
