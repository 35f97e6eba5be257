package copies

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// once is the package of a copy that has what the standard library has once for a process.
const once = "standardonce"

//go:embed standardonce.go.txt
var onceText []byte

// separate has the names that the copy has for itself: "net/http.Handle" is HTTP_Handle of the package once.
var separate = func() map[string]string {
	f, err := parser.ParseFile(token.NewFileSet(), "standardonce.go", onceText, parser.SkipObjectResolution)
	if err != nil {
		panic(err)
	}
	paths := map[string]string{"HTTP": "net/http", "Expvar": "expvar", "Flag": "flag", "Pprof": "runtime/pprof",
		"SQL": "database/sql", "RPC": "net/rpc"}
	names := map[string]string{}
	add := func(id *ast.Ident) {
		if prefix, name, ok := strings.Cut(id.Name, "_"); ok && paths[prefix] != "" {
			names[paths[prefix]+"."+name] = id.Name
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			add(d.Name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok {
					for _, id := range v.Names {
						add(id)
					}
				}
			}
		}
	}
	return names
}()

// sharedState lists what copies share although processes would not, and that cannot be separated.
var sharedState = []string{
	"encoding/gob.Register", "encoding/gob.RegisterName", "os.Exit", "log.SetOutput", "log.SetFlags", "log.Fatal",
	"log.Fatalf", "os.Setenv", "os.Chdir", "os/signal.Notify", "runtime/debug.SetGCPercent",
}

// writer writes one copy.
type writer struct {
	Copy
	set    map[string]*listed
	report *Report
}

func (w *writer) write(root string) error {
	for _, name := range slices.Sorted(maps.Keys(w.set)) {
		if err := w.writePackage(w.set[name], filepath.Join(root, filepath.FromSlash(name))); err != nil {
			return fmt.Errorf("copies: package %s: %w", name, err)
		}
	}
	slices.Sort(w.report.Separated)
	w.report.Separated = slices.Compact(w.report.Separated)
	slices.Sort(w.report.Shared)
	w.report.Shared = slices.Compact(w.report.Shared)
	return w.file(filepath.Join(root, once, once+".go"), onceText)
}

func (w *writer) file(name string, text []byte) error {
	w.report.Bytes += len(text)
	return errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, text, 0o666))
}

func (w *writer) writePackage(p *listed, to string) error {
	for _, name := range slices.Concat(p.GoFiles, p.SFiles, p.HFiles, p.EmbedFiles) {
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return err
		}
		switch {
		case slices.Contains(p.GoFiles, name):
			text, err = w.source(p, name, text)
		case !slices.Contains(p.EmbedFiles, name):
			text = w.assembly(text)
		}
		if err == nil {
			err = w.file(filepath.Join(to, filepath.FromSlash(name)), text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// edits are replacements in a text, by offsets. All else stays byte for byte, so that lines keep their numbers.
type edits []struct {
	from, to int
	text     string
}

func (e *edits) replace(from, to int, text string) {
	*e = append(*e, struct {
		from, to int
		text     string
	}{from, to, text})
}

func (e edits) apply(text []byte) []byte {
	slices.SortStableFunc(e, func(a, b struct {
		from, to int
		text     string
	}) int {
		return a.from - b.from
	})
	var out bytes.Buffer
	done := 0
	for _, x := range e {
		out.Write(text[done:x.from])
		out.WriteString(x.text)
		done = x.to
	}
	out.Write(text[done:])
	return out.Bytes()
}

// source rewrites a Go file.
func (w *writer) source(p *listed, name string, text []byte) ([]byte, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	// Positions do not follow //line comments.
	at := func(pos token.Pos) int { return fset.PositionFor(pos, false).Offset }
	line := func(pos token.Pos) int { return fset.PositionFor(pos, false).Line }
	var list edits
	names := map[string]string{} // import paths by the names in the file
	for _, i := range f.Imports {
		imported, _ := strconv.Unquote(i.Path.Value)
		switch {
		case w.set[imported] != nil:
			list.replace(at(i.Path.Pos()), at(i.Path.End()), strconv.Quote(w.prefix()+"/"+imported))
		case i.Name != nil:
			names[i.Name.Name] = imported
		default:
			names[path.Base(imported)] = imported
		}
	}
	used := w.separate(p, f, names, func(s *ast.SelectorExpr, by string) { list.replace(at(s.Pos()), at(s.End()), by) })
	if len(used) > 0 { // on the line of the package clause; the old imports stay in use
		list.replace(at(f.Name.End()), at(f.Name.End()), fmt.Sprintf("; import %s %q", once, w.prefix()+"/"+once))
	}
	version := language(p)
	for _, g := range f.Comments {
		for _, c := range g.List {
			from, to := at(c.Pos()), at(c.End())
			switch {
			case c.Pos() < f.Package && constraint.IsGoBuild(c.Text):
				// go list chose the file; its condition must not be asked again under other tags
				if x, err := constraint.Parse(c.Text); err == nil {
					version = max(version, minor(constraint.GoVersion(x)))
				}
				list.replace(from, to, "// "+c.Text[2:])
			case c.Pos() < f.Package && constraint.IsPlusBuild(c.Text):
				list.replace(from, to, "// condition: "+c.Text[2:])
			case strings.HasPrefix(c.Text, "//go:linkname "):
				list.replace(from, to, w.linkname(c.Text))
			case from > at(f.Name.End()) && line(c.Pos()) == line(f.Name.End()) && importComment.MatchString(c.Text):
				list.replace(from, to, "")
			}
		}
	}
	out := append([]byte(fmt.Sprintf("//go:build go1.%d\n\n", version)), list.apply(text)...)
	for _, u := range used {
		out = fmt.Appendf(out, "\nvar _ = %s\n", u)
	}
	return out, nil
}

// separate finds uses of what the copy has for itself, and notes uses of what it shares. It returns the old names,
// which keep their imports in use.
func (w *writer) separate(
	p *listed, f *ast.File, names map[string]string, replace func(*ast.SelectorExpr, string)) (used []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := s.X.(*ast.Ident)
		if !ok || x.Obj != nil {
			return true
		}
		full := names[x.Name] + "." + s.Sel.Name
		if by := separate[full]; by != "" {
			replace(s, once+"."+by)
			used = append(used, x.Name+"."+s.Sel.Name)
			w.report.Separated = append(w.report.Separated, p.ImportPath+": "+full)
		} else if slices.Contains(sharedState, full) {
			w.report.Shared = append(w.report.Shared, p.ImportPath+": "+full)
		}
		return true
	})
	slices.Sort(used)
	return slices.Compact(used)
}

// oldest is the oldest language version that a go:build line can select for a file of a newer module.
const oldest = 21

// language is the language version of a package's module, as the 25 of go1.25. The module that receives the copy has
// another one, which would change what loops mean.
func language(p *listed) int {
	if p.Module == nil {
		return oldest
	}
	return max(oldest, minor("go"+p.Module.GoVersion))
}

func minor(version string) (n int) {
	_, _ = fmt.Sscanf(version, "go1.%d", &n)
	return n
}

// linkname names the symbols of copied packages after the copy.
func (w *writer) linkname(text string) string {
	words := strings.Fields(text)
	if len(words) != 3 {
		return text
	}
	for dot := len(words[2]) - 1; dot > 0; dot-- { // the longest import path that fits
		if words[2][dot] == '.' && w.set[words[2][:dot]] != nil {
			return words[0] + " " + words[1] + " " + w.prefix() + "/" + words[2]
		}
	}
	return text
}

var (
	// mangled turns an import path into the form that assembly has.
	mangled = strings.NewReplacer("/", "\u2215", ".", "\u00b7")
	symbol  = regexp.MustCompile("[\\pL\\pN_\u2215\u00b7\\-]+\u2215[\\pL\\pN_\u2215\u00b7\\-]+\u00b7")

	importComment = regexp.MustCompile(`^(//|/\*)\s*import\s+"`)
)

// assembly names the symbols of copied packages after the copy.
func (w *writer) assembly(text []byte) []byte {
	return symbol.ReplaceAllFunc(text, func(s []byte) []byte {
		for known := range w.set {
			if string(s) == mangled.Replace(known)+"\u00b7" {
				return append([]byte(mangled.Replace(w.prefix())+"\u2215"), s...)
			}
		}
		return s
	})
}
