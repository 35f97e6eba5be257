package programs

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// The setting of etcd's raft with which a leader steps down when it has lost its quorum, and the setting without it.
var (
	checked   = []byte("\t\tCheckQuorum:     true,\n")
	unchecked = []byte("\t\tCheckQuorum:     false,\n")
)

// withoutCheckQuorum makes etcd's leaders stay leaders in a minority, as those of 2014 did. The server has no option
// for that.
func withoutCheckQuorum(library fs.FS) (map[string][]byte, error) {
	changed := map[string][]byte{}
	err := fs.WalkDir(library, "etcdserver", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(library, name)
		if n := bytes.Count(text, checked); err != nil || n == 0 {
			return err
		} else if n > 1 {
			return fmt.Errorf("programs: %s sets CheckQuorum %d times, expected once", name, n)
		}
		changed[name] = bytes.Replace(text, checked, unchecked, 1)
		return nil
	})
	if err == nil && len(changed) == 0 {
		err = fmt.Errorf("programs: no file of the library has the line %q", strings.TrimSpace(string(checked)))
	}
	return changed, err
}
