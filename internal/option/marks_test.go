package option_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/option"
)

// suspicious matches words in the name or the description of an option that may name a program, a file or a version to
// fetch.
var suspicious = regexp.MustCompile(
	`(?i)\b(bin|binary|program|command|executable|exec|script|shell|jar|jars|jvm|classpath|` +
		`file|files|path|directory|dir|directory|package|module|library|version|url|host|address|token|plugin)\b`,
)

// commands are the directories whose structs with descriptions are flags of commands, not options of targets and
// strategies.
var commands = map[string]bool{
	"cli":          true,
	"cmd":          true,
	"command":      true,
	"paper":        true,
	"fleet":        true,
	"testdata":     true,
	".git":         true,
	"node_modules": true,
}

// Every option of a target or strategy that may name a program, a file or a version to fetch has a trust tag. The test
// reads the source, so that it covers targets in separate modules.
func TestMarks(t *testing.T) {
	root := filepath.Join("..", "..")
	seen := map[option.Trust]int{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && commands[d.Name()]:
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		return checkMarks(t, path, seen)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []option.Trust{option.Executes, option.Reads, option.Fetches, option.Harmless} {
		if seen[kind] == 0 {
			t.Errorf("no option is marked %q: the test looks in the wrong place", kind)
		}
	}
}

// checkMarks checks the options in one file.
func checkMarks(t *testing.T, path string, seen map[option.Trust]int) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.StructType)
		if !ok {
			return true
		}
		for _, f := range s.Fields.List {
			if f.Tag == nil {
				continue
			}
			text, err := strconv.Unquote(f.Tag.Value)
			if err != nil {
				t.Fatal(err)
			}
			tag := reflect.StructTag(text)
			at := set.Position(f.Pos())
			help, described := tag.Lookup("help")
			trust, marked := tag.Lookup("trust")
			switch option.Trust(trust) {
			case "", option.Harmless, option.Executes, option.Reads, option.Fetches:
			default:
				t.Errorf("%s: the mark %q is none of those that there are", at, trust)
			}
			if known, ok := tag.Lookup("known"); ok &&
				(trust != string(option.Fetches) || len(strings.Fields(known)) == 0) {
				t.Errorf("%s: known values belong to options that are marked fetches", at)
			}
			seen[option.Trust(trust)]++
			if kind, ok := f.Type.(*ast.Ident); !described || marked || !ok || kind.Name != "string" {
				continue
			}
			for _, name := range f.Names {
				if word := suspicious.FindString(name.Name + " " + help); word != "" {
					t.Errorf(
						"%s: the option %s speaks of %q and has no mark: add trust:%q, %q or %q, or %q where its value names "+
							"nothing of the kind",
						at,
						name.Name,
						word,
						option.Executes,
						option.Reads,
						option.Fetches,
						option.Harmless,
					)
				}
			}
		}
		return true
	})
	return nil
}
