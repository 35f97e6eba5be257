//go:build !(lockstep_overlay && linux && amd64)

package bubble

// inMemory is empty: no directory in memory is needed.
func inMemory() string { return "" }

// filesWork reports whether the model can serve system calls on files.
const filesWork = false

// makeSocket is used for disks only, which need the model.
func makeSocket(string) error { return nil }

func serveFiles([]*machine, bool) {}
func serveNoMore()                {}
func closeFiles(int32)            {}
func leaveFiles(int32)            {}
