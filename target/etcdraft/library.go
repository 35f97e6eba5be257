//go:build !v3.6

package etcdraft

import (
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
	"github.com/lockstep-go/lockstep/target/etcdraft/internal/v37"
)

// usual is the version that clusters run by default.
func usual() raftlib.Library { return v37.Library{} }
