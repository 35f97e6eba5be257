package build

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// Kept is a program in the cache.
type Kept struct {
	Name  string    `json:"name"` // with the version of its library, and "-exact" if it has the overlay of Go
	File  string    `json:"file"`
	Bytes int64     `json:"bytes"`
	Built time.Time `json:"built"`
}

// keyed matches the name of a program in the cache.
var keyed = regexp.MustCompile(`^(.+)-[0-9a-f]{16}(\.exe)?$`)

// List lists the programs in a directory, the newest of each name first.
func List(dir string) (all []Kept, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		m := keyed.FindStringSubmatch(e.Name())
		info, wrong := e.Info()
		if m == nil || wrong != nil || !info.Mode().IsRegular() {
			continue
		}
		all = append(all,
			Kept{Name: m[1], File: filepath.Join(dir, e.Name()), Bytes: info.Size(), Built: info.ModTime()})
	}
	slices.SortFunc(all, func(a, b Kept) int { return cmp.Or(cmp.Compare(a.Name, b.Name), b.Built.Compare(a.Built)) })
	return all, err
}
