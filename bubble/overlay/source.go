package overlay

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// source is a file of the standard library and its edits.
type source struct {
	name  string // below src
	text  string
	files *token.FileSet
	tree  *ast.File
	edits []edit
	wrong []error
}

// edit replaces a range of the text.
type edit struct {
	from, to int
	with     string
}

// open reads a file of the standard library.
func open(goroot, name string) (*source, error) {
	path := filepath.Join(goroot, "src", filepath.FromSlash(name))
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := &source{name: name, text: string(text), files: token.NewFileSet()}
	s.tree, err = parser.ParseFile(s.files, path, text, parser.ParseComments|parser.SkipObjectResolution)
	return s, err
}

// refuse records that the file has other code than expected.
func (s *source) refuse(at token.Pos, format string, args ...any) {
	place := s.name
	if at.IsValid() {
		place = fmt.Sprintf("%s:%d", s.name, s.files.Position(at).Line)
	}
	s.wrong = append(s.wrong, fmt.Errorf("%s: %s", place, fmt.Sprintf(format, args...)))
}

func (s *source) offset(p token.Pos) int { return s.files.Position(p).Offset }

func (s *source) of(n ast.Node) string { return s.text[s.offset(n.Pos()):s.offset(n.End())] }

func (s *source) insert(at int, with string) { s.edits = append(s.edits, edit{at, at, with}) }

// function finds a function or, with a name like "(*T).name", a method.
func (s *source) function(name string) *ast.FuncDecl {
	for _, d := range s.tree.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil && s.nameOf(f) == name {
			return f
		}
	}
	s.refuse(token.NoPos, "there is no function %s", name)
	return nil
}

func (s *source) nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	return "(" + s.of(f.Recv.List[0].Type) + ")." + f.Name.Name
}

// begin inserts code at the beginning of a function.
func (s *source) begin(function, code string) {
	if f := s.function(function); f != nil {
		s.insert(s.offset(f.Body.Lbrace)+1, "\n"+code+"\n")
	}
}

// delegate makes methods of netFD call the method of the same name of the in-memory socket, if there is one.
func (s *source) delegate(methods ...string) {
	for _, name := range methods {
		f := s.function("(*netFD)." + name)
		if f == nil {
			continue
		}
		var args []string
		for _, p := range f.Type.Params.List {
			for _, n := range p.Names {
				args = append(args, n.Name)
			}
		}
		s.begin("(*netFD)."+name,
			fmt.Sprintf("if fd.mem != nil {\n\treturn fd.mem.%s(%s)\n}", name, strings.Join(args, ", ")))
	}
}

// structure finds a struct type.
func (s *source) structure(name string) *ast.StructType {
	for _, d := range s.tree.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range g.Specs {
			if t, ok := spec.(*ast.TypeSpec); ok && t.Name.Name == name {
				if st, ok := t.Type.(*ast.StructType); ok {
					return st
				}
			}
		}
	}
	s.refuse(token.NoPos, "there is no struct type %s", name)
	return nil
}

// field adds a field to a struct type, at its end.
func (s *source) field(structure, code string) {
	if st := s.structure(structure); st != nil {
		s.insert(s.offset(st.Fields.Closing), code+"\n")
	}
}

// fieldAfter adds a field to a struct type, after another one.
func (s *source) fieldAfter(structure, field, code string) {
	st := s.structure(structure)
	if st == nil {
		return
	}
	for _, f := range st.Fields.List {
		if len(f.Names) == 1 && f.Names[0].Name == field {
			s.insert(s.offset(f.End()), "\n"+code+"\n")
			return
		}
	}
	s.refuse(st.Pos(), "%s has no field %s", structure, field)
}

// retype changes the type of a field of a struct type.
func (s *source) retype(structure, field, old, with string) {
	st := s.structure(structure)
	if st == nil {
		return
	}
	for _, f := range st.Fields.List {
		for _, n := range f.Names {
			if n.Name == field && s.of(f.Type) == old {
				s.edits = append(s.edits, edit{s.offset(f.Type.Pos()), s.offset(f.Type.End()), with})
				return
			}
		}
	}
	s.refuse(st.Pos(), "%s has no field %s of type %s", structure, field, old)
}

// variable changes the initial value of a package-level variable, or the value of a constant.
func (s *source) variable(name, value string) {
	for _, d := range s.tree.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range g.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok && len(v.Names) == 1 && v.Names[0].Name == name &&
				len(v.Values) == 1 {
				s.edits = append(s.edits, edit{s.offset(v.Values[0].Pos()), s.offset(v.Values[0].End()), value})
				return
			}
		}
	}
	s.refuse(token.NoPos, "there is no variable %s with a value", name)
}

// statement finds the statement of a function that begins with a text. There must be exactly one.
func (s *source) statement(function, begins string) ast.Stmt {
	f := s.function(function)
	if f == nil {
		return nil
	}
	var found []ast.Stmt
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if st, ok := n.(ast.Stmt); ok && strings.HasPrefix(s.of(st), begins) {
			found = append(found, st)
			return false
		}
		return true
	})
	if len(found) != 1 {
		s.refuse(f.Pos(), "%s has %d statements that begin with %q, expected is one", function, len(found), begins)
		return nil
	}
	return found[0]
}

// after inserts code after a statement.
func (s *source) after(function, begins, code string) {
	if st := s.statement(function, begins); st != nil {
		s.insert(s.offset(st.End()), "\n"+code)
	}
}

func (s *source) before(function, begins, code string) {
	if st := s.statement(function, begins); st != nil {
		s.insert(s.offset(st.Pos()), code+"\n")
	}
}

// replace replaces an expression in a function, including its parameters. The expression must occur exactly once.
func (s *source) replace(function, old, with string) {
	f := s.function(function)
	if f == nil {
		return
	}
	var found []ast.Expr
	ast.Inspect(f, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok && s.of(e) == old {
			found = append(found, e)
			return false
		}
		return true
	})
	if len(found) != 1 {
		s.refuse(f.Pos(), "%s has %d times %q, expected is once", function, len(found), old)
		return
	}
	s.edits = append(s.edits, edit{s.offset(found[0].Pos()), s.offset(found[0].End()), with})
}

// every replaces all occurrences of an expression in the file.
func (s *source) every(old, with string) {
	found := 0
	ast.Inspect(s.tree, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if ok = ok && s.of(e) == old; ok {
			found++
			s.edits = append(s.edits, edit{s.offset(e.Pos()), s.offset(e.End()), with})
		}
		return !ok
	})
	if found == 0 {
		s.refuse(token.NoPos, "%q is nowhere", old)
	}
}

// link changes the target of a function that the linker resolves.
func (s *source) link(function, old, with string) {
	directive := "//go:linkname " + function + " " + old + "\n"
	at := strings.Index(s.text, directive)
	if n := strings.Count(s.text, directive); n != 1 {
		s.refuse(token.NoPos, "%s is linked to %s %d times, expected is once", function, old, n)
		return
	}
	end := at + len(directive) - 1
	s.edits = append(s.edits, edit{end - len(old), end, with})
}

// oneOf applies the first variant that fits, where releases of Go differ.
func (s *source) oneOf(variants ...func(*source)) {
	var wrong []error
	for _, edit := range variants {
		try := *s
		try.edits, try.wrong = slices.Clone(s.edits), nil
		if edit(&try); len(try.wrong) == 0 {
			s.edits = try.edits
			return
		}
		wrong = append(wrong, try.wrong...)
	}
	s.wrong = append(s.wrong, wrong...)
}

// result is the changed text.
func (s *source) result() (string, error) {
	if len(s.wrong) > 0 {
		return "", errors.Join(s.wrong...)
	}
	slices.SortStableFunc(s.edits, func(a, b edit) int { return a.from - b.from })
	var b strings.Builder
	at := 0
	for _, e := range s.edits {
		if e.from < at {
			return "", fmt.Errorf("%s: two edits overlap", s.name)
		}
		b.WriteString(s.text[at:e.from])
		b.WriteString(e.with)
		at = e.to
	}
	b.WriteString(s.text[at:])
	if _, err := parser.ParseFile(token.NewFileSet(), s.name, b.String(), 0); err != nil {
		return "", fmt.Errorf("%s does not parse after the edits: %w", s.name, err)
	}
	return b.String(), nil
}
