//go:build lockstep_overlay

package bubble_test

import (
	"crypto/rand"
	"fmt"
	oldrand "math/rand"
	newrand "math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/locksteptest"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/trace"
)

// shared is a random source in a package-level variable.
var shared = oldrand.New(oldrand.NewSource(time.Now().UnixNano()))

// chances are programs that report a random choice of Go.
var chances = map[string]func(*bubble.Node) error{
	"select": func(n *bubble.Node) error {
		a, b := make(chan int, 100), make(chan int, 100)
		for range 100 {
			a <- 1
			b <- 2
		}
		order := ""
		for range 100 {
			select {
			case x := <-a:
				order += fmt.Sprint(x)
			case x := <-b:
				order += fmt.Sprint(x)
			}
		}
		n.Emit("order", order)
		return nil
	},
	"map": func(n *bubble.Node) error {
		m := map[string]bool{}
		for i := range 50 {
			m[fmt.Sprint(i)] = true
		}
		order := ""
		for k := range m {
			order += k + " "
		}
		n.Emit("order", order)
		return nil
	},
	"map of pointers": func(n *bubble.Node) error {
		n.Emit("order", tour(func(i int) *item { return &item{i, nil} }, func(p *item) int { return p.number }))
		return nil
	},
	"map of interfaces": func(n *bubble.Node) error {
		n.Emit("order", tour(func(i int) any { return &item{i, nil} }, func(p any) int { return p.(*item).number }))
		return nil
	},
	"map of channels": func(n *bubble.Node) error {
		n.Emit("order", tour(func(i int) chan int { return make(chan int, i) }, func(c chan int) int { return cap(c) }))
		return nil
	},
	"map of structs with pointers": func(n *bubble.Node) error {
		n.Emit("order",
			tour(func(i int) pair { return pair{"", &item{i, nil}} }, func(p pair) int { return p.of.number }))
		return nil
	},
	"sync.Map of pointers": func(n *bubble.Node) error {
		var m sync.Map
		for i := range 50 {
			m.Store(&item{i, nil}, i)
		}
		order := ""
		m.Range(func(_, i any) bool {
			order += fmt.Sprint(i, " ")
			return true
		})
		n.Emit("order", order)
		return nil
	},
	"timers": func(n *bubble.Node) error {
		var mutex sync.Mutex
		order := ""
		for i := range 20 {
			time.AfterFunc(time.Second, func() {
				mutex.Lock()
				defer mutex.Unlock()
				order += fmt.Sprint(i, " ")
			})
		}
		time.Sleep(2 * time.Second)
		mutex.Lock()
		defer mutex.Unlock()
		n.Emit("order", order)
		return nil
	},
	"sources": func(n *bubble.Node) error {
		b := make([]byte, 8)
		_, _ = rand.Read(b)
		n.Emit("drawn", fmt.Sprint(oldrand.Int63(), newrand.Uint64(), b))
		return nil
	},
	"a package's source": func(n *bubble.Node) error {
		n.Emit("drawn", fmt.Sprint(shared.Int63()))
		return nil
	},
	"goroutines": func(n *bubble.Node) error {
		var mutex sync.Mutex
		var all sync.WaitGroup
		begin := make(chan struct{})
		order := ""
		for i := range 600 {
			all.Go(func() {
				<-begin
				mutex.Lock()
				defer mutex.Unlock()
				order += fmt.Sprint(i, " ")
			})
		}
		time.Sleep(time.Second)
		close(begin)
		all.Wait()
		n.Emit("order", order)
		return nil
	},
}

// item is a target of pointers. It contains a pointer, because the runtime allocates small values without pointers in
// one block.
type item struct {
	number int
	next   *item
}

// pair is a key whose parts the compiler hashes one by one.
type pair struct {
	name string
	of   *item
}

// tour iterates over a map of 50 keys, some of which were removed and added again, and returns the order.
func tour[K comparable](key func(int) K, number func(K) int) string {
	m, taken := map[K]bool{}, []K(nil)
	for i := range 50 {
		k := key(i)
		m[k] = true
		if i%7 == 0 {
			taken = append(taken, k)
		}
	}
	for _, k := range taken {
		delete(m, k)
	}
	for _, k := range taken {
		m[k] = true
	}
	order := ""
	for k := range m {
		order += fmt.Sprint(number(k), " ")
	}
	return order
}

// All random choices of Go come from the run's seed. These are the case that a select takes, the order of maps and of
// timers of one instant, the random sources, and the order of goroutines.
func TestExact(t *testing.T) {
	for name, start := range chances {
		t.Run(name, func(t *testing.T) {
			plan := lockstep.Plan{
				System:   bubble.Cluster{Name: name, Nodes: 3, Start: start},
				Strategy: strategy.Walk{Wait: 1, Steps: 40},
				Seed:     1,
			}
			r, err := bubble.Repetition(t.Context(), plan, 30)
			if err != nil || r.Same != 30 {
				t.Errorf("%d of 30 runs repeated, the first that did not is %d, %v", r.Same, r.First, err)
			}
		})
	}
}

// Tables of many pointers grow and split although all keys arrived at one moment. That includes tables where the
// garbage collector frees some keys and others get their addresses. No key is lost, and the order is the run's.
func TestManyPointers(t *testing.T) {
	start := func(n *bubble.Node) error {
		m := map[*item]int{}
		for i := range 5000 {
			m[&item{i, nil}] = i
		}
		for p, i := range m {
			if i%3 > 0 {
				delete(m, p)
			}
		}
		runtime.GC()
		for i := range 5000 {
			m[&item{5000 + i, nil}] = 5000 + i
		}
		order := uint64(0)
		for p, i := range m {
			if j, ok := m[p]; !ok || i != p.number || j != i {
				n.Emit("lost", p.number)
			}
			order = order*31 + uint64(i)
		}
		n.Emit("order", fmt.Sprint(len(m), " ", order))
		return nil
	}
	plan := lockstep.Plan{
		System:   bubble.Cluster{Name: "many", Nodes: 2, Start: start},
		Strategy: strategy.Walk{Wait: 1, Steps: 10},
		Seed:     1,
	}
	plan.Spec = spec.OnEvent(
		"none-lost",
		"lost",
		func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
			return &lockstep.Finding{Text: fmt.Sprintf("item %v is not where it was", e.Value)}
		},
	)
	r, err := bubble.Repetition(t.Context(), plan, 5)
	if err != nil || r.Same != 5 {
		t.Errorf("%d of 5 runs repeated, the first that did not is %d, %v", r.Same, r.First, err)
	}
	plan.Runs = 1
	if f := explore(t, plan).First(); f != nil {
		t.Error(f.Finding.Text)
	}
}

// A node that freezes in a crash does nothing more, though its goroutines were not asked to end, and starts again.
func TestFreeze(t *testing.T) {
	beats, incarnations := 0, 0
	stubborn := bubble.Cluster{Name: "stubborn", Nodes: 3, Freeze: &bubble.Freeze{}, Start: func(n *bubble.Node) error {
		incarnations++
		incarnation := n.Incarnation()
		for range 1000 {
			time.Sleep(50 * time.Millisecond)
			if n.Incarnation() != incarnation || !n.Alive() {
				panic("a frozen goroutine moved")
			}
			beats++
		}
		return nil
	}}
	stubborn.Begin = func(*bubble.World) { beats = 0 }
	walk := strategy.Walk{Wait: 10, Crash: 1, Restart: 1, Steps: 200}
	result, err := lockstep.Explore(t.Context(), lockstep.Plan{System: stubborn, Strategy: walk, Runs: 20, Seed: 1})
	if err != nil { // not explore, which checks for leaks
		t.Fatal(err)
	}
	if f := result.First(); f != nil || incarnations <= 60 || beats == 0 {
		t.Errorf("found %+v, %d incarnations, %d beats in the last run", f, incarnations, beats)
	}
}

// A panic in a goroutine that the program started with go is a finding with its stack.
func TestPanicInGo(t *testing.T) {
	for name, f := range map[string]func(){
		"go":    func() { go tooBad() },
		"timer": func() { time.AfterFunc(time.Second, tooBad) },
		"nil":   func() { go func() { var p *int; *p = len(os.Args) }() },
		"deferred": func() {
			go func() {
				defer func() { panic("too bad") }()
				panic("not so bad")
			}()
		},
	} {
		t.Run(name, func(t *testing.T) {
			start := func(n *bubble.Node) error {
				if n.Self() == 2 {
					f()
				}
				return nil
			}
			plan := lockstep.Plan{
				System:   bubble.Cluster{Name: name, Nodes: 2, Start: start},
				Strategy: strategy.Walk{Wait: 1, Steps: 20},
				Runs:     3,
			}
			found := explore(t, plan).First()
			if found == nil || found.Failed != 1 || found.Finding.Property != "panic" ||
				!strings.Contains(found.Finding.Stack, "bubble_test.") {
				t.Fatalf("found %+v", found)
			}
			if text := found.Finding.Text; !strings.Contains(text, "too bad") &&
				!strings.Contains(text, "nil pointer") {
				t.Error(text)
			}
		})
	}
}

// A recorded run is the same as one that is not recorded. Draws of texts and specs, such as for the iteration over a
// map, do not come from the nodes' stream.
func TestRecordedAlike(t *testing.T) {
	many := map[int]bool{}
	for i := range 20 {
		many[i] = true
	}
	start := func(n *bubble.Node) error {
		n.SetState(func() string {
			for i := range many {
				return fmt.Sprint(i)
			}
			return ""
		})
		for range 20 {
			time.Sleep(time.Millisecond)
			n.Emit("drawn", newrand.Uint64())
		}
		return nil
	}
	var drawn [2]string
	for i := range drawn {
		read := spec.OnEvent("read", "drawn", func(_ *struct{}, _ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
			drawn[i] += fmt.Sprint(e.Value, " ")
			return nil
		})
		plan := lockstep.Plan{
			System:   bubble.Cluster{Name: "drawing", Nodes: 2, Start: start},
			Strategy: strategy.Walk{Wait: 1, Steps: 60},
			Spec:     read,
			Runs:     1,
			Seed:     1,
			Texts:    i == 1,
		}
		if _, err := lockstep.Explore(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
	}
	if drawn[0] == "" || drawn[0] != drawn[1] {
		t.Errorf("without texts nodes draw %s, with texts %s", drawn[0], drawn[1])
	}
}

// A state function that waits would change a recorded run: it is a finding.
func TestStateWaits(t *testing.T) {
	start := func(n *bubble.Node) error {
		var lock sync.Mutex
		n.SetState(func() string {
			lock.Lock()
			defer lock.Unlock()
			return "fine"
		})
		for n.Alive() {
			lock.Lock()
			time.Sleep(time.Second)
			lock.Unlock()
			n.Emit("slept", nil)
			time.Sleep(time.Millisecond)
		}
		return nil
	}
	plan := lockstep.Plan{
		System:   bubble.Cluster{Name: "locked", Nodes: 1, Start: start, Freeze: &bubble.Freeze{}},
		Strategy: strategy.Walk{Wait: 1, Steps: 10},
		Runs:     1,
		Texts:    true,
	}
	r, err := lockstep.Explore(t.Context(), plan)
	if err != nil || r.First() == nil || !strings.Contains(r.First().Finding.Text, "node 1 waited for") {
		t.Errorf("found %+v, %v", r.First(), err)
	}
}

// A panic of a crashed node in its grace time is no finding.
func TestPanicInBurial(t *testing.T) {
	panicked := 0
	start := func(n *bubble.Node) error {
		go func() {
			for n.Alive() {
				time.Sleep(10 * time.Millisecond)
			}
			panicked++
			panic("the dead speak")
		}()
		return nil
	}
	plan := lockstep.Plan{
		System: bubble.Cluster{
			Name:   "grace",
			Nodes:  3,
			Freeze: &bubble.Freeze{Grace: 50 * time.Millisecond},
			Start:  start,
		},
		Strategy: strategy.Walk{Wait: 4, Crash: 1, Restart: 1, Steps: 40},
		Runs:     5,
		Seed:     1,
	}
	r, err := lockstep.Explore(t.Context(), plan) // the frozen are left
	if err != nil || r.First() != nil || panicked == 0 {
		t.Errorf("%d panics of the dead, found %+v, %v", panicked, r.First(), err)
	}
}

// outside is a goroutine of the package, which belongs to no run.
var outside = sync.OnceValue(func() chan chan int {
	in := make(chan chan int)
	go func() {
		for answer := range in {
			answer <- 1
		}
	}()
	return in
})

// The result lists sources of nondeterminism in a node, with the place.
func TestNondeterminism(t *testing.T) {
	in := outside()
	for what, f := range map[string]func(){
		"a goroutine outside the bubble wakes one of a node": func() {
			answer := make(chan int)
			in <- answer
			<-answer
		},
		"real time is read":         func() { _ = syscall.Gettimeofday(&syscall.Timeval{}) },
		"the use of memory is read": func() { runtime.ReadMemStats(&runtime.MemStats{}) },
	} {
		t.Run(what, func(t *testing.T) {
			start := func(*bubble.Node) error { f(); return nil }
			plan := lockstep.Plan{
				System:   bubble.Cluster{Name: "sources", Nodes: 1, Start: start},
				Strategy: strategy.Walk{Wait: 1, Steps: 3},
				Runs:     2,
			}
			list := explore(t, plan).Nondeterminism
			if len(list) == 0 || !strings.HasPrefix(list[0], what+" (node 1) in ") ||
				!strings.Contains(list[0], "bubble_test.") {
				t.Errorf("sources of nondeterminism %q", list)
			}
		})
	}
}

// A source of nondeterminism at one place is reported once, however often each run reaches it.
func TestNondeterminismIsReportedOnce(t *testing.T) {
	start := func(n *bubble.Node) error {
		for range 1 + n.Source().IntN(9) {
			runtime.ReadMemStats(&runtime.MemStats{})
		}
		return nil
	}
	plan := lockstep.Plan{
		System:   bubble.Cluster{Name: "often", Nodes: 1, Start: start},
		Strategy: strategy.Walk{Wait: 1, Steps: 3},
		Runs:     20,
		Seed:     1,
	}
	if list := explore(t, plan).Nondeterminism; len(list) != 1 {
		t.Errorf("reported are %q", list)
	}
}

// A goroutine outside the bubble may signal a condition of the process, and may use its channels and locks. The result
// lists it as a source of nondeterminism.
func TestSignaledFromOutside(t *testing.T) {
	news := sync.NewCond(&sync.Mutex{})
	for name, signal := range map[string]func(){"Signal": news.Signal, "Broadcast": news.Broadcast} {
		t.Run(name, func(t *testing.T) {
			asked, heard := make(chan bool), 0
			go func() {
				for range asked {
					news.L.Lock() // acquired once the node waits
					signal()
					news.L.Unlock()
				}
			}()
			defer close(asked)
			start := func(*bubble.Node) error {
				news.L.Lock()
				defer news.L.Unlock()
				asked <- true
				news.Wait()
				heard++
				return nil
			}
			plan := lockstep.Plan{
				System:   bubble.Cluster{Name: "signaled", Nodes: 1, Start: start},
				Strategy: strategy.Walk{Wait: 1, Steps: 3},
				Runs:     2,
			}
			list := explore(t, plan).Nondeterminism
			if len(list) == 0 ||
				!strings.HasPrefix(list[0], "a goroutine outside the bubble wakes one of a node (node 1) in ") ||
				!strings.Contains(list[0], "sync.(*Cond)."+name) ||
				heard == 0 {
				t.Errorf("%d times heard, sources of nondeterminism %q", heard, list)
			}
		})
	}
}

// A recheck detects a run that depends on the process, and names the source.
func TestDivergence(t *testing.T) {
	start := func(n *bubble.Node) error {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		n.Emit(fmt.Sprint("memory ", stats.Mallocs), nil)
		return nil
	}
	result := campaign(
		t,
		lockstep.Plan{
			System:   bubble.Cluster{Name: "divergence", Nodes: 1, Start: start},
			Strategy: strategy.Walk{Wait: 1, Steps: 3},
			Runs:     60,
		},
	)
	if result.Rechecked != 1 || len(result.Divergences) != 1 || result.Verdict() != trace.Flaky {
		t.Fatalf("%d rechecked, %v", result.Rechecked, result.Divergences)
	}
	sources := strings.Join(result.Divergences[0].Nondeterminism, "; ")
	if !strings.Contains(result.Divergences[0].Difference, "memory") ||
		!strings.Contains(sources, "the use of memory is read") ||
		!strings.Contains(sources, "TestDivergence") {
		t.Errorf("%+v", result.Divergences[0])
	}
}

// campaign runs a campaign.
func campaign(t *testing.T, plan lockstep.Plan) *lockstep.Result {
	t.Helper()
	result, err := lockstep.Explore(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// A finding is reproduced in a fresh process and compared byte for byte.
func TestFresh(t *testing.T) {
	const asked = "LOCKSTEP_FRESH_TEST"
	if os.Getenv(asked) != "" {
		locksteptest.Run(t,
			lockstep.Plan{System: lockers, Strategy: strategy.DefaultPOS, Spec: oneOwner, Runs: 200, Seed: 1})
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self, "-test.run=^TestFresh$", "-test.v")
	c.Env = append(os.Environ(), asked+"=1")
	c.Dir = t.TempDir()
	out, err := c.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "in a fresh process it was the same, byte for byte") {
		t.Errorf("%v\n%s", err, out)
	}
}

// leaked survives a run, as package-level variables do.
var leaked int

// A finding that is different in a fresh process is flaky, and is reported with the sources of nondeterminism. Its
// cause may be state that an earlier run left in the process.
func TestFreshDiffers(t *testing.T) {
	const asked = "LOCKSTEP_FRESH_DIFFERS_TEST"
	if os.Getenv(asked) != "" {
		start := func(n *bubble.Node) error {
			debug.Stack()
			if leaked++; leaked > 3 {
				n.Emit("locked", nil)
			}
			return nil
		}
		locksteptest.Run(
			t,
			lockstep.Plan{
				System:   bubble.Cluster{Name: "leak", Nodes: 2, Start: start},
				Strategy: strategy.Walk{Wait: 1, Steps: 3},
				Spec:     oneOwner,
				Runs:     200,
				Seed:     1,
			},
		)
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self, "-test.run=^TestFreshDiffers$", "-test.v")
	c.Env = append(os.Environ(), asked+"=1")
	c.Dir = t.TempDir()
	out, err := c.CombinedOutput()
	for _, want := range []string{
		"one-owner in 1 of",
		"in a fresh process it was different: ",
		"a stack is read, with numbers of goroutines",
		"the system is not deterministic",
		"--- FAIL",
	} {
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%v, without %q:\n%s", err, want, out)
		}
	}
}

// Process-wide state in package-level variables.
var (
	registry  = map[string]int{"there": 1} // deleting from an empty map writes nothing
	semaphore = make(chan struct{}, 4)
	guarded   sync.Mutex
	closed    = func() chan struct{} {
		c := make(chan struct{})
		close(c)
		return c
	}()
)

// Channels, maps and locks that nodes share through package-level variables are reported, each once and in every
// campaign. Objects of one node, and those that the engine made, are not.
func TestShared(t *testing.T) {
	for name, c := range map[string]struct {
		use  func(n *bubble.Node)
		what string // empty: no report
	}{
		"map":     {func(n *bubble.Node) { registry[fmt.Sprint(n.Self())]++ }, "nodes write to the same map"},
		"delete":  {func(*bubble.Node) { delete(registry, "x") }, "nodes write to the same map"},
		"channel": {func(*bubble.Node) { semaphore <- struct{}{}; <-semaphore }, "nodes share a channel"},
		"select": {func(*bubble.Node) {
			select {
			case semaphore <- struct{}{}:
				<-semaphore
			case <-make(chan int):
			}
		}, "nodes share a channel"},
		"lock": {func(*bubble.Node) {
			guarded.Lock()
			time.Sleep(time.Second)
			guarded.Unlock()
		}, "a goroutine of another node is woken by this one: nodes share a lock"},
		"closed": {func(*bubble.Node) { <-closed }, ""},
		"own": {func(n *bubble.Node) {
			own, mine := map[int]int{}, make(chan int, 1)
			own[1] = 1
			mine <- 1
			n.Emit("own", own[<-mine])
		}, ""},
		"engine": {func(n *bubble.Node) { n.World().Value.(chan int) <- 1 }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			start := func(n *bubble.Node) error { c.use(n); return nil }
			begin := func(w *bubble.World) { w.Value = make(chan int, 10) }
			for range 2 {
				plan := lockstep.Plan{
					System:   bubble.Cluster{Name: "shared", Nodes: 3, Begin: begin, Start: start},
					Strategy: strategy.Walk{Wait: 1, Steps: 60},
					Runs:     2,
				}
				list := explore(t, plan).Nondeterminism
				switch {
				case c.what == "" && len(list) != 0:
					t.Errorf("sources of nondeterminism %q", list)
				case c.what != "" && (len(list) != 1 || !strings.HasPrefix(list[0], c.what+" (node ") ||
					!strings.Contains(list[0], "bubble_test.TestShared")):
					t.Errorf("sources of nondeterminism %q", list)
				}
			}
		})
	}
}

// A goroutine that takes long in real time keeps its turn. The reason may be a loaded machine or a stopped process.
func TestKeepsItsTurn(t *testing.T) {
	const long = 2100 * time.Millisecond
	for name, take := range map[string]func(){
		"in a system call": func() {
			length := syscall.NsecToTimespec(int64(long))
			_ = syscall.Nanosleep(&length, nil)
		},
		"running": func() {
			var began, now syscall.Timeval
			for _ = syscall.Gettimeofday(&began); time.Duration(now.Nano()-began.Nano()) < long; {
				_ = syscall.Gettimeofday(&now)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			incarnations, order := 0, ""
			start := func(*bubble.Node) error {
				if incarnations++; incarnations > 1 { // the first is for the warm-up
					go func() { order += "the next" }()
					take()
					order += "the slow one, "
				}
				return nil
			}
			campaign(
				t,
				lockstep.Plan{
					System:   bubble.Cluster{Name: "slow", Nodes: 1, Start: start, Timeout: time.Minute},
					Strategy: strategy.Walk{Wait: 1, Steps: 2},
					Runs:     1,
				},
			)
			if order != "the slow one, the next" {
				t.Error(order)
			}
		})
	}
}

// A goroutine outside of runs that waits in a system call blocks no other goroutine. An example is a worker that waits
// for its next task.
func TestOthersWait(t *testing.T) {
	var pipe [2]int
	if err := syscall.Pipe(pipe[:]); err != nil {
		t.Fatal(err)
	}
	read := make(chan int)
	go func() {
		all := 0
		for {
			n, err := syscall.Read(pipe[0], make([]byte, 1))
			if n <= 0 || err != nil {
				read <- all
				return
			}
			all += n
		}
	}()
	incarnations := 0
	start := func(*bubble.Node) error {
		incarnations++
		_, err := syscall.Write(pipe[1], []byte{1}) // makes the goroutine read, and wait again, during a run
		return err
	}
	campaign(
		t,
		lockstep.Plan{
			System:   bubble.Cluster{Name: "undisturbed", Nodes: 1, Start: start, Timeout: time.Hour},
			Strategy: strategy.Walk{Wait: 1, Steps: 50},
			Runs:     20,
		},
	)
	if err := syscall.Close(pipe[1]); err != nil {
		t.Fatal(err)
	}
	if n := <-read; n != incarnations || n < 20 {
		t.Errorf("%d read of %d", n, incarnations)
	}
}
