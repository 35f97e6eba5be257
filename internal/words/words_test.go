package words_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/words"
)

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n    int
		what string
		want string
	}{{0, "step", "0 steps"}, {1, "step", "1 step"}, {2, "step", "2 steps"}, {1, "message lost", "1 message lost"},
		{3, "message lost", "3 messages lost"},
		{2, "delivery that changed nothing", "2 deliveries that changed nothing"}} {
		if got := words.Count(c.n, c.what); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	for n, want := range []string{
		"runs these 0 runs 0 runs were", "run this run 1 run was", "runs these 2 runs 2 runs were",
	} {
		if got := words.Plural(n, "run") + " " + words.These(n, "run") + " " + words.Were(n, "run"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Untrusted texts change neither the cursor, colors, titles nor the direction of writing.
func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"plain, with ünïcode": "plain, with ünïcode", "\x1b[2Jgone": "?[2Jgone", "\x1b]0;title\a": "?]0;title?",
		"a\r\nb\tc":    "a??b?c",
		"\u009b31mred": "?31mred", "\x7f\x00": "??", "\u202eabc\u2066": "?abc?", "a\u2028b": "a?b", "\xff\xfe": "??",
	} {
		if got := words.Clean(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	var b strings.Builder
	if words.Printf(&b, "%s\t%d\t%v\n", "a\x1bb", 7, errors.New("c\nd")); b.String() != "a?b\t7\tc?d\n" {
		t.Errorf("%q", b.String())
	}
}

// A shell reads a quoted word as that word, whatever it contains.
func TestQuoted(t *testing.T) {
	for in, want := range map[string]string{
		"a/b.trace":  "a/b.trace",
		"$(touch x)": "'$(touch x)'",
		"a;`b`":      "'a;`b`'",
		"a b":        "'a b'",
		"it's":       `'it'\''s'`,
		"":           "''",
		"a=b!":       "'a=b!'",
		"{x}":        "'{x}'",
		"a\nb":       "'a\nb'",
		"é":          "é",
	} {
		if got := words.Quoted(in); got != want {
			t.Errorf("Quoted(%q) = %s, want %s", in, got, want)
		}
	}
}
