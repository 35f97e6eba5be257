package build

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/internal/copies"
	"github.com/lockstep-go/lockstep/target"
)

// copiesPath is the import path below which copies are. It is no module that anybody can publish.
const copiesPath = "copies.invalid"

// prepareCopied makes a module whose main package links a copy of the program's border for each version.
func (j *job) prepareCopied(ctx context.Context) error {
	if j.Counters {
		return fmt.Errorf("%s links copies of its library, whose statements cannot be counted; "+
			"the target of one version can", j.program.Name)
	}
	if j.Preempt {
		return fmt.Errorf("%s links copies of its library, in which goroutines cannot be preempted; "+
			"the target of one version can", j.program.Name)
	}
	versions, err := target.MixedVersions(j.version)
	if err != nil {
		return fmt.Errorf("%s: %w", j.program.Name, err)
	}
	root := job{Builder: j.Builder, work: j.work, program: target.Program{Name: j.program.Name, Module: target.Root}}
	if root.source, err = root.findSource(ctx); err != nil {
		return err
	}
	dirs := map[string]string{}
	for _, v := range versions {
		if dirs[copyName(v)], err = j.copyVersion(ctx, v); err != nil {
			return err
		}
	}
	j.source, j.alone = filepath.Join(j.work, "mixed"), true
	j.flags = []string{"-mod=mod", "-trimpath"} // the directories of copies differ between machines
	if err := os.Mkdir(j.source, 0o777); err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(root.source, "go.sum"))
	if err != nil {
		return err
	}
	files := map[string][]byte{"go.sum": sums, "main.go": j.mixedMain(versions)}
	if files["go.mod"], err = mixedModule(root.source, dirs); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(j.source, name), text, 0o666); err != nil {
			return err
		}
	}
	j.program.Package = mixedPackage
	return nil
}

// mixedPackage is the path of the module with the main package.
const mixedPackage = "mixed.invalid"

// mixedMain is the main package: it gives the target the border of each version.
func (j *job) mixedMain(versions []string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "package main\n\nimport (\n\tupgrade %q\n", j.program.Package)
	list := ""
	for _, v := range versions {
		fmt.Fprintf(&b, "\t%s %q\n", copyName(v), copiesPath+"/"+copyName(v)+"/"+j.program.Border)
		list += ", " + copyName(v) + ".Release{}"
	}
	fmt.Fprintf(&b, ")\n\nfunc main() { upgrade.Main(%q%s) }\n", j.program.Name, list)
	return b.Bytes()
}

// mixedModule is the go.mod of the main package: that of the root module, which it requires with the copies.
func mixedModule(root string, dirs map[string]string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	text = bytes.Replace(text, []byte("module "+target.Root+"\n"), []byte("module "+mixedPackage+"\n"), 1)
	add := func(path, dir string) {
		text = fmt.Appendf(text, "\nrequire %s v0.0.0\nreplace %s => %s\n", path, path, dir)
	}
	add(target.Root, root)
	for name, dir := range dirs {
		add(copiesPath+"/"+name, dir)
	}
	return text, nil
}

// copyName is the name of the copy with a version.
func copyName(version string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(version))
}

// copyVersion makes the copy of the border with a version of the library, and returns its directory: a module. A copy
// with the same inputs is used again.
func (j *job) copyVersion(ctx context.Context, version string) (string, error) {
	one := *j
	one.version, one.tags, one.overlay = version, nil, map[string]string{}
	one.program.Border = ""
	one.work = filepath.Join(j.work, copyName(version))
	if err := os.Mkdir(one.work, 0o777); err != nil {
		return "", err
	}
	if err := one.prepareSource(ctx); err != nil {
		return "", err
	}
	if err := one.replaceSiblings(ctx); err != nil {
		return "", err
	}
	border := filepath.Join(one.source, filepath.FromSlash(strings.TrimPrefix(j.program.Border, j.program.Module)))
	hash, err := one.copyKey(ctx, border)
	if err != nil {
		return "", err
	}
	all := filepath.Join(j.cache, "copies")
	dir := filepath.Join(all, copyName(version)+"-"+hash)
	if exists(dir) || j.full != nil {
		return dir, j.full
	}
	j.log("copying the packages of %s", j.program.Build(version))
	c := copies.Copy{Package: j.program.Border, From: one.source, Flags: one.flags, Tags: strings.Join(one.tags, ","),
		Name: copyName(version), Dir: one.work, Path: copiesPath}
	report, err := c.Write(ctx)
	if err != nil {
		return "", fmt.Errorf("%s cannot be built: %w", one.name(), err)
	}
	made := filepath.Join(one.work, c.Name)
	if err := os.WriteFile(filepath.Join(made, "go.mod"), copiedModule(c.Name), 0o666); err != nil {
		return "", err
	}
	j.log("copied %d packages, %.1f MB; building them for the first time takes minutes", report.Packages,
		float64(report.Bytes)/1e6)
	if err := os.MkdirAll(all, 0o777); err != nil {
		return "", err
	}
	if err := os.Rename(made, dir); err != nil && !exists(dir) { // another process may have made it meanwhile
		return "", err
	}
	return dir, nil
}

// replaceSiblings gives the modules that are released with the library the same version: those that the go.mod requires
// in the library's version. Otherwise a version that is older than the required one would have newer parts.
func (j *job) replaceSiblings(ctx context.Context) error {
	file := filepath.Join(j.work, "go.mod")
	out, err := j.run(ctx, "mod", "edit", "-json", file)
	if err != nil {
		return err
	}
	var m goMod
	if err := json.Unmarshal([]byte(out), &m); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	required := ""
	for _, r := range m.Require {
		if r.Path == j.program.Library {
			required = r.Version
		}
	}
	edits := []string{"mod", "edit"}
	for _, r := range m.Require {
		if r.Version == required && r.Path != j.program.Library && !isOurs(r.Path) {
			edits = append(edits, "-replace="+r.Path+"="+r.Path+"@"+j.version)
		}
	}
	_, err = j.run(ctx, append(edits, "--", file)...)
	return err
}

// copiedModule is the go.mod of a copy. Each file keeps the language version of its own module.
func copiedModule(name string) []byte {
	return fmt.Appendf(nil, "module %s/%s\n\ngo 1.26\n", copiesPath, name)
}

// copyKey is a hash over the inputs of a copy: the modules, the border, and the rules of copying.
func (j *job) copyKey(ctx context.Context, border string) (string, error) {
	h := sha256.New()
	env, err := j.run(ctx, "env", "GOVERSION", "GOOS", "GOARCH")
	if err != nil {
		return "", err
	}
	fmt.Fprintf(h, "%s\n%s\n%q\n", copies.Rules(), env, j.tags)
	files := []string{filepath.Join(j.work, "go.mod"), filepath.Join(j.work, "go.sum")}
	err = fs.WalkDir(os.DirFS(border), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasSuffix(name, "_test.go") {
			files = append(files, filepath.Join(border, name))
		}
		return err
	})
	if err != nil {
		return "", err
	}
	slices.Sort(files[2:])
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "file %s %d\n", filepath.Base(name), len(text))
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil)[:keyBytes]), nil
}
