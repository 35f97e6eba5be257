package page

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
)

var (
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
	code    = regexp.MustCompile("(?m)`[^`\n]*`|^(?:    |\t).*$")
)

// BrokenLinks returns the relative links of pages whose target is missing: there is no such file, or no heading of that
// name. It ignores absolute links.
func BrokenLinks(pages ...string) ([]string, error) {
	var broken []string
	for _, page := range pages {
		data, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(fenced.ReplaceAllString(string(data), ""),
			""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if err := lead(page, m[1]); err != nil {
				broken = append(broken, fmt.Sprintf("%s: %s: %v", page, m[1], err))
			}
		}
	}
	return broken, nil
}

// lead checks the target of a page's link.
func lead(page, to string) error {
	file, anchor, _ := strings.Cut(to, "#")
	if file == "" {
		file = page
	} else {
		file = filepath.Join(filepath.Dir(page), file)
	}
	if _, err := os.Stat(file); err != nil || anchor == "" {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for _, h := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
		if anchorOf(h[1]) == anchor {
			return nil
		}
	}
	return fmt.Errorf("%s has no heading of that name", file)
}

// anchorOf returns the anchor of a heading.
func anchorOf(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ' || r == '-':
			return '-'
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
}
