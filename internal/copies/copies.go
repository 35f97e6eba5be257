// Package copies copies a Go package with all that it depends on, except the standard library, to import paths of its
// own. Several copies, of one version or of several, link into one program: each has its own types and package
// variables. So a test runs a cluster of mixed versions in one process.
//
// Only types of the standard library may cross between copies. A copy is a tree of directories below one directory of
// the importing module:
//
//	DIR/go.example/server        the package that was asked for
//	DIR/go.example/wire          what it imports
//	DIR/standardonce             what the standard library has once for a process, once for the copy
//
// Rewritten are import paths, the symbols of go:linkname lines and of assembly, and uses of registries of the standard
// library that take a name once (see standardonce.go.txt). Every file keeps the language version of its module.
// Packages with cgo or object files are refused.
package copies

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Copy says what to copy, and to where.
type Copy struct {
	Package string // import path of the package
	// Version is the version of its module, such as v1.2.3. Empty: the version that the module in From uses.
	Version string
	// From is a directory of the module that knows the package. It is not used with a Version.
	From string
	// Name is the last element of the copy's import path: an identifier such as v1.
	Name string
	// Dir is the directory that receives the copy as a subdirectory called Name, and Path is its import path.
	Dir, Path string
	// Tags are build tags, separated by commas.
	Tags string
	// Flags are further flags of go list, such as -modfile, for the module in From.
	Flags []string
}

// Report says what was copied.
type Report struct {
	Import   string // import path of the copied package
	Packages int
	Bytes    int
	// Unchanged reports that an earlier copy has the same content, and stays as it is.
	Unchanged bool
	// Separated lists the uses of registries of the standard library that the copy has for itself, as "package: name".
	Separated []string
	// Shared lists what the copies still share and that may differ from processes, as "package: name".
	Shared []string
}

// nameHelp is what a Name must be.
const nameHelp = "lower-case letters, digits and underscores, beginning with a letter"

// Write makes the copy. An earlier copy of the name is replaced when the new one is complete, and only if its content
// differs: go build need not compile an unchanged copy again.
func (c Copy) Write(ctx context.Context) (*Report, error) {
	if !validName(c.Name) {
		return nil, fmt.Errorf("copies: the name %q of a copy must be %s", c.Name, nameHelp)
	}
	if err := os.MkdirAll(c.Dir, 0o777); err != nil {
		return nil, err
	}
	from, remove, err := c.source(ctx)
	if err != nil {
		return nil, err
	}
	defer remove()
	list, err := c.list(ctx, from)
	if err != nil {
		return nil, err
	}
	w := &writer{Copy: c, set: list, report: &Report{Import: c.prefix() + "/" + c.Package, Packages: len(list)}}
	fresh, err := os.MkdirTemp(c.Dir, "."+c.Name+"-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(fresh)
	if err := w.write(fresh); err != nil {
		return nil, err
	}
	to := filepath.Join(c.Dir, c.Name)
	if w.report.Unchanged, err = sameTree(fresh, to); err != nil || w.report.Unchanged {
		return w.report, err
	}
	if err := errors.Join(os.RemoveAll(to), os.Rename(fresh, to), os.Chmod(to, 0o755)); err != nil {
		return nil, err
	}
	return w.report, nil
}

// Rules identifies the rules of copying: a copy made by other rules may differ.
func Rules() string { return fmt.Sprintf("1 %x", sha256.Sum256(onceText)) }

// sameTree reports whether two directories have the same files. The second one need not exist.
func sameTree(a, b string) (bool, error) {
	var first, second map[string][sha256.Size]byte
	first, err := tree(a)
	if err == nil {
		second, err = tree(b)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return maps.Equal(first, second), err
}

// tree hashes the files of a directory, by their names below it.
func tree(root string) (map[string][sha256.Size]byte, error) {
	files := map[string][sha256.Size]byte{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		files[strings.TrimPrefix(name, root)] = sha256.Sum256(text)
		return err
	})
	return files, err
}

// ImportPath is the import path of a directory, which need not exist yet, in the module around it.
func ImportPath(ctx context.Context, dir string) (string, error) {
	module := struct{ Path, Dir string }{}
	out, err := Copy{}.goCommand(ctx, "", "list", "-m", "-json=Path,Dir")
	if err == nil {
		err = json.Unmarshal(out, &module)
	}
	if err != nil {
		return "", err
	}
	if module.Dir == "" {
		return "", errors.New("copies: the copies belong to a module, and there is none here: run it below a go.mod file")
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	root, err := filepath.EvalSymlinks(module.Dir)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(absolute)); err == nil {
		absolute = filepath.Join(real, filepath.Base(absolute))
	}
	below, err := filepath.Rel(root, absolute)
	if err != nil || !filepath.IsLocal(below) || below == "." {
		return "", fmt.Errorf("copies: the directory %s must be below that of module %s", dir, module.Path)
	}
	return module.Path + "/" + filepath.ToSlash(below), nil
}

func validName(name string) bool {
	for i, r := range name {
		if !(r >= 'a' && r <= 'z' || i > 0 && (r >= '0' && r <= '9' || r == '_')) {
			return false
		}
	}
	return name != "" && name != once
}

func (c Copy) prefix() string { return c.Path + "/" + c.Name }

// source is the directory in which the go command finds the package. With a version it is a module made for it.
func (c Copy) source(ctx context.Context) (dir string, remove func(), err error) {
	if c.Version == "" {
		return c.From, func() {}, nil
	}
	dir, err = os.MkdirTemp("", "lockstep-copies-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	text := "module copies\n"
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o666); err != nil {
		remove()
		return "", nil, err
	}
	if _, err := c.goCommand(ctx, dir, "get", c.Package+"@"+c.Version); err != nil {
		remove()
		return "", nil, err
	}
	return dir, remove, nil
}

// goCommand runs the go command. An error has the last line that it printed, which says what is wrong.
func (c Copy) goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if c.Version != "" { // the module was made for the copy; a user's go.mod stays as it is
		cmd.Env = append(cmd.Env, "GOFLAGS=-mod=mod")
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("copies: go %s: %s", args[0], cmp.Or(lastLine(stderr.String()), err.Error()))
	}
	return out, nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// listed is what the go command says of a package.
type listed struct {
	ImportPath, Dir                        string
	Standard                               bool
	GoFiles, SFiles, HFiles, EmbedFiles    []string
	SysoFiles, SwigFiles, CFiles, CXXFiles []string
	IgnoredGoFiles                         []string
	Module                                 *struct{ GoVersion string }
	Error                                  *struct{ Err string }
}

// foreign is a file for which no copy of the package can stand, or the empty string. The list is of a build without
// cgo, which ignores files with cgo. A package may have other files instead: those that a build with cgo ignores.
func (l *listed) foreign(tags string) (string, error) {
	if files := slices.Concat(l.SysoFiles, l.SwigFiles, l.CFiles, l.CXXFiles); len(files) > 0 {
		return files[0], nil
	}
	with := build.Default
	with.CgoEnabled, with.BuildTags = true, strings.FieldsFunc(tags, func(r rune) bool { return r == ',' })
	for _, name := range l.GoFiles {
		if match, err := with.MatchFile(l.Dir, name); err != nil || !match {
			return "", err
		}
	}
	for _, name := range l.IgnoredGoFiles {
		match, err := with.MatchFile(l.Dir, name)
		if err != nil || !match || strings.HasSuffix(name, "_test.go") {
			continue // such as a file of another system that cannot be parsed
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(l.Dir, name), nil, parser.ImportsOnly)
		if err != nil {
			return "", err
		}
		if slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"C"` }) {
			return name, nil
		}
	}
	return "", nil
}

const fields = "ImportPath,Dir,Standard,GoFiles,SFiles,HFiles,EmbedFiles,SysoFiles,SwigFiles,CFiles,CXXFiles," +
	"IgnoredGoFiles,Module,Error"

// list finds the packages to copy, by import path.
func (c Copy) list(ctx context.Context, from string) (map[string]*listed, error) {
	args := slices.Concat([]string{"list"}, c.Flags,
		[]string{"-e", "-deps", "-tags=" + c.Tags, "-json=" + fields, "--", c.Package})
	out, err := c.goCommand(ctx, from, args...)
	if err != nil {
		return nil, err
	}
	set := map[string]*listed{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &listed{}
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if p.Standard {
			continue
		}
		if err := c.refuse(p); err != nil {
			return nil, err
		}
		set[p.ImportPath] = p
	}
	if set[c.Package] == nil {
		return nil, fmt.Errorf("copies: %s is not the import path of one package outside the standard library", c.Package)
	}
	return set, nil
}

// refuse reports why a package cannot be copied.
func (c Copy) refuse(p *listed) error {
	file, err := p.foreign(c.Tags)
	switch {
	case file != "":
		return fmt.Errorf("copies: package %s has %s: cgo and object files cannot be copied, "+
			"try the package's build tag without cgo", p.ImportPath, file)
	case p.Error != nil:
		return fmt.Errorf("copies: go list: package %s: %s", p.ImportPath, lastLine(p.Error.Err))
	case err != nil:
		return fmt.Errorf("copies: package %s: %w", p.ImportPath, err)
	}
	return nil
}
