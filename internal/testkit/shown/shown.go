// Package shown checks that an example shows every exported function and method of a package.
package shown

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Verbs fails the test for each exported function and method of the package in a directory that no example names or
// calls. It ignores types: a call of any method of the same name counts. except names the methods of interfaces, which
// other packages call.
func Verbs(t testing.TB, dir string, except ...string) {
	t.Helper()
	missing, err := without(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range missing {
		if name := verb[strings.LastIndexByte(verb, '.')+1:]; !slices.Contains(except, name) {
			t.Errorf("%s: no example shows %s", dir, verb)
		}
	}
}

// without lists the functions and methods that no example shows, as "Func" or "Type.Method".
func without(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	verbs, used := map[string]bool{}, map[string]bool{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			switch {
			case !ok:
			case !strings.HasSuffix(name, "_test.go"):
				if verb := exported(f); verb != "" {
					verbs[verb] = true
				}
			case strings.HasPrefix(f.Name.Name, "Example"):
				note(f, used)
			}
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(verbs)), func(verb string) bool {
		return used["Example"+strings.ReplaceAll(verb, ".", "_")] || used[verb[strings.LastIndexByte(verb, '.')+1:]]
	}), nil
}

// exported returns the name of a function or method, if other packages can call it.
func exported(f *ast.FuncDecl) string {
	if !f.Name.IsExported() {
		return ""
	}
	if f.Recv == nil {
		return f.Name.Name
	}
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if index, ok := of.(*ast.IndexExpr); ok { // of a type with a parameter
		of = index.X
	}
	id, ok := of.(*ast.Ident)
	if !ok || !id.IsExported() {
		return ""
	}
	return id.Name + "." + f.Name.Name
}

// note notes the name of an example, and every function that it calls or passes.
func note(f *ast.FuncDecl, used map[string]bool) {
	used[f.Name.Name] = true
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			used[s.Sel.Name] = true
		}
		return true
	})
}
