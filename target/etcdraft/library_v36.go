//go:build v3.6

package etcdraft

import (
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/older"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

// usual is the version that this program was built with.
func usual() raftlib.Library { return older.Library{} }
