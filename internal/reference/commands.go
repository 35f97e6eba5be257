package reference

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// Commands describes the commands below a node with their arguments and flags, as a chapter of headings and tables. It
// leaves out hidden commands, and those for which skip returns true. If the last row of a flag says the same, only the
// flag is listed.
func Commands(node *kong.Node, skip func(*kong.Node) bool) string {
	var b strings.Builder
	commands(&b, node, skip, map[string]string{})
	return b.String()
}

func commands(b *strings.Builder, node *kong.Node, skip func(*kong.Node) bool, shown map[string]string) {
	for _, c := range node.Children {
		switch {
		case c.Hidden || skip != nil && skip(c):
		case c.Leaf():
			command(b, c, shown)
		default:
			commands(b, c, skip, shown)
		}
	}
}

// Flags describes the flags of a node itself, as a table.
func Flags(node *kong.Node) string {
	var b strings.Builder
	flags(&b, node, map[string]string{})
	return b.String()
}

func command(b *strings.Builder, c *kong.Node, shown map[string]string) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n\n", c.FullPath(), c.Help)
	if !c.Passthrough {
		fmt.Fprintf(b, "    lockstep %s\n", c.Summary())
	}
	detail(b, c.Detail)
	flags(b, c, shown)
}

// flags writes the table of arguments and flags, if there are any. Those whose last row, in shown, says the same are
// named below it.
func flags(b *strings.Builder, c *kong.Node, shown map[string]string) {
	var rows, above []string
	row := func(name string, value *kong.Value) {
		text := fmt.Sprintf("| %s | %s |", code(name), cell(kong.DefaultHelpValueFormatter(value)))
		if shown[name] == text {
			above = append(above, code(name))
			return
		}
		shown[name] = text
		rows = append(rows, text)
	}
	if !c.Passthrough {
		for _, p := range c.Positional {
			row(p.Summary(), p)
		}
	}
	for _, f := range c.Flags {
		if !f.Hidden {
			row(flag(f), f.Value)
		}
	}
	if len(rows) > 0 {
		fmt.Fprintf(b, "\n| argument or flag | meaning |\n|---|---|\n%s\n", strings.Join(rows, "\n"))
	}
	if len(above) > 0 {
		fmt.Fprintf(b, "\n%s\n", fill("As above: "+strings.Join(above, ", ")+".", 118))
	}
}

// flag returns a flag as the user types it.
func flag(f *kong.Flag) string {
	name := "--" + f.Name
	if f.Short != 0 {
		name = fmt.Sprintf("-%c, %s", f.Short, name)
	}
	if !f.IsBool() && !f.IsCounter() {
		name += "=" + f.FormatPlaceHolder()
	}
	return name
}

// detail writes the longer help of a command. Lines that begin with two spaces are code.
func detail(b *strings.Builder, text string) {
	var paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			fmt.Fprintf(b, "\n%s\n", plain(strings.Join(paragraph, " ")))
		}
		paragraph = nil
	}
	inCode := false
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		example, isCode := strings.CutPrefix(line, "  ")
		switch {
		case isCode:
			end()
			if !inCode {
				b.WriteByte('\n')
			}
			fmt.Fprintf(b, "    %s\n", example)
		case line == "":
			end()
		default:
			paragraph = append(paragraph, line)
		}
		inCode = isCode
	}
	end()
}

// plain returns a paragraph of help as Markdown, in lines of at most 118 columns.
func plain(line string) string {
	return fill(strings.NewReplacer("<", `\<`, "*", `\*`).Replace(line), 118)
}

// fill breaks a text into lines.
func fill(text string, columns int) string {
	var b strings.Builder
	width := 0
	for word := range strings.FieldsSeq(text) {
		switch n := len([]rune(word)); {
		case width == 0:
			width = n
		case width+1+n > columns:
			b.WriteByte('\n')
			width = n
		default:
			b.WriteByte(' ')
			width += 1 + n
		}
		b.WriteString(word)
	}
	return b.String()
}
