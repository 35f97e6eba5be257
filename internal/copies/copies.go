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
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
}

// Report says what was copied.
type Report struct {
	Import   string // import path of the copied package
	Packages int
	Bytes    int
	// Separated lists the uses of registries of the standard library that the copy has for itself, as "package: name".
	Separated []string
	// Shared lists what the copies still share and that may differ from processes, as "package: name".
	Shared []string
}

// nameHelp is what a Name must be.
const nameHelp = "lower-case letters and digits, beginning with a letter"

// Write makes the copy. An earlier copy of the name is replaced when the new one is complete.
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
	if err := errors.Join(os.RemoveAll(to), os.Rename(fresh, to), os.Chmod(to, 0o755)); err != nil {
		return nil, err
	}
	return w.report, nil
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
		if !(r >= 'a' && r <= 'z' || i > 0 && r >= '0' && r <= '9') {
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
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		return nil, fmt.Errorf("copies: go %s: %s", strings.Join(args[:1], " "), cmp(lines[len(lines)-1], err.Error()))
	}
	return out, nil
}

func cmp(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// listed is what the go command says of a package.
type listed struct {
	ImportPath, Dir                               string
	Standard                                      bool
	GoFiles, CgoFiles, SFiles, HFiles, EmbedFiles []string
	SysoFiles, SwigFiles, CFiles, CXXFiles        []string
	Module                                        *struct{ GoVersion string }
}

// foreign lists the files of a package that no copy can have.
func (l *listed) foreign() []string {
	return slices.Concat(l.CgoFiles, l.SysoFiles, l.SwigFiles, l.CFiles, l.CXXFiles)
}

const fields = "ImportPath,Dir,Standard,GoFiles,CgoFiles,SFiles,HFiles,EmbedFiles,SysoFiles,SwigFiles," +
	"CFiles,CXXFiles,Module"

// list finds the packages to copy, by import path.
func (c Copy) list(ctx context.Context, from string) (map[string]*listed, error) {
	out, err := c.goCommand(ctx, from, "list", "-deps", "-tags="+c.Tags, "-json="+fields, "--", c.Package)
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
		if files := p.foreign(); len(files) > 0 {
			return nil, fmt.Errorf("copies: package %s has %s: cgo and object files cannot be copied, "+
				"try the package's build tag without cgo", p.ImportPath, files[0])
		}
		set[p.ImportPath] = p
	}
	if set[c.Package] == nil {
		return nil, fmt.Errorf("copies: %s is not the import path of one package outside the standard library", c.Package)
	}
	return set, nil
}
