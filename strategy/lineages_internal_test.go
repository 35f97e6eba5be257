package strategy

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/target/smr"
)

// overheard is Guided with observed schedulers.
type overheard struct {
	Guided
	log *hearing
}

// hearing records observations of the schedulers of a campaign with one worker.
type hearing struct {
	t       *testing.T
	drawn   map[int][]uint64 // by run
	seeds   map[int]int      // by run
	crossed int              // runs that mutate the schedule of another lineage
	checked int
}

func (o overheard) New(info lockstep.Info) lockstep.Scheduler {
	return &hearer{o.Guided.New(info).(*guided), o.log}
}

type hearer struct {
	*guided
	log *hearing
}

func (h *hearer) lineage(run int) int { return run / h.epoch() % h.Lineages }

func (h *hearer) note() { h.log.drawn[h.run], h.log.seeds[h.run] = slices.Clone(h.source.used), h.seed }

func (h *hearer) Reset(start *lockstep.Start) {
	h.note()
	h.guided.Reset(start)
	if h.lineage(h.seed) != h.lineage(start.Run) {
		h.log.crossed++
	}
}

func (h *hearer) Learned() []byte {
	h.note()
	return h.guided.Learned()
}

// Learn checks that redrawn schedules equal those of the runs.
func (h *hearer) Learn(first int, lineages [][]byte, source func(int) *rand.Rand) error {
	err := h.guided.Learn(first, lineages, source)
	for _, k := range h.kept {
		h.log.checked++
		if !slices.Equal(k.drawn, h.log.drawn[k.run]) || k.seed != h.log.seeds[k.run] {
			h.log.t.Fatalf("run %d drew %d numbers with the seed of run %d; drawn again: %d with that of run %d", k.run,
				len(h.log.drawn[k.run]), h.log.seeds[k.run], len(k.drawn), k.seed)
		}
	}
	return err
}

// The encoding of a lineage suffices to redraw its schedules, also if they replace others, and lineages mutate
// schedules found by others.
func TestLineagesLearnFromEachOther(t *testing.T) {
	for _, keep := range []int{1000, 5} {
		log := &hearing{t: t, drawn: map[int][]uint64{}, seeds: map[int]int{}}
		g := Guided{Inner: Inner{POS{Steps: 40}}, Fresh: 0.25, Keep: keep, Lineages: 3, Epoch: 20}
		r, err := lockstep.Explore(t.Context(),
			lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: overheard{g, log}, Runs: 600, Workers: 1, Seed: 4})
		if err != nil || r.Runs != 600 {
			t.Fatal(r, err)
		}
		if log.checked < 20 || log.crossed < 50 {
			t.Errorf("keep %d: %d schedules were compared, %d runs mutate those of other lineages", keep, log.checked,
				log.crossed)
		}
	}
}

// Learn rejects text that no lineage has written.
func TestLearnRefuses(t *testing.T) {
	info, err := smr.Cluster{Nodes: 3}.Describe()
	if err != nil {
		t.Fatal(err)
	}
	source := func(run int) *rand.Rand { return rand.New(rand.NewPCG(uint64(run), 1)) }
	r, refused := source(0), 0
	for range 2000 {
		s := Guided{Inner: Inner{POS{Steps: 40}}, Fresh: 0.25, Keep: 5, Lineages: 2, Epoch: 50}.New(info).(*guided)
		text := make([]byte, r.IntN(60))
		for i := range text {
			text[i] = byte(r.IntN(6) * r.IntN(2))
		}
		if s.Learn(0, [][]byte{text, nil}, source) != nil {
			refused++
		}
	}
	if refused < 1500 {
		t.Errorf("%d of 2000 texts were refused", refused)
	}
	s := Guided{Inner: Inner{POS{Steps: 40}}, Fresh: 0.25, Keep: 5, Lineages: 2, Epoch: 50}.New(info).(*guided)
	for name, text := range map[string][]byte{
		"late":    {50, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1},
		"short":   {1, 1, 2, 0, 0, 0, 0, 0, 0, 0, 1},
		"long":    {1, 255, 255, 255, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1},
		"nothing": {1, 1, 0},
	} {
		if s.Learn(0, [][]byte{text, nil}, source) == nil {
			t.Errorf("%s was learned", name)
		}
	}
}
