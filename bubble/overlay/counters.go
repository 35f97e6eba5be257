package overlay

// counters are the edits for programs whose statements have counters (go build -cover). They belong to an overlay of
// their own, so that other programs stay as they are.
var counters = map[string]func(*source){
	"internal/coverage/cfile/hooks.go": func(s *source) {
		// Such a program asks for no directory when it starts and writes no files when it ends. A test still does.
		s.begin("InitHook", "if !istest {\n\tprepareForMetaEmit()\n\treturn\n}")
	},
	"internal/coverage/cfile/apis.go": func(s *source) {
		// Counters that do not add atomically cost less. They are read and cleared while no other goroutine runs.
		for _, f := range []string{"WriteCounters", "ClearCounters"} {
			s.replace(f, "cmode != coverage.CtrModeAtomic", "cmode == coverage.CtrModeInvalid")
		}
	},
}
