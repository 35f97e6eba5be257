package build

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/bubble/overlay"
	"github.com/lockstep-go/lockstep/target"
)

// prepare finds the source and creates the files that the build needs besides it.
func (j *job) prepare(ctx context.Context) error {
	j.overlay = map[string]string{}
	if err := j.prepareSource(ctx); err != nil {
		return err
	}
	exact, err := j.exact(ctx)
	if err != nil {
		return err
	}
	if exact {
		if err := j.prepareExact(ctx); err != nil {
			return err
		}
	}
	if j.Counters {
		if err := j.prepareCounters(ctx); err != nil {
			return err
		}
	}
	if len(j.tags) > 0 {
		j.flags = append(j.flags, tagFlag(j.tags))
	}
	if len(j.overlay) == 0 {
		return nil
	}
	flag, err := j.writeOverlay("overlay.json")
	j.flags = append(j.flags, flag)
	return err
}

// tagFlag is the flag of the go command for build tags.
func tagFlag(tags []string) string { return "-tags=" + strings.Join(tags, ",") }

// writeOverlay writes the index of the files that replace others, and returns the flag of the go command for it.
func (j *job) writeOverlay(name string) (flag string, err error) {
	text, err := json.Marshal(map[string]any{"Replace": j.overlay})
	if err != nil {
		return "", err
	}
	file := filepath.Join(j.work, name)
	return "-overlay=" + file, os.WriteFile(file, text, 0o666)
}

// bubblePackage is the package that a program imports to run goroutine programs in virtual time.
const bubblePackage = target.Root + "/bubble"

// exact reports whether the program is built with the overlay of Go. Its description decides; a user's own package gets
// the overlay if it imports package bubble.
func (j *job) exact(ctx context.Context) (bool, error) {
	if j.BestEffort || j.program.Exact || j.program.Module != "" {
		return !j.BestEffort && j.program.Exact, nil
	}
	out, err := j.run(ctx, "list", "-deps", "--", j.program.Package)
	if err != nil {
		return false, fmt.Errorf("%s cannot be built: %w", j.name(), err)
	}
	return slices.Contains(strings.Fields(out), bubblePackage), nil
}

// prepareExact adds the overlay of Go that makes programs deterministic.
func (j *job) prepareExact(ctx context.Context) (err error) {
	if j.tool, err = overlay.Installed(ctx, j.source); err == nil && j.Preempt {
		return j.preparePoints(ctx)
	}
	if err == nil {
		j.index, err = j.tool.Generate()
	}
	if err != nil {
		return fmt.Errorf(
			"%s cannot be built with the overlay: %w; --no-overlay builds it without, and its runs then repeat as a best effort",
			j.name(),
			err,
		)
	}
	j.tags = append(j.tags, overlay.Tag)
	return j.addOverlay(j.index)
}

// addOverlay adds the files of an index.
func (j *job) addOverlay(index string) error {
	text, err := os.ReadFile(index)
	if err != nil {
		return err
	}
	var list struct{ Replace map[string]string }
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("%s: %w", index, err)
	}
	maps.Copy(j.overlay, list.Replace)
	return nil
}

// prepareSource finds the source. For a program that has versions, it also makes the go.mod.
func (j *job) prepareSource(ctx context.Context) error {
	if j.program.Module == "" {
		return j.prepareOwn()
	}
	if j.program.Border != "" {
		return j.prepareCopied(ctx)
	}
	source, err := j.findSource(ctx)
	if err != nil {
		return err
	}
	j.source, j.alone = source, true
	if j.program.Library == "" && !isOurs(j.program.Module) {
		return nil
	}
	if err := j.writeModule(ctx); err != nil {
		return err
	}
	j.flags = []string{"-mod=mod", "-modfile=" + filepath.Join(j.work, "go.mod")}
	if j.program.Library == "" {
		return nil
	}
	if tag := Tag(j.version); tag != "" {
		j.tags = append(j.tags, tag)
	}
	dir, err := j.download(ctx, j.program.Library, j.version)
	if err != nil {
		return fmt.Errorf("%s is not available in version %q: %w%s", j.program.Name, j.version, err, j.known())
	}
	if err := j.replace(ctx, j.program.Library+"@"+j.version); err != nil {
		return err
	}
	if j.program.Overlay == nil {
		return nil
	}
	return j.change(ctx, dir)
}

// copyModule copies the go.mod and go.sum of the module. If the module has files for the version, or for its line of
// versions, it copies those.
func (j *job) copyModule() error {
	from := filepath.Join(j.source, "go")
	for _, name := range []string{Tag(j.version), j.version} { // the last existing file wins
		own := filepath.Join(j.source, "versions", name)
		if _, err := os.Stat(own + ".mod"); err == nil {
			from = own
		}
	}
	for _, kind := range []string{".mod", ".sum"} {
		text, err := os.ReadFile(from + kind)
		if err != nil && kind == ".mod" {
			return err
		}
		if err := os.WriteFile(filepath.Join(j.work, "go"+kind), text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// prepareOwn prepares the build of a user's own package. A directory is built in its own module. An import path is
// resolved from the working directory.
func (j *job) prepareOwn() error {
	if p := j.program.Package; !strings.HasPrefix(p, ".") && !filepath.IsAbs(p) {
		return nil
	}
	info, err := os.Stat(j.program.Package)
	if err != nil {
		return fmt.Errorf("there is no package to build: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory with a main package", j.program.Package)
	}
	j.source, err = filepath.Abs(j.program.Package)
	j.program.Package = "."
	return err
}

// replace replaces the library.
func (j *job) replace(ctx context.Context, by string) error {
	_, err := j.run(ctx, "mod", "edit", "-replace="+j.program.Library+"="+by, "--", filepath.Join(j.work, "go.mod"))
	return err
}

// findSource returns the directory of the program's module.
func (j *job) findSource(ctx context.Context) (string, error) {
	if dir := j.program.Dir; dir != "" {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
	}
	if isOurs(j.program.Module) {
		if dir := checkout(j.program.Module); dir != "" {
			return dir, nil
		}
		return j.fetch(ctx, j.program.Module)
	}
	dir, err := j.run(ctx, "list", "-m", "-f", "{{.Dir}}", "--", j.program.Module)
	if err != nil {
		return "", fmt.Errorf(
			"%s is built from the source of %s, which is not found from here; go to a directory where the go tool finds it: %w",
			j.program.Name,
			j.program.Module,
			err,
		)
	}
	return dir, nil
}

// Tag returns the build tag of a version of a library: v3.6 for v3.6.0, or for v3.6 itself.
func Tag(version string) string {
	parts := strings.Split(version, ".")
	if len(parts) < 2 || !strings.HasPrefix(version, "v") {
		return ""
	}
	return parts[0] + "." + parts[1]
}

// change puts changed files into the library. The go tool allows no overlay on its module cache. Therefore the library
// is replaced by a directory that does not exist, and the overlay defines its contents: the library's own files or
// changed ones.
func (j *job) change(ctx context.Context, dir string) error {
	module := os.DirFS(dir)
	changed, err := j.program.Overlay(module)
	if err != nil {
		return fmt.Errorf("%s: %w", j.name(), err)
	}
	virtual := filepath.Join(j.cache, "changed",
		filepath.FromSlash(j.program.Library)+"@"+j.version+"~"+j.program.Changed)
	err = fs.WalkDir(module, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && (name == "go.mod" || path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go")) {
			j.overlay[filepath.Join(virtual, filepath.FromSlash(name))] = filepath.Join(dir, filepath.FromSlash(name))
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, name := range slices.Sorted(maps.Keys(changed)) {
		file := filepath.Join(j.work, fmt.Sprintf("changed%d.go", i))
		if err := os.WriteFile(file, changed[name], 0o666); err != nil {
			return err
		}
		j.overlay[filepath.Join(virtual, filepath.FromSlash(name))] = file
	}
	return j.replace(ctx, virtual)
}
