package mutants

import (
	"io/fs"

	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

// Command is the path of the module whose program carries the mutants.
const Command = "github.com/lockstep-go/lockstep/cmd/lockstep"

// Program is the target that carries mutants: lockstep for etcd's raft alone, with the
// library changed. Dir is the folder of the command's source, where that is known.
func Program(dir string, list []Mutant) target.Program {
	return target.Program{Name: "etcdraft", Help: "etcd's raft with planted mistakes", Package: Command + "/etcdraft", Module: Command, Dir: dir,
		Library: Module, Versions: []string{Version}, Changed: raftlib.Mutants,
		Overlay: func(library fs.FS) (map[string][]byte, error) {
			files, err := Instrument(library, list)
			changed := map[string][]byte{}
			for _, f := range files {
				changed[f.Name] = f.Text
			}
			return changed, err
		}}
}
