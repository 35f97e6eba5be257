package overlay

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed std/*.txt points/*.txt
var added embed.FS

// Tag is the build tag of programs that are built with the overlay.
const Tag = "lockstep_overlay"

// versions are the Go releases that the edits were tested with.
var versions = []string{"go1.25", "go1.26"}

// known reports whether the edits were tested with a version.
func known(version string) bool {
	return slices.ContainsFunc(versions,
		func(v string) bool { return version == v || strings.HasPrefix(version, v+".") })
}

// Generate writes the overlay for a Go installation of a version to a directory, and returns the path of the overlay's
// index for the go command. It does nothing if the directory has it already.
func Generate(goroot, version, cache string) (string, error) {
	return generate(goroot, version, cache, texts)
}

// GenerateCounters does so with the overlay for programs whose statements have counters. The program reads its counters
// with package runtime/coverage, and neither needs a directory for coverage files nor writes any.
func GenerateCounters(goroot, version, cache string) (string, error) {
	return generate(goroot, version, cache, func(goroot string) (map[string]string, error) {
		return editedTexts(goroot, counters)
	})
}

// generate writes the overlay with these texts, by name below src.
func generate(goroot, version, cache string, texts func(goroot string) (map[string]string, error)) (string, error) {
	if !known(version) {
		return "", fmt.Errorf("overlay: Go is %s, the overlay is known to fit %s", version,
			strings.Join(versions, ", "))
	}
	all, err := texts(goroot)
	if err != nil {
		return "", fmt.Errorf("overlay: %s does not look as expected:\n%w", version, err)
	}
	dir := filepath.Join(cache, version+"-"+digest(goroot, all))
	index := filepath.Join(dir, "overlay.json")
	if _, err := os.Stat(index); err == nil {
		return index, nil
	}
	replace := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := write(path, all[name]); err != nil {
			return "", err
		}
		replace[filepath.Join(goroot, "src", filepath.FromSlash(name))] = path
	}
	list, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "\t")
	if err != nil {
		return "", err
	}
	return index, write(index, string(list)) // last: the file shows that the overlay is complete
}

// texts returns the content of all generated files, by name below src.
func texts(goroot string) (map[string]string, error) {
	all, err := editedTexts(goroot, edited, process)
	return all, errors.Join(err, addFiles(all, "std"))
}

// addFiles adds the new files in a directory of this package.
func addFiles(all map[string]string, dir string) error {
	entries, err := added.ReadDir(dir)
	wrong := []error{err}
	for _, e := range entries {
		text, err := added.ReadFile(dir + "/" + e.Name())
		wrong = append(wrong, err)
		all[newName(e.Name())] = string(text)
	}
	return errors.Join(wrong...)
}

// editedTexts returns the content of all files with edits.
func editedTexts(goroot string, parts ...map[string]func(*source)) (map[string]string, error) {
	all := map[string]string{}
	var wrong []error
	for _, names := range files(parts) {
		name := there(goroot, names)
		s, err := open(goroot, name)
		if err == nil {
			for _, part := range parts {
				if edit := part[names]; edit != nil {
					edit(s)
				}
			}
			all[name], err = s.result()
		}
		wrong = append(wrong, err)
	}
	return all, errors.Join(wrong...)
}

// files are the names of all edited files.
func files(parts []map[string]func(*source)) []string {
	names := map[string]bool{}
	for _, part := range parts {
		for name := range part { //lockstep:unordered they are sorted below
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// there is the first of the alternative names of a file that exists, or the last name.
func there(goroot, names string) string {
	for {
		name, rest, more := strings.Cut(names, "|")
		if _, err := os.Stat(filepath.Join(goroot, "src", filepath.FromSlash(name))); err == nil || !more {
			return name
		}
		names = rest
	}
}

// newName is the name of an added file: net.http.x.go.txt becomes net/http/x.go.
func newName(file string) string {
	parts := strings.Split(strings.TrimSuffix(file, ".go.txt"), ".")
	return strings.Join(parts, "/") + ".go"
}

func digest(goroot string, texts map[string]string) string {
	h := sha256.New()
	h.Write([]byte(goroot))
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		h.Write([]byte(name + "\x00" + texts[name] + "\x00"))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// write writes a file atomically, so that concurrent calls do not disturb each other.
func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".part-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
