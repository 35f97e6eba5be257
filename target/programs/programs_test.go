package programs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/programs"
)

// Every description is complete, and its main package and module are in the repository.
func TestAll(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range programs.All {
		if err := p.Check(); err != nil {
			t.Error(err)
		}
		if p.Help == "" || seen[p.Name] {
			t.Errorf("%s has no help or is described twice", p.Name)
		}
		seen[p.Name] = true
		files := []string{p.Module + "/go.mod", p.Package + "/main.go"}
		if p.Border != "" { // the main package is generated
			files = []string{p.Module + "/go.mod", p.Package + "/border.go", p.Border + "/release.go"}
		}
		for _, file := range files {
			if _, err := os.Stat(filepath.Join("..", "..", strings.TrimPrefix(file, target.Root))); err != nil {
				t.Errorf("%s: %v", p.Name, err)
			}
		}
	}
}
