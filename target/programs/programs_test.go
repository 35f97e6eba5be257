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
		dir := filepath.Join("..", "..", strings.TrimPrefix(p.Module, target.Root))
		for _, file := range []string{"go.mod", "program/main.go"} {
			if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
				t.Errorf("%s: %v", p.Name, err)
			}
		}
	}
}
