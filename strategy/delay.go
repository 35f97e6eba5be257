package strategy

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/rounds"
	"github.com/lockstep-go/lockstep/trace"
)

// Delay is a network in virtual time. Each message draws a latency when it is sent and is delivered after it. Timers
// fire when they are due. Requests arrive, and faults begin and end, at drawn times. Events happen in the order of
// their times.
//
// Nodes are assigned to sites at random. Links within a site are near; links between sites are far. The unit of time is
// the shortest timeout that a node has set so far in the run. Before the first timer, a unit is 1000 or, where time
// passes by waits alone, the length of one wait. When the unit gets shorter, all pending times shrink with it.
//
// Swarm draws a mix of features for each run, as in swarm testing (Groce and others, ISSTA 2012). Then the numbers of
// faults and the loss are upper bounds: each run draws its own up to them, often zero. Those of Sites, Near, NearMean,
// Far, FarMean and Gap that are zero are drawn, too. A nonzero value of these is used as it is.
type Delay struct {
	// Swarm draws the mix of each run: faults up to the given numbers, and sites, latencies and gap where they are
	// zero.
	Swarm bool `help:"draw the mix of each run: loss and faults up to the numbers given; sites, latencies and gap where they are 0"`

	Sites    int          `help:"sites that nodes are spread over; 0 and 1: all links are near" range:"0.."`
	Near     Distribution `help:"latency of near links: constant, uniform, exponential or heavy"`
	NearMean float64      `help:"mean latency of near links, in units" range:"0..1000000"`
	Far      Distribution `help:"latency of far links"`
	FarMean  float64      `help:"mean latency of far links, in units" range:"0..1000000"`

	Loss    float64 `help:"probability of losing a message, in [0,1]" range:"0..1"`
	Cuts    int     `help:"cuts of the nodes into two parts, in a run" range:"0.."`
	OneWay  int     `help:"cuts in one direction, in a run" range:"0.."`
	Flaps   int     `help:"links that go down and up several times, in a run" range:"0.."`
	Crashes int     `help:"crashes, each followed by a restart, in a run" range:"0.."`
	// Gap is the mean time between two faults, and the mean length of a fault.
	Gap   float64 `help:"mean time between faults, and mean length of one, in units" range:"0..1000000"`
	Steps int     `help:"length of a run; 0: as long as anything is possible" range:"0.."`
}

// DefaultDelay draws its mix in each run.
var DefaultDelay = Delay{Swarm: true, Loss: 0.2, Cuts: 4, OneWay: 2, Flaps: 2, Crashes: 2, Steps: 300}

// String returns the strategy as written on the command line.
func (d Delay) String() string { return write("delay", d) }

// Fit returns the terms on which the strategy explores the system.
func (d Delay) Fit(info lockstep.Info) (lockstep.Terms, error) {
	return fit("delay", d, info)
}

// check reports an invalid option, or why the strategy does not fit the system.
func (d Delay) check(info lockstep.Info) error {
	if !d.Swarm && d.Gap == 0 && d.Cuts+d.OneWay+d.Flaps+d.Crashes > 0 {
		return fmt.Errorf(
			"delay: gap is 0, but without swarm faults need a time between them, e.g. gap=20; " +
				"or set cuts, one-way, flaps and crashes to 0",
		)
	}
	need := trace.KindsOf(trace.Deliver)
	if !d.Swarm {
		if d.Loss > 0 {
			need |= trace.KindsOf(trace.Drop)
		}
		if d.Cuts+d.OneWay+d.Flaps > 0 {
			need |= linkFaults
		}
		if d.Crashes > 0 {
			need |= nodeFaults
		}
	}
	return info.Require("delay", need)
}

const (
	linkFaults = trace.Kinds(1<<trace.Cut | 1<<trace.Heal | 1<<trace.Drop)
	nodeFaults = trace.Kinds(1<<trace.Crash | 1<<trace.Restart | 1<<trace.Drop)
)

// guarantee returns what one run guarantees.
func (d Delay) guarantee(lockstep.Info) lockstep.Guarantee {
	return lockstep.Guarantee{Class: "a given execution",
		Assumes: []string{
			"latencies and faults in virtual time have no lower bound that does not depend on the system",
		}}
}

// New returns a new scheduler.
func (d Delay) New(info lockstep.Info) lockstep.Scheduler {
	s := &delay{given: d, info: info, site: make([]int, info.Nodes+1)}
	s.decider = s
	return s
}

type delay struct {
	agenda
	unchained
	faults
	given Delay
	mix   Delay // of this run
	info  lockstep.Info
	rand  *rand.Rand
	unit  instant // 0 before the first step
	now   instant
	site  []int // by node
	wipes bool  // a cut loses the messages in flight across it
}

// Reset begins a new run.
func (d *delay) Reset(start *lockstep.Start) {
	d.rand = start.Rand
	d.agenda.reset()
	d.mix = d.given
	if d.given.Swarm {
		d.mix = d.given.drawMix(d.rand, d.info)
	}
	for n := range d.site {
		d.site[n] = d.rand.IntN(max(1, d.mix.Sites))
	}
	d.wipes = d.rand.IntN(2) == 0
	d.unit, d.now = 0, 0
}

// drawMix draws the mix of a run. Given values override drawn ones.
func (d Delay) drawMix(r *rand.Rand, info lockstep.Info) Delay {
	// exactly representable, so that runs are the same on all machines
	means := [...]float64{0.0625, 0.125, 0.25, 0.5, 1, 2}
	given := d
	d.Sites = 1 + r.IntN(min(3, info.Nodes))
	d.Near, d.NearMean = Distribution(r.IntN(4)), pick(r, means[:4])
	d.Far, d.FarMean = Distribution(r.IntN(4)), pick(r, means[2:])
	d.Gap = pick(r, []float64{1, 2, 4, 8, 16})
	d.Sites = cmp.Or(given.Sites, d.Sites)
	d.Near, d.NearMean = cmp.Or(given.Near, d.Near), cmp.Or(given.NearMean, d.NearMean)
	d.Far, d.FarMean = cmp.Or(given.Far, d.Far), cmp.Or(given.FarMean, d.FarMean)
	d.Gap = cmp.Or(given.Gap, d.Gap)
	upTo := func(most int, need trace.Kinds) int {
		n, none := r.IntN(most+1), r.IntN(2) == 0
		if none || need&^info.Supports != 0 {
			return 0
		}
		return n
	}
	d.Cuts, d.OneWay, d.Flaps = upTo(d.Cuts, linkFaults), upTo(d.OneWay, linkFaults), upTo(d.Flaps, linkFaults)
	d.Crashes = upTo(d.Crashes, nodeFaults)
	d.Loss *= pick(r, []float64{0, 0, 0.125, 0.25, 0.5, 1})
	if !info.Supports.Has(trace.Drop) {
		d.Loss = 0
	}
	return d
}

// Report reports the parameters drawn for the run.
func (d *delay) Report(words bool) (a lockstep.SchedulerStats) {
	if words {
		a.Drawn = d.parameters()
	}
	return a
}

func (d *delay) parameters() map[string]string {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	sites := ""
	for _, site := range d.site[1:] {
		sites += strconv.Itoa(site)
	}
	return map[string]string{"sites": sites, "near": d.mix.Near.String(), "near-mean": number(d.mix.NearMean),
		"far": d.mix.Far.String(), "far-mean": number(d.mix.FarMean), "loss": number(d.mix.Loss),
		"cuts": strconv.Itoa(d.mix.Cuts), "one-way": strconv.Itoa(d.mix.OneWay), "flaps": strconv.Itoa(d.mix.Flaps),
		"crashes": strconv.Itoa(d.mix.Crashes), "gap": number(d.mix.Gap), "wipes": strconv.FormatBool(d.wipes)}
}

// Next chooses the next step.
func (d *delay) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	if d.mix.Steps > 0 && turn.Steps() >= d.mix.Steps {
		return false
	}
	d.now = max(d.now, instantOf(turn.Now()))
	d.measure(turn)
	d.observe(turn)
	for n := range d.armed.All() { // a node may have rearmed its timer
		d.events[d.timers[n]].key = ^uint64(instantOf(turn.TimerAt(n)))
	}
	if d.wipe(turn, next) {
		return true
	}
	best := d.first(turn, true)
	due := never
	if best >= 0 {
		due = instant(^d.events[best].key)
	}
	clock := rounds.Ticks(turn.Info()) && d.mix.Steps > 0
	if clock {
		if d.idle(turn, due, next) {
			return true
		}
		due = min(due, d.now)
	}
	if d.fault(turn, d.rand, due, &d.now, next) {
		next.At = d.now.time()
		return true
	}
	if best < 0 {
		*next = turn.Wait()
		return clock
	}
	d.now = max(d.now, due)
	d.happen(turn, best, next)
	return true
}

// idle lets time pass until the next event or fault is due, where time passes by waits alone. The wait ends earlier
// when the system takes a step.
func (d *delay) idle(turn *lockstep.Turn, due instant, next *lockstep.Step) bool {
	at := min(due, d.linkAt, d.crashAt, d.restartAt)
	if at <= d.now {
		return false
	}
	*next = turn.Wait()
	if at != never {
		next.For = max(1, at.time()-turn.Now())
	}
	return true
}

// measure updates the unit of time. On its first call it also draws the times at which the first faults begin.
func (d *delay) measure(turn *lockstep.Turn) {
	unit := d.unit
	if unit == 0 {
		unit = 1000 * fractions
		if rounds.Ticks(turn.Info()) {
			unit = instantOf(turn.Wait().For)
		}
	}
	fresh := turn.Timers() &^ d.armed // timers that were just armed
	if last := turn.Last(); last.Kind == trace.Timer && turn.Timers().Has(last.Node) {
		fresh = fresh.With(last.Node)
	}
	for n := range fresh.All() {
		if after := instantOf(turn.TimerAt(n) - turn.Now()); after > 0 {
			unit = min(unit, after)
		}
	}
	switch {
	case d.unit == 0:
		d.faults.begin(d.rand, d.mix, unit, d.wipes)
	case unit < d.unit:
		for _, index := range d.open {
			e := &d.events[index]
			e.key = ^uint64(d.now.shrink(instant(^e.key), unit, d.unit))
		}
		d.faults.rescale(d.now, unit, d.unit)
	}
	d.unit = unit
}

// happen executes an event. A message that is lost, or whose receiver is down, is dropped when it is due.
func (d *delay) happen(turn *lockstep.Turn, index int32, next *lockstep.Step) {
	e := &d.events[index]
	d.step(turn, index, next)
	if e.kind == trace.Deliver && (e.lost || !turn.Up().Has(e.node)) {
		next.Kind = trace.Drop
	}
	next.At = d.now.time()
}

// place draws any node.
func (d *delay) place(to lockstep.Nodes) lockstep.Node { return pickNode(d.rand, to) }

// came draws the time of an event.
func (d *delay) came(turn *lockstep.Turn, index int32) {
	e := &d.events[index]
	due := d.now
	switch e.kind {
	case trace.Timer:
		due = instantOf(turn.TimerAt(e.node))
	case trace.Request:
		due += Exponential.draw(d.rand, 4*d.unit)
	default:
		law, mean := d.mix.Near, d.mix.NearMean
		if e.from != 0 && d.site[e.from] != d.site[e.node] {
			law, mean = d.mix.Far, d.mix.FarMean
		}
		due = max(due+law.draw(d.rand, d.unit.times(mean)), instantOf(turn.Message(e.msg).At))
		e.lost = d.mix.Loss > 0 && d.rand.Float64() < d.mix.Loss
	}
	e.key = ^uint64(due)
}

// happened does nothing.
func (d *delay) happened(*lockstep.Turn, int32) {}
