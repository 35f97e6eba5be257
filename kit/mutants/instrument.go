package mutants

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Instrument inserts the mutants into the files of the library. It returns the changed and new files, ordered by
// name. It inserts each switch within a line, so that the library's line numbers stay the same.
func Instrument(module fs.FS, list []Mutant) ([]File, error) {
	var files []File
	for _, name := range names(list, func(m Mutant) string { return m.File }) {
		text, err := fs.ReadFile(module, name)
		if err != nil {
			return nil, err
		}
		text, err = instrument(name, text, list)
		if err != nil {
			return nil, err
		}
		files = append(files, File{name, text})
	}
	for _, dir := range names(list, func(m Mutant) string { return path.Dir(m.File) }) {
		text, err := switches(module, dir, list)
		if err != nil {
			return nil, err
		}
		files = append(files, File{path.Join(dir, "lockstep_mutants.go"), text})
	}
	return files, nil
}

// File is a file of the instrumented library.
type File struct {
	// Name is its path in the module, with slashes.
	Name string
	Text []byte
}

// names lists one attribute of the mutants, sorted and without duplicates.
func names(list []Mutant, of func(Mutant) string) []string {
	var all []string
	for _, m := range list {
		all = append(all, of(m))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// insertion is a piece of text that goes into a file. Insertions at one position are ordered by rank, so that the
// enclosing text stays outside.
type insertion struct {
	at, rank int
	text     string
}

// instrument inserts the mutants of one file into its text.
func instrument(name string, text []byte, list []Mutant) ([]byte, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var all []insertion
	for i, m := range list {
		if m.File != name {
			continue
		}
		node, err := locate(set, file, m)
		if err != nil {
			return nil, err
		}
		from, to := set.Position(node.Pos()).Offset, set.Position(node.End()).Offset
		open, end := "if !"+m.variable()+" { ", " }"
		if m.Stmt == "" {
			open, end = "lockstepMutated("+m.variable()+", ", ", "+m.By+")"
		}
		size := (to-from)*len(list) + len(list) - i // the longer one encloses the other
		all = append(all, insertion{from, -size, open}, insertion{to, size, end})
	}
	text, err = format.Source(splice(text, all))
	if err != nil {
		return nil, fmt.Errorf("%s with the mutants: %w", name, err)
	}
	return text, nil
}

// splice inserts texts.
func splice(text []byte, all []insertion) []byte {
	slices.SortStableFunc(all, func(a, b insertion) int {
		if a.at != b.at {
			return a.at - b.at
		}
		return order(a) - order(b)
	})
	var out bytes.Buffer
	done := 0
	for _, in := range all {
		out.Write(text[done:in.at])
		out.WriteString(in.text)
		done = in.at
	}
	out.Write(text[done:])
	return out.Bytes()
}

// order sorts the insertions at one position: first the ends, the shorter ones before the longer ones, then the
// beginnings, the longer ones first.
func order(in insertion) int {
	if in.rank > 0 {
		return in.rank - 1<<40
	}
	return in.rank
}

// locate finds the node that a mutant changes.
func locate(set *token.FileSet, file *ast.File, m Mutant) (ast.Node, error) {
	var within *ast.FuncDecl
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && funcName(f) == m.Func {
			within = f
		}
	}
	if within == nil {
		return nil, fmt.Errorf(
			"mutant %s: %s has no function %s; the mutants are made for another version of the library", m.Name, m.File,
			m.Func)
	}
	want := m.Expr
	if m.Stmt != "" {
		want = m.Stmt
	}
	var found []ast.Node
	ast.Inspect(within, func(n ast.Node) bool {
		_, expr := n.(ast.Expr)
		_, stmt := n.(ast.Stmt)
		if (expr && m.Expr != "" || stmt && m.Stmt != "") && source(set, n) == want {
			found = append(found, n)
		}
		return true
	})
	if len(found) != 1 {
		return nil, fmt.Errorf(
			"mutant %s: %q is %d times in %s of %s, it must be there once; the mutants are made for another version of the "+
				"library",
			m.Name,
			want,
			len(found),
			m.Func,
			m.File,
		)
	}
	return found[0], nil
}

// funcName is "name", or "type.name" for a method.
func funcName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name + "." + f.Name.Name
	}
	return f.Name.Name
}

// source is the text of a node in one line, without comments.
func source(set *token.FileSet, n ast.Node) string {
	var out strings.Builder
	if err := printer.Fprint(&out, set, n); err != nil {
		return ""
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

// variable is the name of the switch.
func (m Mutant) variable() string { return "lockstepMutant_" + strings.ReplaceAll(m.Name, "-", "_") }

// switches is the file with the switches of a package. Every package knows all names, so that it can reject an
// unknown one.
func switches(module fs.FS, dir string, list []Mutant) ([]byte, error) {
	i := slices.IndexFunc(list, func(m Mutant) bool { return path.Dir(m.File) == dir })
	text, err := fs.ReadFile(module, list[i].File)
	if err != nil {
		return nil, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), list[i].File, text, parser.PackageClauseOnly)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	fmt.Fprintf(
		&out,
		"package %s\n\nimport \"os\"\n\nvar lockstepMutant = os.Getenv(%q)\n\nfunc init() {\nswitch lockstepMutant "+
			"{\ncase \"\"",
		file.Name,
		Variable,
	)
	for _, m := range list {
		fmt.Fprintf(&out, ", %q", m.Name)
	}
	fmt.Fprintf(&out, ":\ndefault:\npanic(\"unknown mutant in %s: \" + lockstepMutant)\n}\n}\n\nvar (\n", Variable)
	for _, m := range list {
		if path.Dir(m.File) == dir {
			fmt.Fprintf(&out, "%s = lockstepMutant == %q\n", m.variable(), m.Name)
		}
	}
	out.WriteString(")\n\nfunc lockstepMutated[T any](on bool, was, is T) T {\nif on {\nreturn is\n}\nreturn was\n}\n")
	return format.Source(out.Bytes())
}
