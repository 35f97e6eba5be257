package overlay

// edited maps each file that changes to its edits. A file that has another name in Go 1.25 has two names, that of Go
// 1.25 first. New files are in the directory std.
var edited = union(map[string]func(*source){
	"runtime/rand.go": func(s *source) {
		// The keys of hashes are the same in every process.
		s.before("randinit", "globalRand.state.Init(*seed)", "for i := range seed {\n\tseed[i] = byte(37 * (i + 1))\n}")
		// Package maps calls rand, and so does compiled code that makes a map.
		s.begin("rand", "if lockstepSeeded() {\n\treturn lockstepPeek()\n}")
		for _, f := range []string{"randn", "legacy_fastrand", "legacy_fastrand64"} {
			s.replace(f, "rand()", "lockstepRand()")
		}
	},
	// These packages have their own random sources.
	"math/rand/rand.go": func(s *source) {
		s.after("newSource", "rng.Seed(seed)", "lockstepKeep(&rng)")
		draws(s)
	},
	"math/rand/v2/rand.go": draws,
	"os/tempfile.go":       draws,
	"net/dnsclient.go":     draws,
	"runtime/select.go": func(s *source) {
		s.replace("selectgo", "cheaprandn(uint32(norder + 1))", "lockstepRandn(uint32(norder + 1))")
		s.before("selectgo", "return casi, recvOK",
			"if lockstepOn && casi >= 0 && c != nil && c.closed == 0 {\n\tlockstepUses(&c.node, lockstepChannel)\n}")
	},
	"runtime/time.go": func(s *source) {
		s.field("timer", "node int32 // of the goroutine that made it")
		// Setting the time of a timer draws its rank among the timers of the same moment. The heap does not have every
		// timer all the time. A select puts the timers it waits for back in the order of their addresses.
		s.replace("(*timer).maybeAdd", "cheaprand()", "t.rand")
		s.after("(*timer).modify", "t.when = when", "if t.isFake {\n\tt.rand = lockstepTie()\n}")
		s.before("newTimer", "t.modify(when",
			"t.node = getg().node\nif b := getg().bubble; lockstepOn && b != nil && c != nil {\n\tc.bubble = b\n}")
		s.after("(*timer).unlockAndRun", "gp.bubble = bubble", "gp.node = t.node")
		s.after("(*timer).unlockAndRun", "gp.bubble = nil", "gp.node = 0")
		// The clock of a node may be wrong. Then the time has a monotonic reading, too.
		s.begin(
			"time_runtimeNow",
			"if b := getg().bubble; b != nil {\n\twall, mono := lockstepLook(b)\n\t"+
				"return wall / 1_000_000_000, int32(wall % 1_000_000_000), mono\n}",
		)
		s.begin("time_runtimeNano", "if b := getg().bubble; b != nil {\n\treturn lockstepLookNano(b)\n}")
		s.begin("timeSleep", "ns = lockstepSpan(ns)")
		s.begin("newTimer", "when, period = lockstepWhen(when), lockstepSpan(period)")
		s.begin("resetTimer", "when, period = lockstepWhen(when), lockstepSpan(period)")
	},
	"runtime/synctest.go": func(s *source) {
		s.field("synctestBubble", "looks lockstepLooks // at the clock")
		s.field("synctestBubble", "over bool // see LockstepGiveUp")
		s.before("synctestRun", "bubble.now = next", "if bubble.over {\n\tbreak\n}")
		s.begin("synctestWait", "if b := getg().bubble; b != nil {\n\tb.looks = lockstepLooks{}\n}")
	},
	"runtime/runtime2.go": func(s *source) {
		s.field("g", "node int32 // that the goroutine belongs to")
		s.field("g", "lockstepLocks lockstepLocks // that it holds")
		// Goroutines beyond the capacity of a processor's queue would move to the global queue. Its order does not
		// depend on the bubble alone.
		s.retype("p", "runq", "[256]guintptr", "[2048]guintptr")
		s.replace("(waitReason).isIdleInSynctest", "isIdleInSynctest[w]",
			"(isIdleInSynctest[w] || lockstepOn && lockstepIdle(w))")
	},
	"runtime/proc.go": func(s *source) {
		s.after("newproc1", "newg.bubble = callergp.bubble", "newg.node = callergp.node")
		s.after("gdestroy", "gp.bubble = nil", "gp.node, gp.lockstepLocks.n = 0, 0")
		// The wall clock preempts no goroutine, and a system call of a run keeps its processor. Both end when the run
		// counts as hung, so that the watchdog can give it up.
		s.before("retake", "preemptone(pp)",
			"if !lockstepOn || lockstepLoose > 0 || pd.schedwhen+lockstepTimeSlice <= now {")
		s.after("retake", "preemptone(pp)", "}")
		const keeps = "if lockstepKeeps(pp, now-pd.schedwhen) {\n\tcontinue\n}"
		s.oneOf(
			func(s *source) { s.after("retake", "if int64(pd.schedtick) != schedt", keeps) },
			func(s *source) { s.before("retake", "if s == _Psyscall {", keeps) }, // Go 1.25
		)
		// Goroutines of a bubble stay in the order in which they became ready, with -race, too.
		s.variable("randomizeScheduler", "false")
		const stays = "if lockstepOn && gp.bubble != nil {\n" +
			"\trunqput(getg().m.p.ptr(), gp, preempted && sched.gcwaiting.Load())\n\tschedule()\n}"
		s.oneOf(
			func(s *source) { s.before("goschedImpl", "if preempted && sched.gcwaiting.Load()", stays) },
			func(s *source) { s.before("goschedImpl", "lock(&sched.lock)", stays) }, // Go 1.25
		)
		// A goroutine of a run that was given up does not return from a system call.
		s.replace("exitsyscall", "sched.disable.user && !schedEnabled(gp)",
			"sched.disable.user && !schedEnabled(gp) || lockstepGivenUp && lockstepOver(gp)")
		s.oneOf(
			func(s *source) {
				s.replace("exitsyscallNoP", "schedEnabled(gp)", "schedEnabled(gp) && !lockstepOver(gp)")
			},
			func(s *source) {
				s.replace("exitsyscall0", "schedEnabled(gp)", "schedEnabled(gp) && !lockstepOver(gp)")
			}, // Go 1.25
		)
		s.replace("runqgrab", "[256]guintptr", "[2048]guintptr") // see runtime2.go
		s.begin("ready", "if lockstepOn && gp.bubble != nil {\n\tlockstepWoken(gp)\n}")
		s.begin("runqput", "if lockstepOn && gp.bubble == nil {\n\tnext = false\n}")
		// A thread that searched for work has found some, even if the goroutine is frozen. A thread that counts as
		// spinning must not have work.
		s.after(
			"schedule",
			"gp, inheritTime, tryWakeP := findRunnable()",
			"if lockstepAnyFrozen && lockstepPark(gp) {\n\tif mp.spinning {\n\t\tresetspinning()\n\t}\n\tgoto top\n}\n"+
				"if lockstepTurns != nil {\n\tlockstepTurn(gp)\n}",
		)
	},
	"runtime/chan.go": func(s *source) {
		// A channel belongs to no bubble: package-level channels outlive a bubble.
		s.replace("makechan", "b != nil", "b != nil && !lockstepOn")
		// The edits report that nodes share a channel. A closed channel has no state that they could share.
		s.field("hchan", "node int32 // whose goroutines use it")
		s.before("makechan", "return c", "c.node = lockstepMaker()")
		for _, f := range []string{"chansend", "chanrecv"} {
			s.begin(f, "if lockstepOn && c != nil && c.closed == 0 {\n\tlockstepUses(&c.node, lockstepChannel)\n}")
		}
	},
	// The edits report that nodes write to one map.
	"internal/runtime/maps/map.go": func(s *source) {
		s.fieldAfter("Map", "tombstonePossible", "node int32 // whose goroutines write to it")
		written(s, "(*Map).PutSlot", "(*Map).Delete", "(*Map).Clear")
		hashed(s)
	},
	"internal/runtime/maps/table.go": hashed,
	"internal/runtime/maps/runtime_swiss.go|internal/runtime/maps/runtime.go": func(s *source) {
		written(s, "runtime_mapassign")
		hashed(s)
	},
	"internal/runtime/maps/runtime_fast32_swiss.go|internal/runtime/maps/runtime_fast32.go": func(s *source) {
		written(s, "runtime_mapassign_fast32", "runtime_mapassign_fast32ptr")
	},
	"internal/runtime/maps/runtime_fast64_swiss.go|internal/runtime/maps/runtime_fast64.go": func(s *source) {
		written(s, "runtime_mapassign_fast64", "runtime_mapassign_fast64ptr")
		hashed(s)
	},
	"internal/runtime/maps/runtime_faststr_swiss.go|internal/runtime/maps/runtime_faststr.go": func(s *source) {
		written(s, "runtime_mapassign_faststr")
	},
	// The order of maps does not depend on addresses.
	"runtime/alg.go": func(s *source) {
		s.begin("typehash",
			"if t.PtrBytes != 0 && t.TFlag&abi.TFlagRegularMemory != 0 {\n\treturn lockstepHashes(t, p, h)\n}")
	},
	"runtime/mheap.go": func(s *source) {
		s.begin("freeSpecial",
			"if s.kind == lockstepSpecial || s.kind == lockstepOrphanSpecial {\n\tlockstepForget(s)\n\treturn\n}")
	},
	"runtime/sema.go": func(s *source) {
		// A condition belongs to no bubble, like a mutex or a channel. Signals from outside the bubble are recorded.
		for _, f := range []string{"notifyListNotifyAll", "notifyListNotifyOne"} {
			s.replace(f, "getg().bubble != s.g.bubble", "!lockstepOn && getg().bubble != s.g.bubble")
		}
		// A lock whose holder went with an earlier run is reported.
		s.before("semacquire1", "s := acquireSudog()", "if lockstepOn && gp.bubble != nil {\n\tlockstepAwaits(addr)\n}")
		// A mutex decides about starvation by the clock.
		s.begin("internal_sync_nanotime", "if b := getg().bubble; lockstepOn && b != nil {\n\treturn b.now\n}")
	},
	// The runtime knows which goroutine holds a lock.
	"internal/sync/mutex.go": func(s *source) {
		for _, f := range []string{"(*Mutex).Lock", "(*Mutex).lockSlow", "(*Mutex).TryLock"} {
			s.before(f, "if race.Enabled", "lockstepHolds(&m.sema, unsafe.Pointer(&m.state))")
		}
		s.begin("(*Mutex).Unlock", "lockstepReleases(&m.sema)")
	},
	"sync/rwmutex.go": func(s *source) {
		const tried, reads = "rw.readerCount.CompareAndSwap(0, -rwmutexMaxReaders)", "rw.readerCount.CompareAndSwap(c, c+1)"
		s.after("(*RWMutex).RLock", "if rw.readerCount.Add(1) < 0", "rw.lockstepReads()")
		s.replace("(*RWMutex).TryRLock", reads, reads+" && rw.lockstepReads()")
		s.begin("(*RWMutex).RUnlock", "lockstepReleases(&rw.writerSem)")
		s.after("(*RWMutex).Lock", "r := rw.readerCount.Add(", "rw.lockstepWrites()")
		s.replace("(*RWMutex).TryLock", tried, "("+tried+" && rw.lockstepWrites())")
		s.begin("(*RWMutex).Unlock", "lockstepReleases(&rw.readerSem)")
	},
	// Files of nodes are closed with their run, and no finalizer closes them after it.
	"os/file_unix.go": func(s *source) {
		s.before("newFile", "runtime.SetFinalizer(", "if runtime.LockstepNode() == 0 {")
		s.after("newFile", "runtime.SetFinalizer(", "}")
	},
	"os/root_unix.go": func(s *source) {
		s.before("newRoot", "runtime.SetFinalizer(", "if runtime.LockstepNode() == 0 {")
		s.after("newRoot", "runtime.SetFinalizer(", "}")
	},
	"time/time.go": func(s *source) {
		// Readings of the monotonic clock are the same in every process.
		s.variable("startNano", "-1")
	},
	"syscall/syscall_linux.go": func(s *source) {
		s.begin("Syscall", "if lockstepWants(trap) {\n\treturn lockstepSyscall(trap, a1, a2, a3, 0, 0, 0)\n}")
		s.begin("Syscall6", "if lockstepWants(trap) {\n\treturn lockstepSyscall(trap, a1, a2, a3, a4, a5, a6)\n}")
	},
	"runtime/signal_unix.go": func(s *source) {
		// A node that reads beyond the end of a mapped file, as after a power failure, fails without taking the process
		// down.
		s.begin("sigpanic", "if lockstepOn && getg().bubble != nil {\n\tgetg().paniconfault = true\n}")
	},
	"runtime/panic.go": func(s *source) {
		s.before("gopanic", "preprintpanics(&p)", "lockstepPanicked(p.arg)")
	},
	// Values that come from the machine and the process are not deterministic.
	"runtime/mstats.go": func(s *source) {
		s.begin("ReadMemStats", `LockstepNote("the use of memory is read")`)
		s.begin("readGCStats", `LockstepNote("the use of memory is read")`)
	},
	"syscall/syscall_linux_amd64.go": func(s *source) {
		s.begin("Gettimeofday", `lockstepNote("real time is read")`)
		s.begin("Time", `lockstepNote("real time is read")`)
	},
	"crypto/internal/sysrand/rand.go": func(s *source) {
		s.begin("Read", "if lockstepRandom(b) {\n\treturn\n}")
	},
}, sockets)

// draws makes the random function of a package draw from the run's stream.
func draws(s *source) { s.link("runtime_rand", "runtime.rand", "runtime.lockstepRand") }

// written makes functions that write to a map report that.
func written(s *source, functions ...string) {
	for _, f := range functions {
		s.begin(f, "m.lockstepWritten()")
	}
}

// hashed makes maps hash their keys as the overlay does.
func hashed(s *source) { s.every("typ.Hasher", "lockstepHasher{typ.Key, typ.Hasher}.hash") }
