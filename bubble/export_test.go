//go:build lockstep_overlay && linux && amd64

package bubble

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/lockstep-go/lockstep/bubble/disk"
)

// Compare compares the model of a node's disk with its directory.
func Compare(n *Node) error {
	defer asEngine()()
	m := served.machines[n.self-1]
	served.lookAll(m, nil)
	return compare(m.disk.Root(), m.root)
}

func compare(i *disk.Inode, path string) error {
	switch i.Kind {
	case disk.Symlink:
		if target, err := os.Readlink(path); err != nil || target != i.Target {
			return fmt.Errorf("%s leads to %s, in the model to %s (%v)", path, target, i.Target, err)
		}
	case disk.Socket:
		if st, err := os.Lstat(path); err != nil || st.Mode().Type() != os.ModeSocket {
			return fmt.Errorf("%s is no socket, but in the model (%v)", path, err)
		}
	case disk.File:
		live, err := os.ReadFile(path)
		model := make([]byte, i.Size())
		i.ReadAt(model, 0)
		if err != nil || string(live) != string(model) {
			return fmt.Errorf("%s has %d bytes, in the model %d, which differ (%v)", path, len(live), len(model), err)
		}
		st, err := os.Stat(path)
		if err != nil || uint32(st.Mode().Perm()) != i.Mode&0o777 {
			return fmt.Errorf("%s has mode %o, in the model %o (%v)", path, st.Mode(), i.Mode, err)
		}
	case disk.Directory:
		entries, err := os.ReadDir(path)
		if err != nil || len(entries) != len(i.Names()) {
			return fmt.Errorf("%s has %d names, in the model %d (%v)", path, len(entries), len(i.Names()), err)
		}
		for k, name := range i.Names() {
			if entries[k].Name() != name || entries[k].IsDir() != (i.Entry(name).Kind == disk.Directory) {
				return fmt.Errorf("%s: %s and in the model %s", path, entries[k].Name(), name)
			}
			if err := compare(i.Entry(name), filepath.Join(path, name)); err != nil {
				return err
			}
		}
	}
	return nil
}
