package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// listed is the go tool's description of a package that is part of a program.
type listed struct {
	ImportPath string
	Name       string
	Dir        string
	Standard   bool
	GoFiles    []string
	CgoFiles   []string
	CFiles     []string
	HFiles     []string
	SFiles     []string
	EmbedFiles []string
	Module     *module
}

type module struct {
	Path, Version, Dir string
	Replace            *module
}

// keyBytes is the length of a key.
const keyBytes = 8

// key returns a hash of the program's inputs: the go tool, the build settings, the modules by their versions, and the
// files of modules without versions.
func (j *job) key(ctx context.Context) (string, error) {
	args := append([]string{"list"}, j.flags...)
	out, err := j.run(
		ctx,
		append(args, "-deps",
			"-json=ImportPath,Name,Dir,Standard,GoFiles,CgoFiles,CFiles,HFiles,SFiles,EmbedFiles,Module", "--",
			j.program.Package)...)
	if err != nil {
		return "", fmt.Errorf("%s cannot be built: %w%s", j.name(), err, j.known())
	}
	env, err := j.run(ctx, "env", "GOVERSION", "GOOS", "GOARCH", "GOFLAGS", "CGO_ENABLED")
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(
		h,
		"%s\n%s\n%s\n%s\n",
		env,
		j.program.Build(j.version),
		Tag(j.version),
		filepath.Base(filepath.Dir(j.index)), // independent of the location of the cache
	)
	if j.Counters {
		fmt.Fprintf(h, "counters %s %q\n", filepath.Base(filepath.Dir(j.counts)), j.Counted)
	}
	d := json.NewDecoder(strings.NewReader(out))
	name := "" // of the last package, which no other package imports
	for {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return "", fmt.Errorf("the go tool's list of packages cannot be read: %w", err)
		}
		if p.Standard {
			continue
		}
		name = p.Name
		j.addSource(p.Module)
		if err := j.hashPackage(h, &p); err != nil {
			return "", err
		}
	}
	if name != "main" {
		return "", fmt.Errorf("%s is the package %s, allowed is a main package, which calls cli.Main with its targets",
			j.program.Name, name)
	}
	return hex.EncodeToString(h.Sum(nil)[:keyBytes]), nil
}

func (j *job) hashPackage(h hash.Hash, p *listed) error {
	fmt.Fprintf(h, "package %s\n", p.ImportPath)
	if v := fixed(p.Module); v != "" {
		fmt.Fprintf(h, "from %s\n", v)
		return nil
	}
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.CFiles, p.HFiles, p.SFiles, p.EmbedFiles) {
		file := filepath.Join(p.Dir, name)
		if by, ok := j.overlay[file]; ok {
			file = by
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "file %s %d\n", name, len(text))
		h.Write(text)
	}
	return nil
}

// fixed returns the version of a module that cannot change, or the empty string.
func fixed(m *module) string {
	switch {
	case m == nil:
		return ""
	case m.Replace != nil:
		return fixed(m.Replace)
	case m.Version == "":
		return ""
	default:
		return m.Path + "@" + m.Version
	}
}
