//go:build v3.6

package etcdraft

import (
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/v36"
)

// usual is the version that this program was built with.
func usual() raftlib.Library { return v36.Library{} }
