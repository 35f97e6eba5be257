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
func (s *guided) write() {
	d := s.diary
	if d == nil {
		return
	}
	if s.news > 0 {
		d.runs = append(d.runs, page{run: d.at - 1, drawn: len(s.source.used), met: s.news})
	}
	d.at++
}

// Begin discards everything learned since the last epoch.
func (s *guided) Begin() {
	d := s.diary
	for _, key := range d.met {
		delete(s.met, mix.Hash(key))
	}
	s.kept, s.news = slices.Clone(d.begin), 0
	*d = diary{begin: d.begin, met: d.met[:0], runs: d.runs[:0]}
}

// Learned encodes what the lineage learned since Begin. It contains an entry for each run that met something new. The
// entry consists of the number of the run since then, the counts of drawn numbers and of keys met, and these keys.
func (s *guided) Learned() []byte {
	s.write()
	s.news = 0
	var text []byte
	met := s.diary.met
	for _, p := range s.diary.runs {
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
func (s *guided) Learn(first int, lineages [][]byte, source func(run int) *rand.Rand) error {
	s.Begin()
	merged := s.diary.begin
	var sum []schedule
	for i, text := range lineages {
		s.kept = slices.Clone(merged)
		list, err := s.again(first+i*s.epoch(), text, source)
		if err != nil {
			return err
		}
		sum = append(sum, list...)
	}
	s.kept = slices.Clone(merged)
	for _, now := range sum {
		s.keep(source(now.run), now)
	}
	s.diary.begin = s.kept
	s.Begin()
	return nil
}

// again redraws the schedules that a lineage kept in an epoch. It returns those that met something new to the scheduler
// too, which then knows it.
func (s *guided) again(first int, text []byte, source func(run int) *rand.Rand) (list []schedule, err error) {
	var last *schedule // kept by the next run, which draws the schedule it replaces
	for run := -1; len(text) > 0; {
		p, met, rest, err := read(text, run)
		if err != nil || p.run >= s.epoch() {
			return nil, errLearned
		}
		if last != nil && p.run > run+1 {
			s.keep(source(first+run+1), *last)
			last = nil
		}
		run, text = p.run, rest
		now := s.redraw(first+run, p.drawn, last, source)
		last = &now
		if s.know(met) {
			list = append(list, now)
		}
	}
	return list, nil
}

// redraw redraws the schedule of a run. If the schedule of the run before it was kept, redraw keeps that one first.
func (s *guided) redraw(run, drawn int, before *schedule, source func(run int) *rand.Rand) schedule {
	r := source(run)
	if before != nil {
		s.keep(r, *before)
	}
	script, seed := s.script(r, run)
	replay := stream{fresh: r, script: script}
	for range drawn {
		replay.Uint64()
	}
	return schedule{replay.used, seed, run}
}

// know records what other lineages have met, and reports whether some of it is new.
func (s *guided) know(met []uint64) (fresh bool) {
	for _, key := range met {
		if _, ok := s.met[mix.Hash(key)]; !ok && len(s.met) < maxMet {
			s.met[mix.Hash(key)] = struct{}{}
			fresh = true
		}
	}
	return fresh
}
