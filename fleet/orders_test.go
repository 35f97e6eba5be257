package fleet

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/batch"
)

// permutations returns the permutations of the numbers below n.
func permutations(n int) (list [][]int) {
	if n == 0 {
		return [][]int{{}}
	}
	for _, p := range permutations(n - 1) {
		for at := range n {
			q := append(append(append([]int{}, p[:at]...), n-1), p[at:]...)
			list = append(list, q)
		}
	}
	return list
}

// combinations returns the combinations of kinds for n batches.
func combinations(n int) (list [][]kind) {
	if n == 0 {
		return [][]kind{{}}
	}
	for _, rest := range combinations(n - 1) {
		for _, k := range []kind{passes, finds, errs, invalid} {
			list = append(list, append(append([]kind{}, rest...), k))
		}
	}
	return list
}

// expected returns how a campaign of batches ends, in whatever order they arrive. It ends with the first error or,
// unless keepGoing is set, with the first finding.
func expected(kinds []kind, keepGoing bool) (ended string, runs, findings int) {
	for i, k := range kinds {
		switch {
		case k == errs:
			return Failed, 4 * i, findings
		case k == finds && !keepGoing:
			return Done, 4*i + 1, 1
		case k == finds:
			findings++
		}
	}
	return Done, 4*len(kinds) + 4, findings
}

// delivery delivers parts to a ledger as the server does, with a restart before one of them.
type delivery struct {
	t         *testing.T
	l, stored *Ledger
	store     map[int]batch.Trace
	queue     []*Part // not acknowledged
}

// restart models a restarted server: it has the stored state, and gets the unacknowledged parts again.
func (d *delivery) restart() {
	d.l = again(d.t, d.stored)
	queue := d.queue
	d.queue = nil
	for _, p := range queue {
		d.deliver(p)
	}
}

// deliver delivers a part, adds up, gives out more batches, and stores the ledger.
func (d *delivery) deliver(p *Part) {
	copied := *p
	err := d.l.accept(&copied, stored(d.store))
	switch {
	case err == nil || errors.Is(err, errHeld):
		d.queue = append(d.queue, p)
	case !errors.Is(err, errOld):
		d.l.reject(p.First, p.Worker, err)
	}
	d.l.add()
	d.l.give(2)
	d.stored = again(d.t, d.l)
	kept := d.queue[:0]
	for _, q := range d.queue {
		if d.l.arrived[q.First] != nil {
			kept = append(kept, q)
		}
	}
	d.queue = kept
}

// The first three batches pass, have a finding or an error, or are invalid and repeated. In whatever order their parts
// arrive, and whenever the server restarts in between, the campaign ends as if they came in order.
func TestOrders(t *testing.T) {
	const batches = 3
	cases := 0
	for _, keepGoing := range []bool{false, true} {
		for _, kinds := range combinations(batches) {
			for _, order := range permutations(batches) {
				for restart := -1; restart <= batches; restart++ {
					cases++
					name := fmt.Sprint(keepGoing, kinds, order, restart)
					d := &delivery{t: t, l: newLedger(testJob(4*batches+4, keepGoing)), store: map[int]batch.Trace{}}
					var asks []batch.Ask
					for range batches {
						ask, _ := d.l.give(1)
						asks = append(asks, ask)
					}
					d.stored = again(d.t, d.l)
					for at, i := range order {
						if at == restart {
							d.restart()
						}
						d.deliver(testPart(t, d.l.Job, asks[i], kinds[i], d.store))
						if kinds[i] == invalid { // its batch is given out again
							if d.l.Job.Ended == "" &&
								(d.l.arrived[asks[i].First] != nil || d.l.Attempts[asks[i].First] != 1 ||
									len(d.l.Quarantine) == 0) {
								t.Fatalf("%s: the invalid part is not quarantined: %+v", name, d.l)
							}
							d.deliver(testPart(t, d.l.Job, asks[i], passes, d.store))
						}
					}
					if restart == batches {
						d.restart()
					}
					for d.l.Job.Ended == "" { // the last runs pass
						d.l.give(2)
						for _, ask := range d.l.waiting() {
							d.deliver(testPart(t, d.l.Job, ask, passes, d.store))
						}
					}
					ended, runs, findings := expected(kinds, keepGoing)
					if d.l.Job.Ended != ended || d.l.Result.Runs != runs || len(d.l.Findings) != findings ||
						ended == Failed && !strings.HasPrefix(d.l.Why, "the program failed") {
						t.Errorf("%s: %s %q after %d runs with %d findings, want %s after %d with %d", name,
							d.l.Job.Ended, d.l.Why, d.l.Result.Runs, len(d.l.Findings), ended, runs, findings)
					}
				}
			}
		}
	}
	t.Logf("%d cases", cases)
}

// A campaign ends, with the reason, after too many parts of one batch were rejected.
func TestAttempts(t *testing.T) {
	l, p, store := oneBatch(t, invalid)
	l.queued = map[int]bool{0: true}
	for i := 1; i <= maxAttempts; i++ {
		if l.Job.Ended != "" {
			t.Fatalf("it ended after %d", i-1)
		}
		err := l.accept(p, stored(store))
		if err == nil {
			t.Fatal("it was taken")
		}
		if l.reject(p.First, p.Worker, err); l.queued[0] || i < maxAttempts && len(l.waiting()) != 1 {
			t.Error("the batch is not given out again")
		}
	}
	if l.Job.Ended != Failed || !strings.Contains(l.Why, "run 0 on was rejected 3 times") ||
		!strings.Contains(l.Why, "worker: verdict") ||
		l.Result.Runs != 0 ||
		l.Quarantined != 3 {
		t.Errorf("%s: %q after %d runs", l.Job.Ended, l.Why, l.Result.Runs)
	}
	l, _, _ = oneBatch(t, passes)
	for range 100 { // the fleet did not request these
		l.reject(3, "stranger\x1b", errors.New("no\nreason"))
	}
	if l.Job.Ended != "" || l.Quarantined != 100 || len(l.Quarantine) != maxQuarantine ||
		l.Quarantine[0].Worker != "stranger?" ||
		l.Quarantine[0].Why != "no?reason" {
		t.Errorf("%s, %d quarantined: %+v", l.Job.Ended, l.Quarantined, l.Quarantine[0])
	}
}

// A part that panics when it is added ends only its campaign.
func TestPanicWhileAdding(t *testing.T) {
	l, p, _ := oneBatch(t, passes)
	p.Result = nil // as if no check had seen the part
	l.arrived = map[int]*Part{0: p}
	if l.add(); l.Job.Ended != Failed || !strings.Contains(l.Why, "adding it panics") || len(l.Quarantine) != 1 {
		t.Errorf("%s: %q", l.Job.Ended, l.Why)
	}
}
