package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/internal/build"
)

// conflicting are the modules that go mod tidy cannot handle. In some, the files for different versions of a library
// exclude each other: go mod tidy reads the files of all build tags and finds no versions. In others, a library's own
// tests have heavy dependencies, and go mod tidy reads these tests as well. From those of the bug reports on CometBFT
// it removes a requirement without which two modules have one package. Command modules only completes the requirements
// of these modules.
var conflicting = []string{
	"internal/unknown/dragonboattest", "internal/unknown/redsynctest", "reports/cometbft-empty-response",
	"reports/cometbft-stale-round", "target/etcdserver", "target/nats", "target/tendermint",
}

// modules lists the directories of the modules below root, which comes first.
func modules(root string) (dirs []string, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && path != root &&
			(name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")):
			return filepath.SkipDir
		case name == "go.mod":
			dirs = append(dirs, filepath.Dir(path))
		}
		return nil
	})
	slices.Sort(dirs)
	return dirs, err
}

// tidyAll tidies every module, or reports those that are not tidy.
func tidyAll(ctx context.Context, diff bool, out io.Writer) error {
	dirs, err := modules(".")
	if err != nil {
		return err
	}
	var untidy []string
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "versions", "*.mod"))
		if err != nil {
			return err
		}
		for _, file := range append(files, filepath.Join(dir, "go.mod")) {
			changed, err := tidy(ctx, dir, file, !diff)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			if changed {
				fmt.Fprintln(out, file)
				untidy = append(untidy, file)
			}
		}
	}
	if diff && len(untidy) > 0 {
		return fmt.Errorf("%s: not tidy, or its go.sum is not; run: go run ./internal/modules tidy",
			strings.Join(untidy, ", "))
	}
	return nil
}

// tidy tidies a go.mod of the module in dir, with its go.sum. It writes them if write is set, and reports whether they
// change.
func tidy(ctx context.Context, dir, file string, write bool) (changed bool, err error) {
	work, err := os.MkdirTemp("", "lockstep-tidy-*")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	mod := filepath.Join(work, "go.mod")
	version := ""
	if filepath.Base(file) != "go.mod" {
		version = strings.TrimSuffix(filepath.Base(file), ".mod")
	}
	if err := build.Modfile(ctx, dir, version, work); err != nil {
		return false, err
	}
	args := []string{"mod", "tidy", "-modfile=" + mod}
	if version != "" || slices.Contains(conflicting, filepath.ToSlash(dir)) {
		args = []string{"list", "-mod=mod", "-modfile=" + mod, "-tags=" + build.Tag(version), "-deps", "-test", "./..."}
	}
	if err := command(ctx, dir, args...); err != nil {
		return false, err
	}
	if err := restoreReplacements(ctx, file, mod); err != nil {
		return false, err
	}
	for _, kind := range []string{".mod", ".sum"} {
		name := strings.TrimSuffix(file, ".mod") + kind
		was, _ := os.ReadFile(name)
		is, err := os.ReadFile(filepath.Join(work, "go"+kind))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		if bytes.Equal(was, is) {
			continue
		}
		changed = true
		if write {
			if err := os.WriteFile(name, is, 0o666); err != nil {
				return true, err
			}
		}
	}
	return changed, nil
}

// replacement matches a line "old => new" of a go.mod with a directory.
var replacement = regexp.MustCompile(`(?m)^(?:replace |\t)(\S+) => ([./]\S+)$`)

// restoreReplacements undoes the changes of [build.Modfile] to the replacements of a file by directories.
func restoreReplacements(ctx context.Context, from, to string) error {
	was, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	is, err := os.ReadFile(to)
	if err != nil {
		return err
	}
	old := map[string]string{}
	for _, r := range replacement.FindAllStringSubmatch(string(was), -1) {
		old[r[1]] = r[2]
	}
	args := []string{"mod", "edit"}
	for _, r := range replacement.FindAllStringSubmatch(string(is), -1) {
		if dir, ok := old[r[1]]; ok {
			args = append(args, "-replace="+r[1]+"="+dir)
		} else {
			args = append(args, "-dropreplace="+r[1])
		}
	}
	return command(ctx, ".", append(args, "-fmt", to)...)
}

// command runs the go command without a workspace.
func command(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// writeModfile writes the go.mod that builds the target in the working directory with a version of its library. The
// file is below .cache/modfile of the checkout; writeModfile prints its path.
func writeModfile(ctx context.Context, version string, out io.Writer) error {
	source, err := os.Getwd()
	if err != nil {
		return err
	}
	dir := filepath.Join(source, "..", "..", ".cache", "modfile", filepath.Base(source), version)
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o777)); err != nil {
		return err
	}
	if err := build.Modfile(ctx, source, version, dir); err != nil {
		return err
	}
	fmt.Fprintln(out, filepath.Join(dir, "go.mod"))
	return nil
}
