// Package installtest tests that a user without a checkout can install Lockstep. The user installs it from a module
// proxy, which is a directory made from the repository. The proxy has every module in the version of the next release.
package installtest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// rootModule is the path of the module at the top of the repository.
const rootModule = "github.com/lockstep-go/lockstep"

// makeProxy makes a module proxy in a directory, in the layout of "go help goproxy". It uses the current contents of
// the files that git tracks in a repository.
func makeProxy(repository, proxy, version string) error {
	out, err := exec.Command("git", "-C", repository, "ls-files", "-z").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	tree, err := os.MkdirTemp("", "lockstep-tree-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tree)
	var modules []string
	for _, name := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if err := copyFile(filepath.Join(repository, name), filepath.Join(tree, name)); err != nil {
			return err
		}
		if filepath.Base(name) == "go.mod" && !strings.Contains(name, "testdata/") {
			modules = append(modules, filepath.Dir(name))
		}
	}
	for _, dir := range modules {
		m := module.Version{Path: rootModule, Version: version}
		if dir != "." {
			m.Path += "/" + filepath.ToSlash(dir)
		}
		if err := addModule(proxy, m, filepath.Join(tree, dir)); err != nil {
			return fmt.Errorf("%v: %w", m, err)
		}
	}
	return nil
}

// addModule puts a version of a module into a proxy.
func addModule(proxy string, m module.Version, dir string) error {
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	to := filepath.Join(proxy, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(to, 0o777); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(to, m.Version+".zip"))
	if err != nil {
		return err
	}
	return errors.Join(
		zip.CreateFromDir(f, m, dir),
		f.Close(),
		copyFile(filepath.Join(dir, "go.mod"), filepath.Join(to, m.Version+".mod")),
		os.WriteFile(
			filepath.Join(to, m.Version+".info"),
			fmt.Appendf(nil, `{"Version":%q,"Time":"2026-01-01T00:00:00Z"}`, m.Version),
			0o666,
		),
		os.WriteFile(filepath.Join(to, "list"), []byte(m.Version+"\n"), 0o666),
	)
}

// copyFile copies a regular file. It skips a tracked file that was deleted or is a link, since a module has no such
// files.
func copyFile(from, to string) error {
	if info, err := os.Lstat(from); errors.Is(err, os.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
