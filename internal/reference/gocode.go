package reference

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/lockstep-go/lockstep/target"
)

// Packages are the exported identifiers of the project's packages, by the name of the package. Packages of one name
// count as one.
type Packages map[string]*exported

// exported are the exported identifiers of a package.
type exported struct {
	names map[string]bool
	// fields are the names of the fields of each struct.
	fields map[string]map[string]bool
}

// ReadPackages reads the packages below a directory, without tests and programs.
func ReadPackages(root string) (Packages, error) {
	all := Packages{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && file != root && (name[0] == '.' || name == "testdata" || name == "out"):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		all.add(parsed)
		return nil
	})
	return all, err
}

// add adds the declarations of a file.
func (p Packages) add(file *ast.File) {
	of := p[file.Name.Name]
	if of == nil {
		of = &exported{names: map[string]bool{}, fields: map[string]map[string]bool{}}
		p[file.Name.Name] = of
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				of.names[d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				of.spec(s)
			}
		}
	}
}

// spec adds a type, variable or constant.
func (e *exported) spec(s ast.Spec) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			e.names[n.Name] = true
		}
	case *ast.TypeSpec:
		e.names[s.Name.Name] = true
		structure, ok := s.Type.(*ast.StructType)
		if !ok {
			return
		}
		fields := map[string]bool{}
		for _, f := range structure.Fields.List {
			for _, n := range f.Names {
				fields[n.Name] = true
			}
			if len(f.Names) == 0 {
				fields[typeName(f.Type)] = true
			}
		}
		if e.fields[s.Name.Name] == nil {
			e.fields[s.Name.Name] = fields
			return
		}
		for f := range fields { // of a package of the same name, or for another platform
			e.fields[s.Name.Name][f] = true
		}
	}
}

// typeName returns the name of a type without its package, pointer and parameters.
func typeName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.IndexExpr:
		return typeName(t.X)
	case *ast.IndexListExpr:
		return typeName(t.X)
	case *ast.SelectorExpr:
		return t.Sel.Name
	case *ast.Ident:
		return t.Name
	}
	return ""
}

var goBlock = regexp.MustCompile("(?ms)^```go\\b([^\n]*)\n(.*?)^```$")

// CheckGo checks the blocks of Go on a page: each is a file, declarations or statements; what they take from the
// project's packages exists; and the fields of literals of its structs do. The sign … stands for left out code. A
// block that belongs to a file may be any part of it: other tests make the file.
func (p Packages) CheckGo(page string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	c := goChecker{packages: p, declared: map[string]bool{}, foreign: map[string]bool{}}
	var files []*ast.File
	var problems []error
	for _, m := range goBlock.FindAllSubmatchIndex(text, -1) {
		file, err := parseBlock(string(text[m[4]:m[5]]))
		if err != nil && m[2] < m[3] {
			continue
		}
		if err != nil {
			line := strings.Count(string(text[:m[4]]), "\n")
			problems = append(problems, fmt.Errorf("%s: the block of line %d is no Go: %w", page, line, err))
			continue
		}
		files = append(files, file)
		c.declare(file)
	}
	for _, f := range files {
		ast.Inspect(f, c.visit)
	}
	for _, problem := range c.problems {
		problems = append(problems, fmt.Errorf("%s: %s", page, problem))
	}
	return errors.Join(problems...)
}

// parseBlock parses a block as a file, as declarations, or as statements after declarations.
func parseBlock(text string) (*ast.File, error) {
	text = strings.ReplaceAll(text, "…", "")
	var first error
	for _, format := range []string{"%s", "package p\n%s", "package p\nfunc _() {\n%s\n}"} {
		file, err := parser.ParseFile(token.NewFileSet(), "", fmt.Sprintf(format, text), parser.SkipObjectResolution)
		if err == nil {
			return file, nil
		}
		first = err // of the last form, that of statements
	}
	return nil, first
}

// goChecker checks the Go code of a page.
type goChecker struct {
	packages Packages
	// declared are the names that the page declares, and foreign the packages of others that it imports.
	declared, foreign map[string]bool
	problems          []string
}

// declare notes what a file declares and imports.
func (c *goChecker) declare(file *ast.File) {
	for _, i := range file.Imports {
		of := strings.Trim(i.Path.Value, `"`)
		if !strings.HasPrefix(of, target.Root) {
			c.foreign[packageName(of)] = true
		}
		if i.Name != nil {
			c.declared[i.Name.Name] = true
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			c.declared[n.Name.Name] = true
		case *ast.TypeSpec:
			c.declared[n.Name.Name] = true
		case *ast.ValueSpec:
			c.names(n.Names)
		case *ast.Field:
			c.names(n.Names)
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				if id, ok := l.(*ast.Ident); ok && n.Tok == token.DEFINE {
					c.declared[id.Name] = true
				}
			}
		}
		return true
	})
}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// packageName guesses the name of a package from its import path, whose last element may be a major version.
func packageName(of string) string {
	if majorVersion.MatchString(path.Base(of)) {
		of = path.Dir(of)
	}
	return path.Base(of)
}

func (c *goChecker) names(list []*ast.Ident) {
	for _, n := range list {
		c.declared[n.Name] = true
	}
}

// visit checks a node of the syntax tree.
func (c *goChecker) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		ast.Inspect(n.X, c.visit)
		of, name := c.selected(n)
		if of != nil && !of.names[name] {
			c.problems = append(c.problems, fmt.Sprintf("package %s has no %s", n.X.(*ast.Ident).Name, name))
		}
		return false
	case *ast.CompositeLit:
		c.literal(n)
	case *ast.KeyValueExpr:
		if _, ok := n.Key.(*ast.Ident); ok {
			ast.Inspect(n.Value, c.visit)
			return false
		}
	case *ast.Ident:
		if ast.IsExported(n.Name) && !c.declared[n.Name] && !c.exists(n.Name) {
			c.problems = append(c.problems, fmt.Sprintf("no package has %s", n.Name))
		}
	}
	return true
}

// selected returns the package of this project from which an expression takes a name, or nil.
func (c *goChecker) selected(s *ast.SelectorExpr) (*exported, string) {
	id, ok := s.X.(*ast.Ident)
	if !ok || c.declared[id.Name] || c.foreign[id.Name] {
		return nil, ""
	}
	return c.packages[id.Name], s.Sel.Name
}

// literal checks the keys of a literal of one of the project's structs.
func (c *goChecker) literal(l *ast.CompositeLit) {
	t := l.Type
	if i, ok := t.(*ast.IndexExpr); ok {
		t = i.X
	}
	s, ok := t.(*ast.SelectorExpr)
	if !ok {
		return
	}
	of, name := c.selected(s)
	if of == nil || of.fields[name] == nil {
		return
	}
	for _, e := range l.Elts {
		pair, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if key, ok := pair.Key.(*ast.Ident); ok && !of.fields[name][key.Name] {
			c.problems = append(c.problems, fmt.Sprintf("%s.%s has no field %s", s.X.(*ast.Ident).Name, name, key.Name))
		}
	}
}

// exists reports whether any package has an identifier, for code with imports of the form `import . "..."`.
func (c *goChecker) exists(name string) bool {
	for _, of := range c.packages {
		if of.names[name] {
			return true
		}
	}
	return false
}
