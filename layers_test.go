package lockstep_test

import (
	"cmp"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers is the architecture: a package imports packages of its own layer or of lower ones. A path includes the
// packages below it, unless a longer path says otherwise. Tests may import anything.
var layers = [][]string{
	{
		"trace",
		"isolation",
		"novelty",
		"cover",
		"coverage/model",
		"gen",
		"watchdog",
		"distal",
		"bubble/disk",
		"bubble/wire",
		"bubble/overlay",
		"kit/storage",
		"kit/failpoint",
		"clients",
		"examples/distal",
		"internal",
	},
	{"."},
	{"strategy", "scenario", "spec", "sim", "bubble", "process", "remote", "rounds", "kit", "target", "distal/system",
		"distal/conform", "distal/suite", "internal/offers", "internal/timers", "internal/build", "internal/modules"},
	{"lockstepform", "shrink", "replay"},
	{"artifact", "report", "compare", "coverage"},
	{"cli", "distal/command", "fleet", "locksteptest", "internal/batch"},
	{
		"cmd/lockstep",
		"fleet/program",
		"target/*",
		"remote/example",
		"examples",
		"reports",
		"internal/command",
		"internal/paper",
		"internal/reference",
		"internal/tables",
		"internal/integration",
		"internal/properties",
		"internal/selfmutants",
	},
	{"internal/testkit"},
}

// separate lists packages that must not import others of their own layer or of lower ones. Parts of the command line
// that are not commands on targets register themselves with cli.App.Commands. Both include the packages below them.
var separate = map[string][]string{"cli": {"distal", "fleet", "internal/paper"}}

// within reports whether a package is the one at a path or below it.
func within(pkg, at string) bool { return pkg == at || strings.HasPrefix(pkg, at+"/") }

// layerOf is the layer of a package, by the longest matching path in the table, or -1.
func layerOf(pkg string) int {
	layer, length := -1, -1
	for i, list := range layers {
		for _, at := range list {
			prefix, below := strings.CutSuffix(at, "/*")
			if within(pkg, prefix) && !(below && pkg == prefix) && len(at) > length {
				layer, length = i, len(at)
			}
		}
	}
	return layer
}

func TestLayers(t *testing.T) {
	const module = "github.com/lockstep-go/lockstep"
	checked := 0
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() &&
			(name == "testdata" || name != "." && strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		own := path.Dir(filepath.ToSlash(file))
		if layerOf(own) < 0 {
			t.Errorf("package %s is in no layer: add it to the table", own)
		}
		for _, spec := range f.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			rest, ours := strings.CutPrefix(name, module)
			if !ours {
				continue
			}
			checked++
			imported := cmp.Or(strings.TrimPrefix(rest, "/"), ".")
			if layerOf(imported) > layerOf(own) {
				t.Errorf("%s imports %s, which is in a higher layer (%d above %d)", file, imported, layerOf(imported),
					layerOf(own))
			}
			for at, others := range separate {
				if within(own, at) &&
					slices.ContainsFunc(others, func(other string) bool { return within(imported, other) }) {
					t.Errorf("%s imports %s, which %s must not know", file, imported, at)
				}
			}
		}
		return nil
	})
	if err != nil || checked < 500 {
		t.Errorf("%d imports checked: %v", checked, err)
	}
}
