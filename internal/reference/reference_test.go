package reference_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/command"
	"github.com/lockstep-go/lockstep/internal/reference"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/etcd"
	"github.com/lockstep-go/lockstep/target/netrix"
)

// docs is the directory of the reference pages.
const docs = "../../docs/reference/"

// Every command and flag of the command line is on its page. The module fleet adds the commands of a fleet.
func TestReferenceOfCommands(t *testing.T) {
	model, err := command.App().Model()
	if err != nil {
		t.Fatal(err)
	}
	page := docs + "command-line.md"
	if err := reference.Check(page, "flags of every command", reference.Flags(model.Node)); err != nil {
		t.Error(err)
	}
	if err := reference.Check(page, "commands", reference.Commands(model.Node, nil)); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	flags := 0
	_ = kong.Visit(model, func(node kong.Visitable, next kong.Next) error {
		if f, ok := node.(*kong.Flag); ok && !f.Hidden {
			if flags++; !strings.Contains(string(text), "`--"+f.Name) && !strings.Contains(string(text), ", --"+f.Name) {
				t.Errorf("%s does not describe --%s", page, f.Name)
			}
		}
		return next(nil)
	})
	if flags < 50 {
		t.Errorf("only %d flags", flags)
	}
}

// Every target of the command is on the page that lists them.
func TestReferenceOfTargets(t *testing.T) {
	hasPage := func(target string) bool {
		_, err := os.Stat(docs + "targets/" + target + ".md")
		return err == nil
	}
	if err := reference.Check(docs+"targets.md", "targets", reference.Targets(command.App(), hasPage)); err != nil {
		t.Error(err)
	}
}

// The options that targets in a bubble share are on the page that lists the targets.
func TestReferenceOfFaults(t *testing.T) {
	if err := reference.Check(docs+"targets.md", "options of faults", reference.Faults(bubble.FaultOptions{})); err != nil {
		t.Error(err)
	}
}

// Every option of the targets of this module is on the page of its target.
func TestReferenceOfOptions(t *testing.T) {
	linked := map[string]target.Target{"etcd": etcd.Target, "netrix": netrix.Target}
	for _, of := range command.App().Targets {
		linked[of.Name] = of
	}
	for _, name := range []string{"cassandra", "etcd", "maelstrom", "netrix", "ratis"} {
		err := reference.Check(docs+"targets/"+name+".md", "options", reference.Target(linked[name]))
		if err != nil {
			t.Error(err)
		}
	}
}

// Every strategy and option is on its page.
func TestReferenceOfStrategies(t *testing.T) {
	if err := reference.Check(docs+"strategies.md", "strategies", reference.Strategies()); err != nil {
		t.Error(err)
	}
}

// A part that differs from the code is an error that names the first difference, unless it is to be written.
func TestCheck(t *testing.T) {
	t.Setenv("LOCKSTEP_REWRITE", "")
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("a\n<!-- x -->\nold\n<!-- end of x -->\nb\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := reference.Check(page, "y", ""); err == nil || !strings.Contains(err.Error(), "has no lines") {
		t.Errorf("a page without the part: %v", err)
	}
	if err := reference.Check(page, "x", "new"); err == nil || !strings.Contains(err.Error(), "make reference") {
		t.Errorf("another text: %v", err)
	}
	t.Setenv("LOCKSTEP_REWRITE", "1")
	if err := reference.Check(page, "x", "new"); err != nil {
		t.Error(err)
	}
	t.Setenv("LOCKSTEP_REWRITE", "")
	if err := reference.Check(page, "x", "new"); err != nil {
		t.Error(err)
	}
	if text, _ := os.ReadFile(page); string(text) != "a\n<!-- x -->\n\nnew\n\n<!-- end of x -->\nb\n" {
		t.Errorf("%q", text)
	}
}
