// Package source writes the page that shows which statements of a system the runs of a campaign executed.
package source

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/lockstep-go/lockstep/coverage/code"
	"github.com/lockstep-go/lockstep/report/internal/page"
)

//go:embed page.html
var body string

var parsed = page.Parse("source", body)

// maxFile is the size of the largest source file that is shown.
const maxFile = 4 << 20

// pageData is the content of the page.
type pageData struct {
	Title  string
	Report *code.Report
	Files  []fileData
}

// Program reports that the page has no script.
func (pageData) Program() bool { return false }

// fileData is a file with its text, or the reason why there is none.
type fileData struct {
	Name    string
	Count   code.Count
	Pieces  []piece
	Missing string
}

// piece is a text with one state.
type piece struct{ Class, Text string }

// Page writes the measurement of a campaign on a target with the sources of its files, which it finds in the
// directories of the modules.
func Page(w io.Writer, target string, m *code.Meter, modules map[string]string) error {
	data := pageData{Title: "Statements of " + target + " that runs executed", Report: m.Report()}
	for _, f := range m.Files() {
		shown := fileData{Name: f.Name, Count: f.Count}
		if text, err := read(f.Name, modules); err != nil {
			shown.Missing = err.Error()
		} else {
			shown.Pieces = pieces(string(text), &f)
		}
		data.Files = append(data.Files, shown)
	}
	return page.Render(w, parsed, data)
}

// read reads a source file of one of the modules: the one with the longest path, because modules may be nested.
func read(name string, modules map[string]string) ([]byte, error) {
	for module := path.Dir(name); module != "."; module = path.Dir(module) {
		dir, ok := modules[module]
		if !ok {
			continue
		}
		file := filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(name, module)))
		info, err := os.Stat(file)
		if err != nil || info.Size() > maxFile {
			return nil, fmt.Errorf("its source is not in %s", dir)
		}
		return os.ReadFile(file)
	}
	return nil, fmt.Errorf("its module is not known")
}

// classes are the styles of the states. Text outside of all blocks has none.
var classes = map[code.State]string{
	code.Never: "never", code.UnderFaults: "under-faults", code.WithoutFaults: "without-faults",
}

// pieces divides the text of a file by the states of its blocks. A block inside of another one hides it.
func pieces(text string, f *code.File) []piece {
	lines := []int{0} // where each line begins
	for i := range len(text) {
		if text[i] == '\n' {
			lines = append(lines, i+1)
		}
	}
	offset := func(line, column int) int {
		if line < 1 || line > len(lines) {
			return len(text)
		}
		return min(lines[line-1]+max(column-1, 0), len(text))
	}
	paint := make([]string, len(text))
	for i, b := range f.Blocks {
		from, to := offset(b.StartLine, b.StartColumn), offset(b.EndLine, b.EndColumn)
		for at := from; at < to; at++ {
			paint[at] = classes[f.States[i]]
		}
	}
	var list []piece
	for from := 0; from < len(text); {
		to := from + 1
		for to < len(text) && paint[to] == paint[from] {
			to++
		}
		list = append(list, piece{paint[from], text[from:to]})
		from = to
	}
	return list
}

// Percent formats a share of statements.
func Percent(part, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(of))
}

// Share is the share of executed statements.
func (f fileData) Share() string { return Percent(f.Count.Executed, f.Count.Statements) }

// Share is the share of executed statements of a package.
func (pageData) Share(c code.Count) string { return Percent(c.Executed, c.Statements) }
