//go:build !lockstep_points

package bubble

// hasPoints reports whether goroutines can be preempted in this program.
const hasPoints = false

// count is as in programs with points.
type count struct {
	Name                             uint32
	Left, Rest, Within, Long, Blocks int64
}

func beginPreemption()                      {}
func endPreemption()                        {}
func preemptible(bool)                      {}
func awaitPoint(bool) *count                { return nil }
func preempt() (locked bool, resume func()) { return false, nil }
