// Package pagetest checks that no text breaks out of its place in a page or an output line.
package pagetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// Tag is a tag of an HTML page with the names of its attributes.
type Tag struct{ Name, Attributes string }

// Tags reads the tags of a page as a browser would: everything between < and >, with attribute values in quotes, and
// nothing inside scripts and styles.
func Tags(page string) (list []Tag, scripts []string) {
	for {
		at := strings.IndexByte(page, '<')
		if at < 0 {
			return list, scripts
		}
		var one Tag
		one, page = readTag(page[at+1:])
		list = append(list, one)
		if one.Name == "script" || one.Name == "style" {
			end := strings.Index(strings.ToLower(page), "</"+one.Name)
			if end < 0 {
				return append(list, Tag{"unclosed " + one.Name, ""}), scripts
			}
			if one.Name == "script" {
				scripts = append(scripts, page[:end])
			}
			page = page[end:]
		}
	}
}

func readTag(s string) (Tag, string) {
	end := strings.IndexAny(s, " \t\n\r/>")
	if strings.HasPrefix(s, "/") {
		end = 1 + strings.IndexAny(s[1:], " \t\n\r/>")
	}
	if end < 0 {
		return Tag{s, ""}, ""
	}
	t := Tag{Name: strings.ToLower(s[:end])}
	var attributes []string
	for s = s[end:]; ; {
		s = strings.TrimLeft(s, " \t\n\r/")
		if s == "" || s[0] == '>' {
			t.Attributes = strings.Join(attributes, " ")
			return t, strings.TrimPrefix(s, ">")
		}
		end := strings.IndexAny(s, "= \t\n\r/>")
		if end < 0 {
			return t, ""
		}
		attributes = append(attributes, strings.ToLower(s[:end]))
		s = s[end:]
		if !strings.HasPrefix(s, "=") {
			continue
		}
		if s = s[1:]; s != "" && (s[0] == '"' || s[0] == '\'') {
			close := strings.IndexByte(s[1:], s[0])
			if close < 0 {
				return t, ""
			}
			s = s[close+2:]
		} else {
			attributes = append(attributes, "unquoted")
		}
	}
}

// Write returns the output of a renderer.
func Write(t testing.TB, render func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := render(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Check checks that a page has only known tags and this number of scripts.
func Check(t testing.TB, page string, known map[Tag]bool, scripts int) {
	t.Helper()
	if !utf8.ValidString(page) {
		t.Error("the page is not UTF-8")
	}
	list, found := Tags(page)
	for _, one := range list {
		if !known[one] {
			t.Fatalf("a text became the tag %+v", one)
		}
	}
	if len(found) != scripts {
		t.Fatalf("%d scripts, want %d", len(found), scripts)
	}
	if scripts > 0 {
		var data []any
		if err := json.Unmarshal([]byte(found[0]), &data); err != nil {
			t.Fatalf("the data of the page cannot be read: %v", err)
		}
	}
}

// CheckLines checks that a text has this number of lines, if it is known, and no control characters.
func CheckLines(t testing.TB, what, text string, want int) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if want >= 0 && len(lines) != want {
		t.Errorf("%s has %d lines, want %d", what, len(lines), want)
	}
	for _, line := range lines {
		if i := strings.IndexFunc(line, unicode.IsControl); i >= 0 {
			t.Fatalf("%s holds a control character: %q", what, line)
		}
	}
}

// Nasties are texts that must not break out of their place.
func Nasties() []string {
	return []string{
		"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "</script><script>alert(1)</script>", "<!-- ",
		"]]>", "-->",
		"' onmouseover='alert(1)", "javascript:alert(1)", "${alert(1)}", "{{.}}", "&lt;b&gt;",
		"\x00\x01\x1b[31mred\x1b[0m", "a\r\nb\tc",
		"\xff\xfe invalid \xc3\x28", "\u2028\u2029\ufffe", "\u202ereversed\u2066", strings.Repeat("long ", 500),
		"a=1 b=<b> c=\"", "%0A::error::x",
		"line\n::error::injected", "",
	}
}

// Name names a nasty text.
func Name(i int, text string) string { return fmt.Sprintf("%d %.12q", i, text) }
