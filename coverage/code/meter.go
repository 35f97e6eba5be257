package code

import (
	"context"
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/novelty"
	"github.com/lockstep-go/lockstep/trace"
)

// Meter measures which blocks the runs of a campaign execute. It is an Observer of a [lockstep.Plan], whose system must
// be that of [Meter.System].
type Meter struct {
	blocks *Blocks
	sum    Sum

	counters counters
	before   []hit // what the run under way executed before its first fault
	list     []hit // what it executed since, if it has ended
	ended    bool
	features []uint64
	faulty   bool  // the run under way had a fault
	failed   error // the first failure to read the counters
}

// Sum is the measurement of the runs of a campaign, or of a part of it.
type Sum struct {
	// Blocks is the number of blocks of the program.
	Blocks int `json:"blocks"`
	// Executed has two features for each block: see featureOf.
	Executed novelty.Set `json:"executed"`
}

// featureOf is the feature that a run reaches when it executes a block, before its first fault or after it.
func featureOf(block int, afterFault bool) uint64 {
	f := uint64(block) << 1
	if afterFault {
		f |= 1
	}
	return f
}

// bucketBits is the number of bits of a bucket.
const bucketBits = 3

// bucketOf groups how often a block was executed: 1, 2, 3, 4 to 7, 8 to 15, 16 to 31, 32 to 127 times, and more often.
// A run that executes a block in another bucket than before may have reached another state.
func bucketOf(times int) uint64 {
	for i, most := range []int{1, 2, 3, 7, 15, 31, 127} {
		if times <= most {
			return uint64(i)
		}
	}
	return 1<<bucketBits - 1
}

// faults are the kinds of step that are faults. The statements that a run executes from its first fault on count as
// executed under faults.
const faults = 1<<trace.Drop | 1<<trace.Duplicate | 1<<trace.Replace | 1<<trace.Crash | 1<<trace.Cut |
	1<<trace.Pause | 1<<trace.Jump

// NewMeter makes a meter of this program. The error is ErrNoCounters if the program has no counters.
func NewMeter() (*Meter, error) {
	blocks, err := ProgramBlocks()
	if err != nil {
		return nil, err
	}
	m := &Meter{blocks: blocks, sum: Sum{Blocks: len(blocks.List)}, counters: counters{blocks: blocks}}
	_, err = m.counters.read(nil)
	return m, err
}

// Blocks are the blocks of the program.
func (m *Meter) Blocks() *Blocks { return m.blocks }

// Err is the first failure to read the counters.
func (m *Meter) Err() error { return m.failed }

// Take returns the measurement since the last call.
func (m *Meter) Take() Sum {
	sum := m.sum
	m.sum = Sum{Blocks: sum.Blocks}
	return sum
}

// Put replaces the measurement, e.g. by the sum of those that other processes took.
func (m *Meter) Put(sum Sum) error {
	if sum.Blocks != len(m.blocks.List) {
		return fmt.Errorf("the statements of %d blocks were counted, this program has %d", sum.Blocks, len(m.blocks.List))
	}
	m.sum = sum
	return nil
}

// Add adds the measurement of other runs.
func (s *Sum) Add(next *Sum) error {
	if s.Blocks != 0 && s.Blocks != next.Blocks {
		return fmt.Errorf("the statements of %d blocks were counted, before it were %d", next.Blocks, s.Blocks)
	}
	s.Blocks = next.Blocks
	s.Executed.Merge(next.Executed)
	return nil
}

// New makes a watcher of one run after the other.
func (m *Meter) New(lockstep.Info) lockstep.Watcher { return (*watcher)(m) }

// Collect adds a run.
func (m *Meter) Collect(run int, noted any) { m.sum.Executed.Add(run, noted.([]uint64)) }

// watcher is the meter as it watches a run. A process makes one run at a time.
type watcher Meter

// Reset begins a run: what was executed before does not belong to it.
func (w *watcher) Reset() {
	w.before, w.ended, w.faulty = w.before[:0], false, false
	w.keep(w.counters.clear())
}

// Observe does nothing: the deployment reports the first fault before its step.
func (*watcher) Observe(*lockstep.Run) {}

// end reads the counters at the end of the run, once.
func (w *watcher) end() {
	if w.ended {
		return
	}
	w.ended = true
	var err error
	w.list, err = w.counters.read(w.list[:0])
	w.keep(err)
}

// Noted returns the features that the run reached.
func (w *watcher) Noted() any {
	w.end()
	features := make([]uint64, 0, len(w.list)+len(w.before))
	for _, h := range w.before {
		features = append(features, featureOf(h.block, false))
	}
	for _, h := range w.list {
		features = append(features, featureOf(h.block, w.faulty))
	}
	slices.Sort(features)
	return features
}

// Features returns what is new to a campaign that is guided by code: the blocks that the run executed, before its first
// fault or after it, each with the bucket of how often.
func (w *watcher) Features(kind string) ([]uint64, bool) {
	if kind != lockstep.CodeFeatures {
		return nil, false
	}
	w.end()
	w.features = w.features[:0]
	for _, h := range w.before {
		w.features = append(w.features, featureOf(h.block, false)<<bucketBits|bucketOf(h.times))
	}
	for _, h := range w.list {
		w.features = append(w.features, featureOf(h.block, w.faulty)<<bucketBits|bucketOf(h.times))
	}
	return w.features, true
}

// fault notes what the run executed before its first fault.
func (w *watcher) fault() {
	var err error
	w.before, err = w.counters.read(w.before[:0])
	w.faulty = true
	w.keep(err)
	w.keep(w.counters.clear())
}

// keep keeps the first error.
func (w *watcher) keep(err error) {
	if w.failed == nil {
		w.failed = err
	}
}

// System is a system whose runs the meter measures. It is deployed once in a process, because the counters belong to
// the process.
func (m *Meter) System(s lockstep.System) lockstep.System { return counted{s, m} }

type counted struct {
	lockstep.System
	meter *Meter
}

// Describe says that there may be one deployment at a time.
func (c counted) Describe() (lockstep.Info, error) {
	info, err := c.System.Describe()
	info.Serial = true
	return info, err
}

// Deploy makes a deployment that reports the first fault of a run.
func (c counted) Deploy(ctx context.Context, env *lockstep.Env) (lockstep.Deployment, error) {
	d, err := c.System.Deploy(ctx, env)
	if err != nil {
		return nil, err
	}
	return &deployment{d, (*watcher)(c.meter)}, nil
}

type deployment struct {
	lockstep.Deployment
	watcher *watcher
}

// Do performs a step.
func (d *deployment) Do(ctx context.Context, step *lockstep.Step, out *lockstep.Outbox) error {
	if faults>>step.Kind&1 == 1 && !d.watcher.faulty {
		d.watcher.fault()
	}
	return d.Deployment.Do(ctx, step, out)
}
