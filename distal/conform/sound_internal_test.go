package conform

import (
	"flag"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/async"
	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/internal/generate"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

var programs = flag.Int("programs", 0, "random programs to check; 0: 10,000 with LOCKSTEP_FULL, 200 otherwise")

// shown follows some variables of the nodes.
type shown struct {
	vars []int
	now  []string // by node
}

func (o *shown) Reset()                                             {}
func (o *shown) Event(*lockstep.Run, *lockstep.Event) (bool, error) { return false, nil }
func (o *shown) Leads(int, *machine.State) bool                     { return true }
func (o *shown) Text(node int) string                               { return o.now[node] }
func (o *shown) Agrees(node int, s *machine.State) bool             { return o.now[node] == o.part(s) }

// part is what is shown of a state.
func (o *shown) part(s *machine.State) string {
	var key []byte
	for _, i := range o.vars {
		key = core.AppendValue(key, s.Vars[i])
	}
	return string(key)
}

// sight is that a node shows something new.
type sight struct {
	node int
	part string
}

// sights is what a run shows: how every node starts, and every change after that.
func (o *shown) sights(history []async.Firing, n int) (start []string, list []sight) {
	now := make([]string, n+1)
	for i := range history {
		f := &history[i]
		part := o.part(f.After)
		if part != now[f.Node] && i >= n {
			list = append(list, sight{f.Node, part})
		}
		now[f.Node] = part
		if i == n-1 {
			start = slices.Clone(now)
		}
	}
	return start, list
}

// verdict is what a check says.
type verdict int

const (
	unknown verdict = iota
	conforms
	differs
)

// compare checks what a run showed against a program.
func compare(t *testing.T, p *machine.Program, o *shown, start []string, list []sight) (v verdict) {
	t.Helper()
	m, err := newModel(p, &Mapping{}, Limits{Actions: 1, States: 300})
	if err != nil {
		return unknown
	}
	defer func() {
		if _, ok := recover().(trouble); ok {
			v = unknown
		}
	}()
	o.now = slices.Clone(start)
	s := &search{m: m, see: o}
	s.begin()
	for _, now := range list {
		if len(s.worlds) == 0 {
			break
		}
		o.now[now.node] = now.part
		if !s.observed(now.node - 1) {
			if s.reached != "" {
				return unknown
			}
			return differs
		}
	}
	if len(s.worlds) == 0 {
		return differs
	}
	return conforms
}

// oracle looks for the same run by trying everything on instances of package async.
type oracle struct {
	o        *shown
	list     []sight
	attempts int  // left
	cut      bool // not everything was tried
}

// find continues an instance that has shown the first done sights.
func (o *oracle) find(in *async.Instance, now []string, done, hidden int) bool {
	if done == len(o.list) {
		return true
	}
	if hidden == 0 {
		o.cut = true
		return false
	}
	for i := 1; i <= in.Nodes(); i++ {
		if o.step(in, now, done, hidden, func(c *async.Instance) []async.Firing { return c.Timeout(i) }) {
			return true
		}
		var ids []int
		for _, f := range in.InFlight() {
			if f.To == i {
				ids = append(ids, f.ID)
			}
		}
		if len(ids) > 6 {
			o.cut = true
			return false
		}
		for mask := 1; mask < 1<<len(ids); mask++ {
			var some []int
			for k, id := range ids {
				if mask>>k&1 != 0 {
					some = append(some, id)
				}
			}
			if o.step(in, now, done, hidden, func(c *async.Instance) []async.Firing {
				fired, _ := c.Deliver(some...)
				return fired
			}) {
				return true
			}
		}
	}
	return false
}

// step makes a step with all choices.
func (o *oracle) step(in *async.Instance, now []string, done, hidden int,
	do func(*async.Instance) []async.Firing) bool {
	var taken, of []int
	for o.attempts > 0 {
		o.attempts--
		at := 0
		c := in.Clone(func(n int) int {
			if at == len(taken) {
				taken, of = append(taken, 0), append(of, n)
			}
			at++
			return taken[at-1]
		})
		if fired := do(c); len(fired) > 0 {
			after, k, ok := slices.Clone(now), done, true
			for _, f := range fired {
				part := o.o.part(f.After)
				switch {
				case f.Fault != nil:
					ok = false
				case part == after[f.Node]:
				case k < len(o.list) && o.list[k] == (sight{f.Node, part}):
					after[f.Node] = part
					k++
				default:
					ok = k == len(o.list) // what comes after the end is not looked at
				}
				if !ok || k == len(o.list) {
					break
				}
			}
			left := hidden
			if k == done {
				left--
			}
			if ok && o.find(c, after, k, left) {
				return true
			}
		}
		last := len(taken) - 1
		for last >= 0 && taken[last]+1 >= of[last] {
			last--
		}
		if last < 0 {
			return false
		}
		taken, of = taken[:last+1], of[:last+1]
		taken[last]++
	}
	return false
}

// exists says whether a program can show the same.
func exists(p *machine.Program, o *shown, start []string, list []sight) verdict {
	b := &oracle{o: o, list: list, attempts: 3000}
	var taken, of []int
	for {
		at := 0
		in := async.New(p, func(n int) int {
			if at == len(taken) {
				taken, of = append(taken, 0), append(of, n)
			}
			at++
			return taken[at-1]
		})
		same := true
		for i := 1; i <= p.N; i++ {
			same = same && o.part(in.State(i)) == start[i]
		}
		if same && b.find(in, start, 0, 4) {
			return conforms
		}
		last := len(taken) - 1
		for last >= 0 && taken[last]+1 >= of[last] {
			last--
		}
		if last < 0 || b.attempts <= 0 {
			break
		}
		taken, of = taken[:last+1], of[:last+1]
		taken[last]++
	}
	if b.cut || b.attempts <= 0 {
		return unknown
	}
	return differs
}

// changes are pairs of which one is put in the place of the other.
var changes = [][2]string{{"a := next(a)", "a := a"}, {"times > n / 2", "times >= 1"}, {"b := not b", "b := true"},
	{"to all", "to others"}, {"choose({0, 2})", "choose({0, 1})"}, {"c == red", "c == green"}, {"% 3", "% 2"},
	{"a == 1", "a == 0"}, {"phase + 1", "phase + 2"}, {"opt := none", "opt := some(1)"}, {"= true", "= false"},
	{".v > a", ".v >= a"}, {"who + {self}", "who"}, {"to node(1)", "to node(2)"}, {"c := red", "c := green"},
	{"len(log) < 2", "len(log) < 1"}, {"min x in", "max x in"}, {"max x in", "min x in"}, {"times all", "times >= 1"}}

// changed puts one seeded change into a program.
func changed(text string, rng *rand.Rand) string {
	for range 20 {
		pair := changes[rng.IntN(len(changes))]
		at := regexp.MustCompile(regexp.QuoteMeta(pair[0])).FindAllStringIndex(text, -1)
		if len(at) > 0 {
			k := at[rng.IntN(len(at))]
			return text[:k[0]] + pair[1] + text[k[1]:]
		}
	}
	return text
}

// compiled is a random program, or nil where it has an error.
func compiled(text string) *machine.Program {
	loaded, _ := distal.Load(text)
	if loaded == nil {
		return nil
	}
	p, err := machine.Compile(loaded.Program, nil)
	if err != nil {
		return nil
	}
	return p
}

// watched draws what is shown of a program.
func watched(p *machine.Program, rng *rand.Rand) *shown {
	o := &shown{}
	for i := range p.Core.Vars {
		if rng.IntN(3) > 0 {
			o.vars = append(o.vars, i)
		}
	}
	return o
}

// TestSound checks random programs: every run of a program conforms to it, and a run of a program with one seeded
// change conforms if and only if trying everything finds it in the program without the change.
func TestSound(t *testing.T) {
	n := *programs
	if n == 0 {
		if n = 200; tier.Full() {
			n = 10_000
		}
	}
	if testing.Short() {
		n = 30
	}
	var count struct{ own, ownUnknown, runs, equal, other, unknown, oracle, noOracle int }
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 0x636f6e666f726d))
		text := generate.Program(seed)
		p := compiled(text)
		if p == nil {
			continue
		}
		o := watched(p, rng)
		weights := async.Weights{Deliver: 6, Batch: 3, Drop: 1, Double: 1, Timeout: 3}
		for k := range uint64(3) {
			start, list, ok := play(p, o, weights, 30, seed*10+k)
			if !ok {
				continue
			}
			switch compare(t, p, o, start, list) {
			case conforms:
				count.own++
			case unknown:
				count.ownUnknown++
			case differs:
				t.Fatalf("seed %d, run %d: a run of the program does not conform to it\n%s", seed, k, text)
			}
		}
		q := compiled(changed(text, rng))
		if q == nil || len(q.Core.Vars) != len(p.Core.Vars) {
			continue
		}
		for k := range uint64(3) {
			start, list, ok := play(q, o, weights, 10, seed*10+k)
			if !ok || len(list) > 5 {
				continue
			}
			count.runs++
			got := compare(t, p, o, start, list)
			switch got {
			case conforms:
				count.equal++
			case differs:
				count.other++
			case unknown:
				count.unknown++
				continue
			}
			switch want := exists(p, o, start, list); {
			case want == unknown:
				count.noOracle++
			case want != got:
				t.Logf("%+v", list)
				explain(t, p, o, start, list)
				t.Fatalf("seed %d, run %d of the changed program: %d, by trying everything %d\n%s", seed, k, got, want, text)
			default:
				count.oracle++
			}
		}
	}
	t.Logf("%+v", count)
	if count.own < n || count.ownUnknown*5 > count.own || count.other < n/50 || count.equal < n/50 ||
		count.oracle*2 < count.noOracle {
		t.Errorf("too little was checked: %+v", count)
	}
}

// play makes a random run; not ok is one in which the program fails.
func play(p *machine.Program, o *shown, w async.Weights, steps int, seed uint64) ([]string, []sight, bool) {
	in := async.RandomRun(p, w, steps, seed)
	for _, f := range in.History() {
		if f.Fault != nil {
			return nil, nil, false
		}
	}
	start, list := o.sights(in.History(), p.N)
	return start, list, true
}

// explain logs a behavior of a program that shows the same.
func explain(t *testing.T, p *machine.Program, o *shown, start []string, list []sight) {
	m, err := newModel(p, &Mapping{}, Limits{Actions: 1, States: 300})
	if err != nil {
		return
	}
	o.now = slices.Clone(start)
	s := &search{m: m, see: o}
	s.begin()
	for _, now := range list {
		o.now[now.node] = now.part
		if !s.observed(now.node - 1) {
			return
		}
	}
	for _, line := range s.path(s.worlds[0]) {
		t.Log(line)
	}
}
