package strategy

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/lockstep-go/lockstep/internal/mix"
)

// diary records what a lineage of a guided campaign reports to the other lineages. It contains no schedules: the draws
// of a run follow from its number and the schedules kept before. The diary records how many numbers the run drew.
type diary struct {
	begin []schedule // schedules kept when the epoch began
	met   []uint64   // keys first met in this epoch
	runs  []page     // runs that met something new
	at    int        // runs since the epoch began
}

// page describes a run that met something new.
type page struct {
	run   int // number of the run since the epoch began
	drawn int // count of numbers drawn
	met   int // count of keys met
}

// write records the result of the previous run, if there was one.
func (g *guided) write() {
	d := g.diary
	if d == nil {
		return
	}
	if g.news > 0 {
		d.runs = append(d.runs, page{run: d.at - 1, drawn: len(g.source.used), met: g.news})
	}
	d.at++
}

// Begin discards everything learned since the last epoch.
func (g *guided) Begin() {
	d := g.diary
	for _, key := range d.met {
		delete(g.met, mix.Hash(key))
	}
	g.kept, g.news = slices.Clone(d.begin), 0
	*d = diary{begin: d.begin, met: d.met[:0], runs: d.runs[:0]}
}

// Learned encodes what the lineage learned since Begin. It contains an entry for each run that met something new. The
// entry consists of the number of the run since then, the counts of drawn numbers and of keys met, and these keys.
func (g *guided) Learned() []byte {
	g.write()
	g.news = 0
	var text []byte
	met := g.diary.met
	for _, p := range g.diary.runs {
		for _, n := range []int{p.run, p.drawn, p.met} {
			text = binary.AppendUvarint(text, uint64(n))
		}
		for _, key := range met[:p.met] {
			text = binary.LittleEndian.AppendUint64(text, key)
		}
		met = met[p.met:]
	}
	return text
}

var errLearned = errors.New("this is not what a lineage of a guided campaign writes")

// read decodes the next page of an encoded lineage, and the keys it met.
func read(text []byte, after int) (p page, met []uint64, rest []byte, err error) {
	for _, n := range []*int{&p.run, &p.drawn, &p.met} {
		v, size := binary.Uvarint(text)
		if size <= 0 || v > 1<<30 {
			return p, nil, nil, errLearned
		}
		*n, text = int(v), text[size:]
	}
	if p.run <= after || p.drawn > maxSchedule || p.met == 0 || p.met > len(text)/8 {
		return p, nil, nil, errLearned
	}
	for range p.met {
		met, text = append(met, binary.LittleEndian.Uint64(text)), text[8:]
	}
	return p, met, text, nil
}

// Learn merges what the lineages of an epoch have learned, in their order. A schedule is kept if it met something that
// the lineages before did not.
func (g *guided) Learn(first int, lineages [][]byte, source func(run int) *rand.Rand) error {
	g.Begin()
	merged := g.diary.begin
	var sum []schedule
	for i, text := range lineages {
		g.kept = slices.Clone(merged)
		list, err := g.again(first+i*g.epoch(), text, source)
		if err != nil {
			return err
		}
		sum = append(sum, list...)
	}
	g.kept = slices.Clone(merged)
	for _, now := range sum {
		g.keep(source(now.run), now)
	}
	g.diary.begin = g.kept
	g.Begin()
	return nil
}

// again redraws the schedules that a lineage kept in an epoch. It returns those that met something new to the scheduler
// too, which then knows it.
func (g *guided) again(first int, text []byte, source func(run int) *rand.Rand) (list []schedule, err error) {
	var last *schedule // kept by the next run, which draws the schedule it replaces
	for run := -1; len(text) > 0; {
		p, met, rest, err := read(text, run)
		if err != nil || p.run >= g.epoch() {
			return nil, errLearned
		}
		if last != nil && p.run > run+1 {
			g.keep(source(first+run+1), *last)
			last = nil
		}
		run, text = p.run, rest
		now := g.redraw(first+run, p.drawn, last, source)
		last = &now
		if g.know(met) {
			list = append(list, now)
		}
	}
	return list, nil
}

// redraw redraws the schedule of a run. If the schedule of the run before it was kept, redraw keeps that one first.
func (g *guided) redraw(run, drawn int, before *schedule, source func(run int) *rand.Rand) schedule {
	r := source(run)
	if before != nil {
		g.keep(r, *before)
	}
	script, seed := g.script(r, run)
	replay := stream{fresh: r, script: script}
	for range drawn {
		replay.Uint64()
	}
	return schedule{replay.used, seed, run}
}

// know records what other lineages have met, and reports whether some of it is new.
func (g *guided) know(met []uint64) (fresh bool) {
	for _, key := range met {
		if _, ok := g.met[mix.Hash(key)]; !ok && len(g.met) < maxMet {
			g.met[mix.Hash(key)] = struct{}{}
			fresh = true
		}
	}
	return fresh
}
