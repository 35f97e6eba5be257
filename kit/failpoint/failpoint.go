// Package failpoint turns the gofail comments of a library into calls, so that a test can act at places that the
// library's authors marked. Such a comment is
//
//	// gofail: var raftBeforeSave struct{}
//
// [Instrument] replaces these comments in the source of the library by calls; the overlay of a target.Program uses it.
// In the program that is built, each place calls the function given to [Set]. That function may sleep in virtual time.
// The strategy can then crash the node exactly there, and other goroutines can overtake the sleeping one. In a bubble,
// World.CallerNode names the node that is at the place.
package failpoint

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// names are the places of this program, and hook what is called there.
var (
	names []string
	hook  func(name string)
)

// Register registers places. The code that Instrument generates calls it when the program starts.
func Register(places ...string) {
	names = append(names, places...)
	slices.Sort(names)
}

// Names returns the places of this program in alphabetical order. It returns none if no library was instrumented.
func Names() []string { return names }

// Set sets the function that every place calls from now on, on the goroutine that reaches the place; nil calls nothing.
func Set(f func(name string)) { hook = f }

// Here is the call at a place: it calls the function given to [Set].
func Here(name string) {
	if hook != nil {
		hook(name)
	}
}

// mark is a comment that marks a place.
var mark = regexp.MustCompile(`^\s*// gofail: var (\w+) struct\{\}\s*$`)

// Instrument turns the comments of a library into places. It returns the changed files, and a new file for each package
// that has places. A comment that further comments follow contains code for gofail and stays a comment.
func Instrument(library fs.FS) (map[string][]byte, error) {
	changed, places := map[string][]byte{}, map[string][]string{}
	err := fs.WalkDir(library, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(library, name)
		if err != nil {
			return err
		}
		if text, found := marked(text); len(found) > 0 {
			changed[name] = text
			places[path.Dir(name)] = append(places[path.Dir(name)], found...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		file, err := parser.ParseFile(token.NewFileSet(), name, changed[name], parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("failpoint: %s: %w", name, err)
		}
		dir := path.Dir(name)
		changed[path.Join(dir, "lockstep_failpoints.go")] = fmt.Appendf(nil, registration, file.Name, places[dir])
	}
	if len(changed) == 0 {
		return nil, fmt.Errorf("failpoint: the library has no comments \"// gofail: var NAME struct{}\"")
	}
	return changed, nil
}

// registration is the file that a package with places has besides.
const registration = `package %s

import "github.com/lockstep-go/lockstep/kit/failpoint"

func init() { failpoint.Register(%#v...) }

func lockstepFailpoint(name string) { failpoint.Here(name) }
`

// marked is a file with calls in place of its marks, line by line, and the names of these.
func marked(text []byte) ([]byte, []string) {
	var found []string
	lines := bytes.Split(text, []byte("\n"))
	for i, line := range lines {
		m := mark.FindSubmatch(line)
		if m == nil || i+1 < len(lines) && bytes.HasPrefix(bytes.TrimSpace(lines[i+1]), []byte("//")) {
			continue
		}
		lines[i] = fmt.Appendf(nil, "lockstepFailpoint(%q)", m[1])
		found = append(found, string(m[1]))
	}
	return bytes.Join(lines, []byte("\n")), found
}
