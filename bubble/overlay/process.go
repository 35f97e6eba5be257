package overlay

// process are the edits for resources of a process that a node of a bubble lacks. Each resource is virtual for every
// node, or reported as a source of nondeterminism, or refused. The page docs/reference/process-calls.md lists them.
var process = map[string]func(*source){
	// A node that exits does not end the process.
	"os/proc.go":         func(s *source) { s.begin("Exit", `runtime.LockstepExits("os.Exit", code)`) },
	"runtime/runtime.go": func(s *source) { s.begin("syscall_Exit", `LockstepExits("syscall.Exit", code)`) },
	"runtime/panic.go": func(s *source) {
		for _, f := range []string{"sync_fatal", "maps_fatal", "internal_sync_fatal"} {
			s.begin(f, `LockstepExits("fatal error: "+s, 2)`)
		}
	},
	"runtime/proc.go": func(s *source) {
		// Package initializers see a fixed clock.
		const tasks = "for m := &firstmoduledata;"
		s.before("main", tasks, "lockstepInit = true")
		s.after("main", tasks, "lockstepInit = false")
		s.begin("setMaxThreads", "if lockstepInNode() {\n\treturn lockstepThreads(in)\n}")
	},
	"runtime/rand.go": func(s *source) {
		s.begin("rand", "if lockstepInitial() {\n\treturn lockstepInitPeek()\n}")
	},
	"runtime/time.go": func(s *source) {
		s.begin("time_runtimeNow", "if lockstepInitial() {\n\treturn lockstepInitNow()\n}")
	},
	"runtime/debug.go": func(s *source) {
		s.begin("NumCPU", "if lockstepInNode() {\n\treturn int(lockstepCPUs)\n}")
		s.begin("GOMAXPROCS", "if lockstepInNode() {\n\treturn lockstepProcs(n)\n}")
		s.begin("SetDefaultGOMAXPROCS", "if lockstepInNode() {\n\tlockstepProcs(int(lockstepCPUs))\n\treturn\n}")
		s.begin("NumGoroutine", "if lockstepInNode() {\n\treturn lockstepGoroutines()\n}")
		s.begin("NumCgoCall", `LockstepNote("the number of calls of C is read")`)
	},
	"runtime/mgcpacer.go": func(s *source) {
		s.begin("setGCPercent", "if lockstepInNode() {\n\treturn lockstepGCPercent(in)\n}")
		s.begin("setMemoryLimit", "if lockstepInNode() {\n\treturn lockstepMemoryLimit(in)\n}")
	},
	"runtime/rdebug.go": func(s *source) {
		s.begin("setMaxStack", "if lockstepInNode() {\n\treturn lockstepMaxStack(in)\n}")
	},
	"runtime/mprof.go": func(s *source) {
		s.begin("Stack", `LockstepNote("a stack is read, with numbers of goroutines")`)
		const profile = `LockstepNote("a profile of the process is read")`
		for _, f := range []string{
			"MemProfile", "BlockProfile", "MutexProfile", "ThreadCreateProfile", "GoroutineProfile",
		} {
			s.begin(f, profile)
		}
	},
	"runtime/cpuprof.go": func(s *source) {
		s.begin("SetCPUProfileRate", `LockstepNote("the processor profile of the process is switched")`)
	},
	"runtime/metrics.go": func(s *source) { s.begin("readMetrics", `LockstepNote("metrics of the process are read")`) },

	// The process ID, the environment, signals, children, limits, and the name of the machine.
	"syscall/zsyscall_linux_amd64.go": func(s *source) {
		for _, f := range []string{"Getpid", "Gettid"} {
			s.begin(f, "if lockstepInNode() {\n\treturn lockstepPID()\n}")
		}
		s.begin("Getppid", "if lockstepInNode() {\n\treturn 1\n}")
		s.begin(
			"prlimit1",
			"if lockstepInNode() {\n\tif newlimit != nil {\n\t\treturn nil\n\t}\n"+
				"\tlockstepNote(\"the limits of the process are read\")\n}",
		)
		s.begin("socketpair", `lockstepNote("a socket is made by a system call, and is the kernel's")`)
		s.begin("Umask", "if lockstepInNode() {\n\treturn 0o022\n}")
	},
	"syscall/syscall_linux.go": func(s *source) {
		s.begin("RawSyscall", "if lockstepWantsRaw(trap) {\n\treturn lockstepSyscall(trap, a1, a2, a3, 0, 0, 0)\n}")
		s.begin("Open", "if !lockstepTraps[SYS_OPENAT] {\n\tlockstepOpens(path)\n}")
		for _, f := range []string{
			"Setegid", "Seteuid", "Setgid", "Setregid", "Setresgid", "Setresuid", "Setreuid", "Setuid", "Setgroups",
		} {
			s.begin(f, "if lockstepRefuses(\"the user of the process is changed\") {\n\treturn EPERM\n}")
		}
		s.begin("AllThreadsSyscall",
			"if lockstepRefuses(\"a system call is made by all threads\") {\n\treturn ^uintptr(0), 0, EPERM\n}")
		s.begin("AllThreadsSyscall6",
			"if lockstepRefuses(\"a system call is made by all threads\") {\n\treturn ^uintptr(0), 0, EPERM\n}")
	},
	"syscall/syscall_unix.go": func(s *source) {
		s.begin("Read", "if fd == 0 {\n\tlockstepNote(\"standard input is read\")\n}")
	},
	"syscall/exec_unix.go": func(s *source) {
		s.begin("forkExec", "defer lockstepFork(&pid)()")
		s.begin("Exec", "if lockstepRefuses(\"the program of the process is replaced\") {\n\treturn EPERM\n}")
	},
	"syscall/env_unix.go": func(s *source) {
		s.before("Unsetenv", "envLock.Lock()",
			"if e := lockstepEnvironment(true); e != nil {\n\te.unset(key)\n\treturn nil\n}")
		s.before("Getenv", "envLock.RLock()", "if e := lockstepEnvironment(false); e != nil {\n\treturn e.get(key)\n}")
		s.before("Setenv", "envLock.Lock()",
			"if e := lockstepEnvironment(true); e != nil {\n\te.set(key, value)\n\treturn nil\n}")
		s.before("Clearenv", "envLock.Lock()", "if e := lockstepEnvironment(true); e != nil {\n\t*e = nil\n\treturn\n}")
		s.before("Environ", "envLock.RLock()", "if lockstepInNode() {\n\treturn lockstepEnviron()\n}")
	},
	"os/exec_unix.go": func(s *source) {
		// The process that a node seems to run in has no handle.
		s.begin("findProcess", "if lockstepInNode() {\n\treturn newPIDProcess(pid), nil\n}")
	},
	"os/executable.go": func(s *source) { s.begin("Executable", `lockstepNote("the path of the program is read")`) },
	"os/getwd.go": func(s *source) {
		s.begin("Getwd", `lockstepNote("the working directory of the process is read")`)
	},
	"os/signal/signal.go": func(s *source) {
		s.begin("Notify", "if c != nil && lockstepNotify(c, sig) {\n\treturn\n}")
		s.begin("Stop", "if lockstepStop(c) {\n\treturn\n}")
		s.begin("Reset", "if lockstepCancel(sig, false) {\n\treturn\n}")
		s.begin("Ignore", "if lockstepCancel(sig, true) {\n\treturn\n}")
		s.begin("Ignored", "if is, node := lockstepIgnored(sig); node {\n\treturn is\n}")
	},

	// Random sources in package-level variables.
	"math/rand/rng.go": func(s *source) {
		s.field("rngSource", "made lockstepMade")
		s.begin("(*rngSource).Seed", "rng.lockstepSeeded(seed)")
		s.begin("(*rngSource).Uint64", "if rng.lockstepStale() {\n\trng.lockstepReseed()\n}")
	},
	"math/rand/v2/pcg.go": func(s *source) {
		s.field("PCG", "made lockstepMade")
		s.replace("NewPCG", "PCG{seed1, seed2}", "PCG{seed1, seed2, lockstepSeeded(seed1, seed2)}")
		s.begin("(*PCG).Seed", "p.made = lockstepSeeded(seed1, seed2)")
		s.after("(*PCG).UnmarshalBinary", "p.lo = ", "p.made = lockstepSeeded(p.hi, p.lo)")
		s.begin("(*PCG).next", "if p.made.stale() {\n\tp.lockstepReseed()\n}")
	},
	"math/rand/v2/chacha8.go": func(s *source) {
		s.field("ChaCha8", "made lockstepMade")
		s.before("NewChaCha8", "c.state.Init(seed)", "c.made = lockstepSeeded(lockstepWords(seed)...)")
		s.begin("(*ChaCha8).Seed", "c.made = lockstepSeeded(lockstepWords(seed)...)")
		s.begin("(*ChaCha8).UnmarshalBinary", "c.made = lockstepSeeded()")
		for _, f := range []string{"(*ChaCha8).Uint64", "(*ChaCha8).Read"} {
			s.begin(f, "if c.made.stale() {\n\tc.lockstepReseed()\n}")
		}
	},

	// Idle connections in package-level variables.
	"net/http/transport.go": func(s *source) {
		s.field("Transport", "lockstep lockstepUsers")
		s.begin("(*Transport).CloseIdleConnections", "if own := t.lockstepOwn(); own != nil {\n\tt = own\n}")
	},
	"net/http/roundtrip.go": func(s *source) {
		s.begin("(*Transport).RoundTrip", "if own := t.lockstepOwn(); own != nil {\n\tt = own\n}")
	},

	// The machine's addresses and its local time.
	"net/interface_linux.go": func(s *source) {
		s.begin("interfaceTable",
			"if all := lockstepInterfaces(); all != nil {\n\treturn lockstepInterface(all, ifindex), nil\n}")
		s.begin("interfaceAddrTable", "if lockstepInterfaces() != nil {\n\treturn lockstepAddresses(ifi), nil\n}")
		s.begin("interfaceMulticastAddrTable", "if lockstepInterfaces() != nil {\n\treturn nil, nil\n}")
	},
	"time/zoneinfo.go": func(s *source) {
		s.begin("(*Location).get", "if l == &localLoc && lockstepUTC() {\n\treturn &utcLoc\n}")
	},
}
