// Package reference generates the reference pages of the documentation from the code: the command line, the strategies,
// the options of targets and the schema of the JSON output.
//
// A generated part of a page is between the lines <!-- NAME --> and <!-- end of NAME -->. Tests in this package, in the
// modules of targets and in the module fleet compare the parts with the code. The command "make reference" writes them.
package reference

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// rewriteVariable is the environment variable with which tests write the generated parts instead of comparing them.
const rewriteVariable = "LOCKSTEP_REWRITE"

// Check compares the generated part of a page with its text. The error says how to generate the part.
func Check(page, name, text string) error {
	data, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->\n"
	before, rest, ok := strings.Cut(string(data), begin)
	shown, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		return fmt.Errorf("%s has no lines %q and %q", page, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	text = "\n" + strings.Trim(text, "\n") + "\n\n"
	if shown == text {
		return nil
	}
	if os.Getenv(rewriteVariable) != "" {
		return os.WriteFile(page, []byte(before+begin+text+end+after), 0o666)
	}
	return fmt.Errorf("the part %q of %s differs from the code; \"make reference\" generates it. %s",
		name, filepath.Base(page), difference(shown, text))
}

// difference describes the first line in which two texts differ.
func difference(shown, want string) string {
	a, b := strings.Split(shown, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("Line %d of the part is\n%s\nand should be\n%s", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("The part has %d lines and should have %d", len(a), len(b))
}

// cell returns a text that can stand in a cell of a Markdown table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", `\<`, "*", `\*`).Replace(text)
}

// code returns a text as code in a cell.
func code(text string) string { return "`" + strings.ReplaceAll(text, "|", `\|`) + "`" }
