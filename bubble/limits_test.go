//go:build linux && amd64

package bubble_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/page"
)

// Classes of calls.
const (
	virtual = "virtual" // every node has its own, like a process
	// the process or the machine answers, and the campaign reports the place as a source of nondeterminism
	reported = "reported"
	refused  = "refused" // fails with EPERM, and is reported
	machine  = "machine" // the process or the machine answers, with the same answer for all nodes and runs
	alike    = "alike"   // no difference: the result depends only on the arguments and the objects that they identify
)

// limit describes a resource that nodes of a bubble share or see differently than a process does. Its calls are
// patterns of package path, and also names calls outside the listed packages. If the class is reported or refused, what
// is the text of the report, and a test makes one of the calls (sharedCalls, refusedCalls). If it is virtual, by is the
// test.
type limit struct{ class, what, by, calls, also string }

// limitsOf are packages. The table limits classifies all their exported functions, and the methods that reach the
// operating system.
var limitsOf = []string{"os", "os/exec", "os/signal", "os/user", "net", "runtime", "runtime/debug", "syscall"}

var limits = []limit{
	{
		virtual,
		"number of the process, of its parent, group and thread",
		"TestProcess",
		"os.Getpid os.Getppid syscall.Getpid syscall.Getppid syscall.Getpgid syscall.Getpgrp syscall.Gettid",
		"",
	},
	{virtual, "end of the process: the node's crash, or a finding", "TestExit", "os.Exit syscall.Exit", ""},
	{
		virtual,
		"environment, which begins as the process's without `LOCKSTEP_` variables",
		"TestProcess",
		"os.*env os.Clearenv os.Environ os.LookupEnv os.ExpandEnv syscall.*env syscall.Clearenv syscall.Environ",
		"",
	},
	{virtual, "host name: `node1`, `node2` ...", "TestProcess", "os.Hostname syscall.Uname", ""},
	{
		virtual,
		"interfaces: a loopback, and `eth0` with 10.0.0.*n*",
		"TestProcess",
		"net.Interface* net.Interface.*",
		"",
	},
	{
		virtual,
		"processors: `Process.CPUs`; goroutines run one at a time",
		"TestCPUs",
		"runtime.GOMAXPROCS runtime.NumCPU runtime.SetDefaultGOMAXPROCS",
		"",
	},
	{virtual, "number of goroutines: those of the node", "TestProcess", "runtime.NumGoroutine", ""},
	{
		virtual,
		"settings of the garbage collector and limits of the runtime, without an effect",
		"TestProcess",
		"runtime/debug.SetGCPercent runtime/debug.SetMemoryLimit runtime/debug.SetMaxStack runtime/debug.SetMaxThreads",
		"",
	},
	{virtual, "limits of the process: setting one has no effect", "TestProcess", "syscall.Setrlimit", ""},
	{virtual, "mask of file modes: always 022", "TestProcess", "syscall.Umask", ""},
	{
		virtual,
		"signals that a node sends itself; it sees no others",
		"TestSignals",
		"os/signal.* os.FindProcess os.Process.Signal os.Process.Kill syscall.Kill syscall.Tgkill",
		"",
	},
	{
		virtual,
		"sockets, in memory, with `Network: bubble.Sockets{}`: see [Sockets in a bubble](../reference/sockets.md)",
		"TestOverlay",
		"net.Dial* net.Listen* net.*Conn net.*Listener net.*Conn.* net.*Listener.* net.Dialer.* net.ListenConfig.* " +
			"net.Buffers.*",
		"",
	},
	{
		virtual,
		"names of hosts: `localhost`, `node1`, `node2` ...",
		"TestNames",
		"net.Lookup* net.Resolve* net.Resolver.*",
		"",
	},
	{
		virtual,
		"files below `Node.Dir`, with `Freeze.Files`; elsewhere they are the machine's, and nodes share them",
		"TestCalls",
		"os.Create* os.Open* os.ReadFile os.WriteFile os.Mkdir* os.Remove* os.Rename os.Link os.Symlink os.Readlink " +
			"os.ReadDir os.CopyFS os.DirFS " +
			"os.Stat os.Lstat os.Truncate os.Ch[motw]*s os.Chmod os.Chown os.Lchown os.File.* os.Root.* " +
			"syscall.Access syscall.Chmod syscall.Chown syscall.Close syscall.Creat syscall.Dup* syscall.F[acdst]* " +
			"syscall.FcntlFlock " +
			"syscall.Flock syscall.Getdents syscall.Lchown syscall.Link syscall.Lstat syscall.Mkdir* syscall.Mk[nf]* " +
			"syscall.Mmap syscall.Mprotect syscall.Munmap syscall.Open* " +
			"syscall.Pread syscall.Pwrite syscall.Read syscall.Readlink syscall.ReadDirent syscall.Rename* syscall.Rmdir " +
			"syscall.Seek syscall.Sendfile syscall.Stat " +
			"syscall.Symlink syscall.Sync syscall.Sync[F]* syscall.Splice syscall.Tee syscall.Truncate syscall.Unlink* " +
			"syscall.Utime* syscall.Futime* syscall.Write " +
			"syscall.*xattr",
		"",
	},

	{reported, "the working directory of the process is read", "", "os.Getwd syscall.Getwd syscall.Getcwd", ""},
	{reported, "the path of the program is read", "", "os.Executable", ""},
	{
		reported,
		"a stack is read, with numbers of goroutines",
		"",
		"runtime.Stack runtime/debug.Stack runtime/debug.PrintStack",
		"",
	},
	{reported, "the use of memory is read", "", "runtime.ReadMemStats runtime/debug.ReadGCStats", ""},
	{reported, "metrics of the process are read", "", "", "`runtime/metrics.Read`"},
	{
		reported,
		"a profile of the process is read",
		"",
		"runtime.MemProfile runtime.BlockProfile runtime.MutexProfile runtime.ThreadCreateProfile runtime.GoroutineProfile",
		"",
	},
	{
		reported,
		"the processor profile of the process is switched",
		"",
		"runtime.SetCPUProfileRate runtime.CPUProfile",
		"",
	},
	{reported, "the number of calls of C is read", "", "runtime.NumCgoCall", ""},
	{reported, "the processor time of the process is read", "", "syscall.Getrusage syscall.Times", ""},
	{reported, "the machine's memory, load or processors are read", "", "syscall.Sysinfo syscall.Klogctl", ""},
	{reported, "the free space of the machine's disk is read", "", "syscall.Statfs syscall.Fstatfs syscall.Ustat", ""},
	{reported, "the limits of the process are read", "", "syscall.Getrlimit", ""},
	{
		reported,
		"a file about the machine is read",
		"",
		"",
		"opening what is below `/proc` or `/sys`, `/etc/hostname`, `/etc/machine-id`",
	},
	{reported, "standard input is read", "", "", "`os.Stdin.Read`"},
	{reported, "real time is read", "", "syscall.Gettimeofday syscall.Time", ""},
	{
		reported,
		"a system call waits in real time",
		"",
		"syscall.Nanosleep syscall.Pause syscall.Select syscall.EpollWait",
		"",
	},
	{
		reported,
		"a socket is made by a system call, and is the kernel's",
		"",
		"syscall.Socket syscall.Socketpair syscall.*Lsf* syscall.NetlinkRIB",
		"",
	},
	{reported, "a pipe of the kernel is made", "", "os.Pipe syscall.Pipe syscall.Pipe2", ""},
	{reported, "the kernel's events are used", "", "syscall.EpollC* syscall.Inotify*", ""},
	{
		reported,
		"the kernel's queues, semaphores or shared memory are used",
		"",
		"",
		"the system calls `shmget`, `semget`, `msgget`, `mq_open`, `memfd_create`",
	},
	{
		reported,
		"a child process is started, which lives in real time",
		"",
		"os.StartProcess syscall.StartProcess syscall.ForkExec os/exec.Cmd.*",
		"",
	},
	{
		reported,
		"a child process is waited for in real time",
		"",
		"os.Process.Wait os.Process.WithHandle os.Process.Release syscall.Wait4",
		"",
	},
	{
		reported,
		"a random source that an earlier run made is used",
		"",
		"",
		"`math/rand` and `math/rand/v2`: a source whose seed is unknown",
	},

	{
		refused,
		"the working directory of the process is changed",
		"",
		"os.Chdir syscall.Chdir syscall.Fchdir syscall.Chroot syscall.PivotRoot",
		"",
	},
	{refused, "the program of the process is replaced", "", "syscall.Exec", ""},
	{refused, "the user of the process is changed", "", "syscall.Set*id syscall.Setgroups", ""},
	{refused, "a system call is made by all threads", "", "syscall.AllThreadsSyscall*", ""},
	{refused, "the group of the process is changed", "", "syscall.Setpgid syscall.Setsid", ""},
	{refused, "the priority of the process is changed", "", "syscall.Setpriority", ""},
	{refused, "a limit of the process is changed", "", "", "the system call `setrlimit`"},
	{refused, "a process is traced", "", "syscall.Ptrace*", ""},
	{refused, "the namespace of the process is changed", "", "syscall.Unshare", ""},
	{
		refused,
		"the machine is changed",
		"",
		"syscall.Acct syscall.Adjtimex syscall.Iop* syscall.Mount syscall.Reboot syscall.Setdomainname syscall.Sethostname " +
			"syscall.Settimeofday syscall.Unmount",
		"",
	},

	{
		machine,
		"user and group",
		"",
		"os.Get[eu]*id os.Getgid os.Getgroups syscall.Get[eu]*id syscall.Getgid syscall.Getgroups os/user.*",
		"",
	},
	{
		machine,
		"page size, version and root of Go, build of the program",
		"",
		"os.Getpagesize syscall.Getpagesize runtime.GOROOT runtime.Version runtime/debug.ReadBuildInfo",
		"",
	},
	{machine, "priority of the process", "", "syscall.Getpriority", ""},
	{machine, "memory that is locked or advised", "", "syscall.Ml* syscall.Munlock* syscall.Madvise", ""},
	{
		machine,
		"garbage collection: it stops all nodes, and takes no virtual time",
		"",
		"runtime.GC runtime/debug.FreeOSMemory runtime/debug.WriteHeapDump",
		"",
	},
	{
		machine,
		"finalizers and cleanups: they run outside of the bubble, between runs as a rule",
		"",
		"runtime.SetFinalizer runtime.AddCleanup runtime.Cleanup.Stop",
		"",
	},
	{
		machine,
		"rates of profiles, execution traces, crash reports",
		"",
		"runtime.Set*Rate runtime.SetMutexProfileFraction runtime.*Trace* runtime/debug.SetCrashOutput " +
			"runtime/debug.SetTraceback runtime.MemProfileRecord.*",
		"",
	},
	{machine, "programs in the path", "", "os/exec.LookPath", ""},

	{
		alike,
		"",
		"",
		"os.Expand os.Is* os.SameFile os.NewFile os.NewSyscallError os.TempDir os.User*Dir os.LinkError.* " +
			"os.SyscallError.* os.Process.Pid os.ProcessState.* " +
			"os/exec.Command* os/exec.*Error.* os/user.User.* os/user.*Error.* os.CopyFS",
		"",
	},
	{
		alike,
		"",
		"",
		"net.*CIDR* net.CIDRMask net.IP* net.IP*.* net.JoinHostPort net.SplitHostPort net.Parse* net.Pipe " +
			"net.*AddrFromAddrPort net.*Addr.* net.*Error.* net.*Error net.Flags.* net.HardwareAddr.*",
		"",
	},
	{
		alike,
		"",
		"",
		"runtime.Breakpoint runtime.Caller* runtime.Frames.* runtime.Func* runtime.Go[se]* runtime.KeepAlive " +
			"runtime.Func.* runtime.*ockOSThread runtime.Pinner.* runtime.StackRecord.* " +
			"runtime.*Error.* runtime.SetCgoTraceback runtime/debug.SetPanicOnFault runtime/debug.ParseBuildInfo " +
			"runtime/debug.BuildInfo.*",
		"",
	},
	{
		alike,
		"",
		"",
		"syscall.*Byte* syscall.*String* syscall.Cmsg* syscall.CloseOnExec syscall.SetNonblock syscall.*NetlinkMessage " +
			"syscall.*NetlinkRouteAttr syscall.*UnixCredentials " +
			"syscall.Parse* syscall.Unix* syscall.RawSyscall* syscall.Syscall* syscall.*Nsec syscall.NsecTo* " +
			"syscall.EpollCtl syscall.Accept* syscall.Bind* syscall.Connect " +
			"syscall.Get[sp]*ock* syscall.Getpeername syscall.Setsockopt* syscall.Recv* syscall.Send[mt]* syscall.Shutdown " +
			"syscall.Listen " +
			"syscall.Errno.* syscall.Signal.* syscall.WaitStatus.* syscall.*Rlimit.* syscall.Time*.* syscall.*Msghdr.* " +
			"syscall.Iovec.* syscall.Cmsghdr.* syscall.*ptraceRegs.* syscall.Ptrace*.*",
		"",
	},
}

// has reports whether the row lists a call, and how specific the pattern is.
func (l *limit) has(call string) (exact int) {
	for _, p := range strings.Fields(l.calls) {
		if strings.Count(p, ".") != strings.Count(call, ".") {
			continue
		}
		if ok, err := path.Match(p, call); err == nil && ok {
			exact = max(exact, len(strings.ReplaceAll(p, "*", "")))
			if p == call {
				return 1000
			}
		}
	}
	return exact
}

// exported are the exported functions of a package, and the exported methods of exported types.
func exported(t *testing.T, name string) (list []string) {
	t.Helper()
	where := build.Default
	where.GOOS, where.GOARCH, where.BuildTags = "linux", "amd64", nil
	p, err := where.Import(name, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range slices.Concat(p.GoFiles, p.CgoFiles) {
		tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() {
				continue
			}
			call := name + "." + f.Name.Name
			if f.Recv != nil {
				of := receiver(f)
				if !ast.IsExported(of) {
					continue
				}
				call = name + "." + of + "." + f.Name.Name
			}
			list = append(list, call)
		}
	}
	return list
}

// receiver is the name of a method's receiver type.
func receiver(f *ast.FuncDecl) string {
	of := f.Recv.List[0].Type
	if s, ok := of.(*ast.StarExpr); ok {
		of = s.X
	}
	if i, ok := of.(*ast.Ident); ok {
		return i.Name
	}
	return ""
}

// classed sorts all calls into the rows: each belongs to the row with the most specific pattern.
func classed(t *testing.T) [][]string {
	t.Helper()
	rows, missing := make([][]string, len(limits)), []string(nil)
	for _, name := range limitsOf {
		for _, call := range exported(t, name) {
			best, at := 0, -1
			for i := range limits {
				if n := limits[i].has(call); n > best {
					best, at = n, i
				}
			}
			if at < 0 {
				missing = append(missing, call)
				continue
			}
			rows[at] = append(rows[at], call)
		}
	}
	if len(missing) > 0 {
		t.Errorf("no row says what nodes have of %q", missing)
	}
	return rows
}

// Every exported call of the packages that reach the operating system has a class, and the page lists the calls that
// differ between nodes and processes.
func TestLimits(t *testing.T) {
	rows := classed(t)
	page.Section(t, "../docs/evidence/process-calls.md", "the table", func(w io.Writer) error {
		for _, c := range []struct{ class, title string }{
			{virtual, "Virtual: every node has its own"},
			{reported, "Reported: the machine or the process answers"},
			{refused, "Refused: `EPERM`, and reported"},
			{machine, "Of the machine: alike for all nodes and runs, and not reported"},
		} {
			if _, err := fmt.Fprintf(w, "\n### %s\n\n| what | calls |\n|---|---|\n", c.title); err != nil {
				return err
			}
			for i, l := range limits {
				if l.class != c.class {
					continue
				}
				calls := short(rows[i])
				if l.also != "" {
					calls = append(calls, l.also)
				}
				if _, err := fmt.Fprintf(w, "| %s | %s |\n", l.what, strings.Join(calls, ", ")); err != nil {
					return err
				}
			}
		}
		_, err := fmt.Fprintln(w)
		return err
	})
}

// short names calls, sorted; many methods of a type are one entry.
func short(calls []string) (list []string) {
	const many = 5
	methods := map[string]int{}
	of := func(call string) string { return call[:strings.LastIndexByte(call, '.')] }
	for _, call := range calls {
		methods[of(call)]++
	}
	for _, call := range slices.Sorted(slices.Values(calls)) {
		text := "`" + call + "`"
		if strings.Count(call, ".") == 2 && methods[of(call)] >= many {
			text = "methods of `" + of(call) + "`"
		}
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// The tests that the table names exist.
func TestLimitsNameTests(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	more, err2 := filepath.Glob("sockettest/*_test.go")
	if err = errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range append(files, more...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for _, l := range limits {
		if l.class == virtual && !strings.Contains(all.String(), "\nfunc "+l.by+"(t *testing.T)") {
			t.Errorf("%s: there is no test %q", l.what, l.by)
		}
	}
}

// reports are the texts with which the overlay reports a call.
var reports = regexp.MustCompile(
	"(?:Note\\(\\\\?[\"`]|Refuses\\(\\\\?\"|lockstepReported, \"|lockstepRefused, \")([^\"`\\\\]+)",
)

// The table has exactly the calls that the overlay reports or refuses.
func TestLimitsOfTheOverlay(t *testing.T) {
	files, err := filepath.Glob("overlay/std/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for _, file := range append(files, "overlay/process.go", "overlay/edits.go") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range reports.FindAllStringSubmatch(string(text), -1) {
			said[m[1]] = true
		}
	}
	// They belong to the rows on sockets and signals, and to the variables of packages (TestFrozenLock).
	for _, not := range []string{
		"a socket of node ",
		"a node stops itself by a signal, which is refused",
		"a goroutine waits for a lock that a node of an earlier run holds",
	} {
		delete(said, not)
	}
	for _, l := range limits {
		if l.class != reported && l.class != refused {
			continue
		}
		if !said[l.what] {
			t.Errorf("the overlay does not report %q", l.what)
		}
		delete(said, l.what)
	}
	if len(said) > 0 {
		t.Errorf("the overlay reports what is in no row: %v", said)
	}
}
