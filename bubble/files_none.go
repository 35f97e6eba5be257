//go:build !(lockstep_overlay && linux && amd64)

package bubble

// inMemory is no folder.
func inMemory() string { return "" }

// filesWork says whether system calls on files can be served.
const filesWork = false

// makeSocket is for disks, which only work there.
func makeSocket(string) error { return nil }

func serveFiles([]*machine) {}
func serveNoMore()          {}
func closeFiles(int32)      {}
func leaveFiles(int32)      {}
