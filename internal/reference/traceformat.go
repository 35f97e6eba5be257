package reference

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// traceLines are the kinds of line of a trace, with the types of package trace whose fields are their keys.
var traceLines = []struct{ title, of string }{
	{"Header", "Header"},
	{"Round", "Round"},
	{"Step", "stepLine"},
	{"Message", "Sent"},
	{"Lost message", "goneLine"},
	{"Event", "Event"},
	{"State", "State"},
	{"Log", "Log"},
	{"Verdict", "outcomeLine"},
}

// TraceFormat describes the lines of a trace file with their keys, given the directory of package trace. A key without
// a comment in the source is an error.
func TraceFormat(dir string) (string, error) {
	structs, err := readStructs(dir)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, l := range traceLines {
		fmt.Fprintf(&b, "\n### %s\n\n| key | meaning |\n|---|---|\n", l.title)
		rows, err := traceKeys(structs, l.of, "")
		if err != nil {
			return "", err
		}
		for _, r := range rows {
			fmt.Fprintf(&b, "| %s | %s |\n", code(r.name), cell(r.meaning))
		}
	}
	return b.String(), nil
}

// traceKey is a key of a line.
type traceKey struct{ name, meaning string }

// traceKeys lists the keys of a struct, those of embedded structs in place, and those of nested ones below their key.
func traceKeys(structs map[string]*ast.StructType, of, prefix string) ([]traceKey, error) {
	var rows []traceKey
	for _, f := range structs[of].Fields.List {
		kind := typeName(f.Type)
		if len(f.Names) == 0 {
			more, err := traceKeys(structs, kind, prefix)
			if err != nil {
				return nil, err
			}
			rows = append(rows, more...)
			continue
		}
		if f.Tag == nil {
			continue
		}
		tag, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			return nil, err
		}
		name, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		if name == "-" {
			continue
		}
		meaning := withoutName(strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " "), f.Names[0].Name)
		if meaning == "" {
			return nil, fmt.Errorf("%s.%s of package trace has no comment", of, f.Names[0])
		}
		if options != "" {
			meaning = "optional: " + meaning
		}
		rows = append(rows, traceKey{prefix + name, meaning})
		if structs[kind] != nil {
			more, err := traceKeys(structs, kind, prefix+name+".")
			if err != nil {
				return nil, err
			}
			rows = append(rows, more...)
		}
	}
	return rows, nil
}

// readStructs returns the structs of a package by name.
func readStructs(dir string) (map[string]*ast.StructType, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	all := map[string]*ast.StructType{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok {
				if of, ok := s.Type.(*ast.StructType); ok {
					all[s.Name.Name] = of
				}
			}
			return true
		})
	}
	return all, nil
}
