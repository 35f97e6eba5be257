package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/lockstep-go/lockstep/target"
)

// release is set by the linker in the programs of a release, which are built from a checkout.
var release string

// isOurs reports whether a module is one of Lockstep's, which are released together.
func isOurs(module string) bool {
	return module == target.Root || strings.HasPrefix(module, target.Root+"/")
}

// checkout returns the directory of one of Lockstep's modules in the checkout that this program was built from, or the
// empty string. An installed command has only the root module, in the module cache.
func checkout(module string) string {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) { // built with -trimpath
		return ""
	}
	root := filepath.Join(filepath.Dir(file), "..", "..")
	if _, err := os.Stat(filepath.Join(root, "fleet", "go.mod")); err != nil {
		return ""
	}
	dir := filepath.Join(root, filepath.FromSlash(strings.TrimPrefix(module, target.Root)))
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		return ""
	}
	return dir
}

// released returns the version of Lockstep that this program is part of, or the empty string if it was built from a
// checkout.
func released() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == target.Root && m.Replace == nil && strings.HasPrefix(m.Version, "v") &&
			!strings.HasSuffix(m.Version, "+dirty") {
			return m.Version
		}
	}
	return ""
}

// revision matches the end of the version of a commit without a tag.
var revision = regexp.MustCompile(`-(?:0\.)?\d{14}-([0-9a-f]{12})$`)

// query returns the go command's query for one of our modules in a version of the root module. A commit without a tag
// has versions that differ from module to module, so the query uses the commit's hash.
func query(module, version string) string {
	if r := revision.FindStringSubmatch(version); r != nil && module != target.Root {
		return r[1]
	}
	return version
}

// fetch finds one of our modules in the module cache, in the version that this program is part of. It downloads the
// module if it is missing.
func (j *job) fetch(ctx context.Context, module string) (string, error) {
	version := released()
	if version == "" {
		return "", fmt.Errorf(
			"%s is built from the source of %s, which this program does not find: it was built from a checkout that is gone, "+
				"and is no release; go install %s/cmd/lockstep@latest installs one",
			j.program.Name,
			module,
			target.Root,
		)
	}
	dir, err := j.download(ctx, module, query(module, version))
	if err != nil {
		return "", fmt.Errorf("%s cannot be built: %w", j.program.Name, err)
	}
	return dir, nil
}

// download fills the module cache with a version of a module and returns its directory there. The go command runs
// outside of any module and workspace, because it would change their sums.
func (j *job) download(ctx context.Context, module, version string) (string, error) {
	apart := *j
	apart.source, apart.alone = j.work, true
	out, err := apart.run(ctx, "mod", "download", "-json", "--", module+"@"+version)
	var got struct{ Dir, Error string } // the go command also reports its errors in this output
	if wrong := json.Unmarshal([]byte(out), &got); err == nil {
		err = wrong
	}
	if got.Error != "" {
		err = complaint(got.Error, err)
	}
	return got.Dir, err
}

// goMod is a go.mod as the go command prints it.
type goMod struct {
	Require []struct{ Path, Version string }
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
}

// writeModule writes the go.mod and go.sum of the build. These are the files of the program's module for the version,
// with the locations of Lockstep's own modules.
func (j *job) writeModule(ctx context.Context) error {
	if err := j.copyModule(); err != nil {
		return err
	}
	file := filepath.Join(j.work, "go.mod")
	out, err := j.run(ctx, "mod", "edit", "-json", file)
	if err != nil {
		return err
	}
	var m goMod
	if err := json.Unmarshal([]byte(out), &m); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	edits := j.ownModules(&m)
	for i, r := range m.Replace {
		to, err := j.unpack(r.New.Path, i)
		if err != nil {
			return err
		}
		if to != "" {
			edits = append(edits, "-replace="+r.Old.Path+"="+to)
		}
	}
	if len(edits) == 0 {
		return nil
	}
	_, err = j.run(ctx, append(append([]string{"mod", "edit"}, edits...), file)...)
	return err
}

// ownModules returns the edits that make one of our modules use the others of this program: beside it in the checkout,
// or in the same release.
func (j *job) ownModules(m *goMod) (edits []string) {
	if !isOurs(j.program.Module) {
		return nil
	}
	for _, r := range m.Require {
		if !isOurs(r.Path) {
			continue
		}
		if dir := checkout(r.Path); dir != "" {
			edits = append(edits, "-replace="+r.Path+"="+dir)
		} else if version := released(); version != "" {
			edits = append(edits, "-require="+r.Path+"@"+query(r.Path, version))
		}
	}
	return edits
}

// packed is the name of a go.mod in a directory that stands for a module. Under its real name the directory would not
// be part of the module around it, and not be released with it.
const packed = "mod.txt"

// unpack copies a directory of the program's module that stands for another module, if it is one. It returns the copy,
// which has a go.mod.
func (j *job) unpack(dir string, i int) (string, error) {
	from := filepath.Join(j.source, filepath.FromSlash(dir))
	if filepath.IsAbs(dir) || !strings.HasPrefix(dir, ".") {
		return "", nil
	}
	if _, err := os.Stat(filepath.Join(from, packed)); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	to := filepath.Join(j.work, "modules", fmt.Sprint(i))
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return "", err
	}
	return to, os.Rename(filepath.Join(to, packed), filepath.Join(to, "go.mod"))
}

// Modfile writes to a directory the go.mod and go.sum that build the module in source, one of ours, with a version of
// its library. If the version is empty, it writes those of the module itself.
func Modfile(ctx context.Context, source, version, dir string) error {
	j := job{Builder: &Builder{}, version: version, source: source, work: dir, alone: true}
	j.program = target.Program{Name: source, Module: target.Root}
	return j.writeModule(ctx)
}
