package overlay

// process are the edits for what a process has and a node of a bubble lacks: each is virtual for every node, or reported as
// a source of nondeterminism, or refused.
var process = map[string]func(*source){
	// A node that exits does not end the process.
	"os/proc.go":         func(s *source) { s.begin("Exit", `runtime.LockstepExits("os.Exit", code)`) },
	"runtime/runtime.go": func(s *source) { s.begin("syscall_Exit", `LockstepExits("syscall.Exit", code)`) },
	"runtime/panic.go": func(s *source) {
		for _, f := range []string{"sync_fatal", "maps_fatal", "internal_sync_fatal"} {
			s.begin(f, `LockstepExits("fatal error: "+s, 2)`)
		}
	},
}
