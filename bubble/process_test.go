//go:build lockstep_overlay && linux && amd64

package bubble_test

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"hash/maphash"
	oldrand "math/rand"
	newrand "math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/strategy"
)

// Values that packages compute during their initialization.
var (
	born     = time.Now()
	identity = func() string {
		b := make([]byte, 8)
		_, _ = crand.Read(b)
		return fmt.Sprint(b)
	}()
	drawn  = fmt.Sprint(newrand.Uint64(), oldrand.Uint64())
	hashed = maphash.String(maphash.MakeSeed(), "x")
	pcg    = newrand.New(newrand.NewPCG(uint64(time.Now().UnixNano()), newrand.Uint64()))
	chacha = newrand.New(newrand.NewChaCha8([32]byte{1}))
	early  = func() time.Time { // initialization that waits for the clock to advance
		for began := time.Now(); ; {
			if now := time.Now(); now.After(began) {
				return now
			}
		}
	}()
	lazy *oldrand.Rand // made in the first run

	late       *newrand.Rand // made in the second run
	sourceUses int
)

// own are resources that each node has, like a process. The text has the node's number for %d, and its incarnation for
// %[2]d.
var own = map[string]struct {
	see  func() any
	want string
}{
	"os.Getpid":       {func() any { return os.Getpid() }, "1000%d00%[2]d"},
	"os.Getppid":      {func() any { return os.Getppid() }, "1"},
	"syscall.Gettid":  {func() any { return syscall.Gettid() }, "1000%d00%[2]d"},
	"syscall.Getpgrp": {func() any { return syscall.Getpgrp() }, "1000%d00%[2]d"},
	"raw getpid": {
		func() any { pid, _, _ := syscall.RawSyscall(syscall.SYS_GETPID, 0, 0, 0); return pid },
		"1000%d00%[2]d",
	},
	"os.Hostname":        {func() any { name, _ := os.Hostname(); return name }, "node%d"},
	"net.InterfaceAddrs": {func() any { list, _ := net.InterfaceAddrs(); return list }, "[127.0.0.1/8 10.0.0.%d/24]"},
	"net.Interfaces": {func() any {
		list, _ := net.Interfaces()
		one, _ := net.InterfaceByName("eth0")
		addrs, _ := one.Addrs()
		multi, _ := one.MulticastAddrs()
		return fmt.Sprint(len(list), one.HardwareAddr, one.Flags&net.FlagUp != 0, addrs, multi)
	}, "2 02:00:0a:00:00:0%d true [10.0.0.%[1]d/24] []"},
	"runtime.NumCPU":       {func() any { return runtime.NumCPU() }, "2"},
	"runtime.GOMAXPROCS":   {func() any { return fmt.Sprint(runtime.GOMAXPROCS(7), runtime.GOMAXPROCS(0)) }, "2 7"},
	"runtime.NumGoroutine": {func() any { time.Sleep(1); go time.Sleep(1); return runtime.NumGoroutine() }, "3"},
	"debug.SetGCPercent": {
		func() any { return fmt.Sprint(debug.SetGCPercent(-1), debug.SetGCPercent(50), debug.SetGCPercent(100)) },
		"100 -1 50",
	},
	"debug.SetMemoryLimit": {
		func() any { return fmt.Sprint(debug.SetMemoryLimit(5) > 1<<40, debug.SetMemoryLimit(-1)) },
		"true 5",
	},
	"os.Setenv": {func() any {
		before := os.Getenv("OWNER")
		_ = os.Setenv("OWNER", fmt.Sprint(os.Getpid()))
		after, here := os.Getenv("OWNER"), slices.Contains(os.Environ(), fmt.Sprint("OWNER=", os.Getpid()))
		_ = os.Unsetenv("HOME")
		_, home := os.LookupEnv("HOME")
		os.Clearenv()
		return fmt.Sprint(before, " ", after, " ", here, home, len(os.Environ()))
	}, " 1000%d00%[2]d true false 0"},
	"os.Environ": {func() any {
		return slices.ContainsFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "LOCKSTEP_") })
	}, "false"},
	"time.Local": {
		func() any { return time.Date(2020, 7, 1, 0, 0, 0, 0, time.Local).Format(time.RFC3339 + " MST") },
		"2020-07-01T00:00:00Z UTC",
	},
	"syscall.Uname": {func() any {
		var un syscall.Utsname
		_ = syscall.Uname(&un)
		return fmt.Sprint(un.Nodename[:6], un.Machine[0])
	}, "[110 111 100 101 %[3]d 0] 120"},
	"signal.Notify": {func() any {
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM, os.Interrupt)
		defer signal.Stop(c)
		self, _ := os.FindProcess(os.Getpid())
		err := self.Signal(syscall.SIGTERM)
		got := <-c
		signal.Ignore(syscall.SIGHUP)
		return fmt.Sprint(got, err, syscall.Kill(os.Getpid(), syscall.SIGHUP), signal.Ignored(syscall.SIGHUP),
			syscall.Kill(0, 0), syscall.Kill(syscall.Getppid(), syscall.SIGTERM))
	}, "terminated <nil> <nil> true <nil> no such process"},
	"signal.NotifyContext": {func() any {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
		<-ctx.Done()
		return ctx.Err()
	}, "context canceled"},
	"syscall.Setrlimit": {
		func() any { return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 3, Max: 3}) },
		"<nil>",
	},
	"syscall.Umask": {func() any { return syscall.Umask(0o777) }, "18"},
	"init": {
		func() any { return born.Sub(time.Now()).Round(time.Second) < 0 && early.Year() == 1999 },
		"true",
	},
}

// Every node has its own version of the resources of a process, and a new one in each incarnation.
func TestProcess(t *testing.T) {
	t.Setenv("LOCKSTEP_X", "1")
	for name, c := range own {
		t.Run(name, func(t *testing.T) {
			wrong := ""
			start := func(n *bubble.Node) error {
				want := fmt.Sprintf(c.want, n.Self(), n.Incarnation(), '0'+int(n.Self()))
				want, _, _ = strings.Cut(want, "%!(EXTRA")
				if got := fmt.Sprint(c.see()); got != want {
					wrong += fmt.Sprintf("node %d sees %s, want %s\n", n.Self(), got, want)
				}
				return nil
			}
			pid, env := os.Getpid(), os.Environ()
			list := campaign(
				t,
				lockstep.Plan{
					System: bubble.Cluster{
						Name:    "own",
						Nodes:   3,
						Start:   start,
						Network: bubble.Sockets{},
						Freeze:  &bubble.Freeze{},
					},
					Strategy: strategy.Walk{Wait: 3, Crash: 1, Restart: 1, Steps: 20},
					Runs:     3,
					Seed:     2,
				},
			).Nondeterminism
			if wrong != "" || len(list) > 0 {
				t.Errorf("%ssources of nondeterminism %q", wrong, list)
			}
			if os.Getpid() != pid || pid > 5_000_000 || !slices.Equal(os.Environ(), env) {
				t.Errorf("the process is %d with %q", os.Getpid(), os.Environ())
			}
		})
	}
}

// CPUs is the number of processors that nodes see.
func TestCPUs(t *testing.T) {
	seen := 0
	start := func(*bubble.Node) error { seen = runtime.NumCPU(); return nil }
	campaign(
		t,
		lockstep.Plan{
			System:   bubble.Cluster{Name: "many", Nodes: 1, Start: start, Process: bubble.Process{CPUs: 12}},
			Strategy: strategy.Walk{Wait: 1, Steps: 1},
			Runs:     1,
		},
	)
	if seen != 12 || runtime.NumCPU() == 12 {
		t.Errorf("nodes see %d processors, others %d", seen, runtime.NumCPU())
	}
}

// A node that kills itself by a signal has exited. It may kill its own child processes.
func TestSignals(t *testing.T) {
	start := func(*bubble.Node) error { return syscall.Kill(os.Getpid(), syscall.SIGTERM) }
	found := campaign(
		t,
		lockstep.Plan{
			System:   bubble.Cluster{Name: "suicide", Nodes: 1, Start: start},
			Strategy: strategy.Walk{Wait: 1, Steps: 3},
			Runs:     1,
		},
	).First()
	if found == nil || found.Finding.Property != "exit" ||
		!strings.Contains(found.Finding.Text, "node 1 died of signal: terminated at process_test.go:") {
		t.Errorf("found %+v", found)
	}
}

// sharedCalls are calls that the machine or the process answers, by the text of the report.
var sharedCalls = map[string]func() error{
	"the working directory of the process is read": func() error { _, err := os.Getwd(); return err },
	"the path of the program is read":              func() error { _, err := os.Executable(); return err },
	"a stack is read, with numbers of goroutines":  func() error { debug.Stack(); return nil },
	"metrics of the process are read": func() error {
		metrics.Read([]metrics.Sample{{Name: "/sched/goroutines:goroutines"}})
		return nil
	},
	"a profile of the process is read": func() error { runtime.GoroutineProfile(nil); return nil },
	"the processor time of the process is read": func() error {
		return syscall.Getrusage(0, new(syscall.Rusage))
	},
	"the machine's memory, load or processors are read": func() error {
		return syscall.Sysinfo(new(syscall.Sysinfo_t))
	},
	"the free space of the machine's disk is read": func() error {
		return syscall.Statfs("/", new(syscall.Statfs_t))
	},
	"the limits of the process are read": func() error {
		return syscall.Getrlimit(syscall.RLIMIT_NOFILE, new(syscall.Rlimit))
	},
	"a socket is made by a system call, and is the kernel's": func() error {
		fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
		return errors.Join(err, syscall.Close(fd))
	},
	"a pipe of the kernel is made": func() error {
		r, w, err := os.Pipe()
		return errors.Join(err, r.Close(), w.Close())
	},
	"a file about the machine is read": func() error {
		_, err := os.ReadFile("/proc/self/stat")
		return err
	},
	"a child process is started, which lives in real time": func() error { return exec.Command("true").Run() },
	"the use of memory is read": func() error {
		debug.ReadGCStats(new(debug.GCStats))
		return nil
	},
	"the processor profile of the process is switched": func() error { runtime.SetCPUProfileRate(0); return nil },
	"the number of calls of C is read":                 func() error { runtime.NumCgoCall(); return nil },
	"standard input is read": func() error {
		_, err := os.Stdin.Read(make([]byte, 1))
		return err
	},
	"a system call waits in real time": func() error {
		return syscall.Nanosleep(&syscall.Timespec{Nsec: 1}, nil)
	},
	"the kernel's events are used": func() error {
		fd, err := syscall.EpollCreate1(0)
		return errors.Join(err, syscall.Close(fd))
	},
	"the kernel's queues, semaphores or shared memory are used": func() error {
		if _, _, err := syscall.Syscall(syscall.SYS_SHMGET, 0, 0, 0); err != syscall.EINVAL { // a segment of size 0
			return err
		}
		return nil
	},
	"a child process is waited for in real time": func() error {
		if _, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); !errors.Is(err, syscall.ECHILD) {
			return err
		}
		return nil
	},
	"a random source that an earlier run made is used": func() error {
		if sourceUses++; sourceUses == 2 { // the first run warms up
			late = newrand.New(newrand.NewPCG(1, 2))
		}
		if late != nil {
			late.Uint64()
		}
		return nil
	},
	"real time is read": func() error {
		var now [2]int64
		if _, _, err := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 0, uintptr(unsafe.Pointer(&now)), 0); err != 0 {
			return err
		}
		return nil
	},
}

// refusedCalls are calls that would change the process, or the machine, for all nodes.
var refusedCalls = map[string]func() error{
	"the working directory of the process is changed": func() error { return os.Chdir("/") },
	"the program of the process is replaced":          func() error { return syscall.Exec("/bin/true", nil, nil) },
	"the user of the process is changed":              func() error { return syscall.Setuid(0) },
	"a system call is made by all threads": func() error {
		if _, _, err := syscall.AllThreadsSyscall(syscall.SYS_GETPID, 0, 0, 0); err != 0 {
			return err
		}
		return nil
	},
	"a limit of the process is changed": func() error {
		return raw(syscall.SYS_SETRLIMIT, syscall.RLIMIT_NOFILE)
	},
	"a process is traced":                     func() error { return syscall.PtraceAttach(1) },
	"the namespace of the process is changed": func() error { return syscall.Unshare(0) },
	"the group of the process is changed":     func() error { _, err := syscall.Setsid(); return err },
	"the priority of the process is changed":  func() error { return syscall.Setpriority(syscall.PRIO_PROCESS, 0, 0) },
	"the machine is changed":                  func() error { return syscall.Sethostname([]byte("x")) },
}

// raw makes a system call.
func raw(trap, argument uintptr) error {
	if _, _, err := syscall.Syscall(trap, argument, 0, 0); err != 0 {
		return err
	}
	return nil
}

// sharedCalls and refusedCalls test the rows of the table of limits that are reported or refused.
func TestLimitsAreTried(t *testing.T) {
	rows := map[string]map[string]func() error{reported: sharedCalls, refused: refusedCalls}
	listed := 0
	for _, l := range limits {
		tried, differs := rows[l.class]
		if !differs {
			continue
		}
		listed++
		if tried[l.what] == nil {
			t.Errorf("nothing attempts %q", l.what)
		}
	}
	if n := len(sharedCalls) + len(refusedCalls); n != listed {
		t.Errorf("%d calls are tried, the table has %d", n, listed)
	}
}

// Calls by which a node reads state of the process or the machine are reported with the place. Calls that would change
// it are refused.
func TestSharedCalls(t *testing.T) {
	try := func(what string, call func() error, refused bool) {
		t.Run(what, func(t *testing.T) {
			var err error
			start := func(*bubble.Node) error { err = call(); return nil }
			list := campaign(
				t,
				lockstep.Plan{
					System:   bubble.Cluster{Name: "sharing", Nodes: 1, Start: start},
					Strategy: strategy.Walk{Wait: 1, Steps: 3},
					Runs:     3,
				},
			).Nondeterminism
			if refused {
				what += ", which is refused"
			}
			if !slices.ContainsFunc(list, func(s string) bool {
				return strings.HasPrefix(s, what+" (node 1) ") && strings.Contains(s, "bubble_test.")
			}) {
				t.Errorf("sources of nondeterminism %q", list)
			}
			if refused != errors.Is(err, os.ErrPermission) {
				t.Errorf("the call returns %v", err)
			}
		})
	}
	for what, call := range sharedCalls {
		try(what, call, false)
	}
	for what, call := range refusedCalls {
		try(what, call, true)
	}
}

// Values that packages compute during initialization are the same in every process. Random sources in package-level
// variables restart with each run.
func TestInit(t *testing.T) {
	const asked = "LOCKSTEP_INIT_TEST"
	see := func(runs int) (last string) {
		start := func(n *bubble.Node) error {
			if lazy == nil {
				lazy = oldrand.New(oldrand.NewSource(time.Now().UnixNano()))
			}
			last = fmt.Sprint(born, identity, drawn, hashed, pcg.Uint64(), chacha.Uint64(), lazy.Uint64(),
				shared.Uint64())
			return nil
		}
		bench, err := lockstep.NewRunner(
			lockstep.Plan{
				System:   bubble.Cluster{Name: "initialized", Nodes: 1, Start: start},
				Strategy: strategy.Walk{Wait: 1, Steps: 1},
				Seed:     1,
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		defer bench.Close()
		for run := 10 - runs; run < 10; run++ {
			if _, err := bench.Record(t.Context(), run, nil); err != nil {
				t.Fatal(err)
			}
		}
		return last
	}
	if os.Getenv(asked) != "" {
		fmt.Println("initialized:", see(1))
		return
	}
	want := see(7)
	for range 2 {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInit$")
		c.Env = append(os.Environ(), asked+"=1")
		out, err := c.CombinedOutput()
		_, got, _ := strings.Cut(string(out), "initialized: ")
		if got, _, _ = strings.Cut(got, "\n"); err != nil || got != want {
			t.Errorf("%v: in another process\n%s, here\n%s", err, got, want)
		}
	}
}
