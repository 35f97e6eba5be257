package reference

import (
	"os"
	"regexp"
	"strings"
)

// Line is a command line of lockstep on a page of the documentation.
type Line struct {
	// Page is the file, and Number the line of the page, counted from 1.
	Page   string
	Number int
	// Args are the arguments, as a shell passes them on.
	Args []string
	// Mention is set in running text and in overviews, where a command may lack arguments, or have words in capitals
	// for them.
	Mention bool
}

// shellCode is a piece of code of a page that a reader may paste into a shell.
type shellCode struct {
	number  int
	text    string
	mention bool
}

var (
	inline     = regexp.MustCompile("`((?:\\./)?(?:bin/)?lockstep [^`]+)`")
	assignment = regexp.MustCompile(`^[A-Z][A-Z0-9_]*=`)
	fenceBegin = regexp.MustCompile("^\\s*```(\\w*)")
)

// Lines returns the command lines of lockstep on a page: those in blocks of code, and those in running text. Variables
// that the page sets have their values. Others are empty, or in quotes 1.
func Lines(page string) ([]Line, error) {
	data, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	var all []Line
	vars := map[string]string{}
	for _, c := range shellCodes(strings.Split(string(data), "\n")) {
		for _, words := range splitShell(c.text, vars) {
			name, value, _ := strings.Cut(words[0], "=")
			switch {
			case len(words) == 1 && assignment.MatchString(words[0]):
				vars[name] = value
				continue
			case assignment.MatchString(words[0]):
				words = words[1:]
			}
			if words[0] == "lockstep" || strings.HasSuffix(words[0], "bin/lockstep") {
				all = append(all, Line{Page: page, Number: c.number, Args: words[1:], Mention: c.mention})
			}
		}
	}
	return all, nil
}

// shellCodes returns the pieces of code of a page: lines of fenced and of indented blocks, with the lines that continue
// them, and code in running text. In an indented block deeper lines continue a line, and three blanks end it: a
// description follows.
func shellCodes(lines []string) []shellCode {
	var all []shellCode
	fence, fenced := "", false
	for i := 0; i < len(lines); i++ {
		begin, line, described := i, lines[i], false
		if m := fenceBegin.FindStringSubmatch(line); m != nil {
			fence, fenced = m[1], !fenced
			continue
		}
		indented := !fenced && strings.HasPrefix(line, "    ")
		if !fenced && !indented {
			for _, m := range inline.FindAllStringSubmatch(line, -1) {
				all = append(all, shellCode{i + 1, strings.ReplaceAll(m[1], `\|`, "|"), true})
			}
			continue
		}
		text := strings.TrimSpace(line)
		if fenced && fence == "console" && !strings.HasPrefix(text, "$ ") {
			continue
		}
		text = strings.TrimPrefix(text, "$ ")
		for i+1 < len(lines) {
			before, backslash := strings.CutSuffix(text, `\`)
			next := strings.TrimPrefix(lines[i+1], ">")
			if !backslash && !(indented && indent(next) > indent(line)) {
				break
			}
			i++
			text = strings.TrimSpace(before) + " " + strings.TrimSpace(next)
		}
		if indented {
			text, _, described = strings.Cut(text, "   ")
		}
		if strings.HasSuffix(text, "[flags]") {
			continue // generated from the command line itself
		}
		if fence == "yaml" || indented || fence == "sh" || fence == "console" || fence == "bash" {
			text = strings.TrimPrefix(strings.TrimPrefix(text, "- "), "run: ")
			all = append(all, shellCode{begin + 1, text, described})
		}
	}
	return all
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// shellSplitter splits shell code into simple commands of words, as far as the documentation needs it.
type shellSplitter struct {
	vars     map[string]string
	commands [][]string
	words    []string
	word     strings.Builder
	open     bool // there is a word, which may be empty
	target   bool // the word is the file of a redirection
}

// splitShell splits shell code into its simple commands, without redirections and comments.
func splitShell(text string, vars map[string]string) [][]string {
	s := &shellSplitter{vars: vars}
	for len(text) > 0 {
		text = s.next(text)
	}
	s.endCommand()
	return s.commands
}

// next takes the first piece of the text and returns the rest.
func (s *shellSplitter) next(text string) string {
	switch c := text[0]; c {
	case ' ', '\t', '\n':
		s.endWord()
	case '\'':
		s.open = true
		quoted, rest, _ := strings.Cut(text[1:], "'")
		s.word.WriteString(quoted)
		return rest
	case '"':
		s.open = true
		return s.quoted(text[1:])
	case '|', ';', '&', '(', ')':
		s.endCommand()
	case '<', '>':
		if w := s.word.String(); w == "2" || w == "1" {
			s.word.Reset()
			s.open = false
		}
		s.endWord()
		s.target = true
	case '#':
		if !s.open {
			return ""
		}
		s.put(c)
	case '$':
		return s.variable(text, false)
	case '\\':
		if len(text) > 1 {
			s.put(text[1])
			return text[2:]
		}
	default:
		s.put(c)
	}
	return text[1:]
}

// quoted takes the rest of a text in double quotes.
func (s *shellSplitter) quoted(text string) string {
	for len(text) > 0 && text[0] != '"' {
		if text[0] == '$' {
			text = s.variable(text, true)
			continue
		}
		s.put(text[0])
		text = text[1:]
	}
	return strings.TrimPrefix(text, `"`)
}

var variableName = regexp.MustCompile(`^\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?`)

// variable takes a variable or the begin of a substituted command.
func (s *shellSplitter) variable(text string, quoted bool) string {
	m := variableName.FindStringSubmatch(text)
	if m == nil {
		if strings.HasPrefix(text, "$(") && !quoted {
			s.endCommand()
			return text[2:]
		}
		s.put('$')
		return text[1:]
	}
	value, ok := s.vars[m[1]]
	if !ok && quoted {
		value = "1"
	}
	for _, c := range []byte(value) {
		if c == ' ' && !quoted && s.valued() {
			s.endWord()
			continue
		}
		s.put(c)
	}
	return text[len(m[0]):]
}

// valued reports whether the word is not the value of an assignment, which is not split.
func (s *shellSplitter) valued() bool {
	return len(s.words) > 0 || !assignment.MatchString(s.word.String())
}

func (s *shellSplitter) put(c byte) {
	s.open = true
	s.word.WriteByte(c)
}

func (s *shellSplitter) endWord() {
	if s.open {
		if !s.target {
			s.words = append(s.words, s.word.String())
		}
		s.target = false
	}
	s.word.Reset()
	s.open = false
}

func (s *shellSplitter) endCommand() {
	s.endWord()
	if len(s.words) > 0 {
		s.commands = append(s.commands, s.words)
	}
	s.words, s.target = nil, false
}
