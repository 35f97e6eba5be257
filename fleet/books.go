package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/stretch"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// How often the books are brought up to date, and how often work is looked after that should be
// in the queue.
const (
	turn     = 50 * time.Millisecond
	lookOver = 5 * time.Second
	gone     = 10 * time.Second // a worker that has not reported for so long
)

// books are the ledgers of all campaigns, and who works on them. One goroutine brings them up to
// date; others only look.
type books struct {
	*store
	log      func(string)
	parts    chan jetstream.Msg
	commands chan *nats.Msg

	mutex   sync.Mutex
	ledgers map[string]*Ledger
	staff   map[string]Report
	seen    map[string]time.Time // when a worker reported last
	refused int                  // messages that did not fit
	last    int                  // number of the last campaign
	acks    []jetstream.Msg      // to be acknowledged when the books are written
	// panicked is what the server panicked with last.
	panicked string
}

// openBooks reads the books and listens.
func openBooks(ctx context.Context, s *store, log func(string)) (*books, error) {
	b := &books{store: s, log: log, parts: make(chan jetstream.Msg, 1024), commands: make(chan *nats.Msg, 64),
		ledgers: map[string]*Ledger{}, staff: map[string]Report{}, seen: map[string]time.Time{}}
	list, err := all(ctx, s.ledgers, readLedger, log)
	if err != nil {
		return nil, err
	}
	for _, l := range list {
		b.ledgers[l.Job.ID] = l
		if n, err := strconv.Atoi(l.Job.ID); err == nil {
			b.last = max(b.last, n)
		}
	}
	consumer, err := s.js.CreateOrUpdateConsumer(
		ctx,
		partStream,
		jetstream.ConsumerConfig{Durable: "books", AckPolicy: jetstream.AckExplicitPolicy,
			AckWait: patience, MaxAckPending: 1 << 16},
	)
	if err != nil {
		return nil, err
	}
	if _, err := consumer.Consume(func(m jetstream.Msg) { b.parts <- m }); err != nil {
		return nil, err
	}
	if _, err := s.conn.ChanSubscribe(commandSubject, b.commands); err != nil {
		return nil, err
	}
	return b, nil
}

// run brings the books up to date until the context ends.
func (b *books) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var others sync.WaitGroup
	defer others.Wait()
	defer cancel()
	others.Go(func() { b.follow(ctx, b.workers, b.hear) })
	tick, over := time.NewTicker(turn), time.NewTicker(lookOver)
	defer tick.Stop()
	defer over.Stop()
	for before := time.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case m := <-b.parts:
			b.survive(func() { b.take(ctx, m) })
		case m := <-b.commands:
			b.survive(func() { b.obey(ctx, m) })
		case now := <-tick.C:
			b.survive(func() { b.turn(ctx, now.Sub(before), false) })
			before = now
		case <-over.C:
			b.survive(func() { b.turn(ctx, 0, true) })
		}
	}
}

// survive does something of which a panic must not end the server: it serves other campaigns, too.
func (b *books) survive(do func()) {
	defer func() {
		if r := recover(); r != nil && b.panicked != fmt.Sprint(r) {
			b.panicked = fmt.Sprint(r) // once, not in every turn
			b.log(
				fmt.Sprintf(
					"the server panics, and continues: %v: %s",
					r,
					strings.ReplaceAll(string(debug.Stack()), "\n", " | "),
				),
			)
		}
	}()
	do()
}

// hear notes what a worker reports.
func (b *books) hear(text []byte) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	r, err := readReport(text)
	if _, known := b.staff[r.Worker]; err != nil || !known && len(b.staff) >= mostStaff {
		b.refused++
		return
	}
	b.staff[r.Worker], b.seen[r.Worker] = r, time.Now()
}

// mostStaff bounds the workers that are told apart.
const mostStaff = 10_000

// take takes a part, which is acknowledged when it is in the books, or at once where it is of no use.
func (b *books) take(ctx context.Context, m jetstream.Msg) {
	delivery, err := m.Metadata()
	last := err != nil || delivery.NumDelivered >= maxReads
	err = b.receive(
		m.Subject(),
		m.Data(),
		last,
		func(id string, run int) (stretch.Trace, error) { return b.storedTrace(ctx, id, run) },
	)
	switch {
	case err == nil:
		b.acks = append(b.acks, m)
	case errors.Is(err, errHeld): // the first copy will be acknowledged
	case errors.Is(err, errUnavailable) && !last:
		_ = m.NakWithDelay(time.Second)
	default:
		_ = m.Ack() // it will not fit later
	}
}

// maxReads is how often the server tries to read the traces of a part.
const maxReads = 5

// receive takes the message of a part. One that is not valid is quarantined, and the error says why; so is one whose traces
// cannot be read the last time.
func (b *books) receive(
	subject string,
	message []byte,
	last bool,
	stored func(id string, run int) (stretch.Trace, error),
) error {
	id, first, p, err := readPart(subject, message)
	l := b.ledgers[id] // which only this goroutine changes
	if l != nil && err == nil {
		err = l.checkPart(p, func(run int) (stretch.Trace, error) { return stored(id, run) })
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	switch {
	case l == nil:
		b.refused++
		err = cmp.Or(err, fmt.Errorf("there is no campaign %.20q", id))
		b.log(fmt.Sprintf("refused a part: %v", err))
		return err
	case err == nil:
		return l.hold(p)
	case errors.Is(err, errOld) || errors.Is(err, errUnavailable) && !last:
		return err
	}
	worker := "unknown"
	if p != nil {
		worker = cmp.Or(p.Worker, worker)
	}
	b.refused++
	l.reject(first, worker, err)
	b.log(fmt.Sprintf("campaign %s: rejected the part from run %d on of worker %.50s: %.500v", id, first, worker, err))
	return err
}

// turn adds up, gives out, writes the books, and then tells the others, in this order: who dies in
// between does the rest again.
func (b *books) turn(ctx context.Context, passed time.Duration, over bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.forget()
	for _, l := range b.sorted() {
		l.passes(passed)
		for range l.add() {
			b.fade(l)
		}
	}
	b.giveOut()
	for _, l := range b.sorted() {
		if !l.changed && !over {
			continue
		}
		if err := b.write(ctx, l); err != nil {
			b.log(fmt.Sprintf("campaign %s could not be written: %v", l.Job.ID, err))
			continue // and is tried again
		}
		b.tell(ctx, l, over)
	}
	for _, m := range b.acks {
		if p := m.Subject(); b.added(p) {
			_ = m.Ack()
		}
	}
	b.acks = slices.DeleteFunc(b.acks, func(m jetstream.Msg) bool { return b.added(m.Subject()) })
}

// added reports whether a part is in the books, and they are written, so that it need not be kept.
func (b *books) added(subject string) bool {
	words := strings.Split(subject, ".")
	first, err := strconv.Atoi(words[len(words)-1])
	l := b.ledgers[words[len(words)-2]]
	return err != nil || l == nil || l.arrived[first] == nil && !l.changed
}

// forget forgets workers that are gone.
func (b *books) forget() {
	for id, at := range b.seen {
		if time.Since(at) > gone {
			delete(b.seen, id)
			delete(b.staff, id)
		}
	}
}

// sorted are the ledgers by age.
func (b *books) sorted() []*Ledger {
	return slices.SortedFunc(maps.Values(b.ledgers), func(x, y *Ledger) int { return cmp.Compare(x.Job.ID, y.Job.ID) })
}

// fade makes what the others of a plan have brought count less.
func (b *books) fade(l *Ledger) {
	if l.Job.Plan == "" {
		return
	}
	for _, other := range b.ledgers {
		if other.Job.Plan == l.Job.Plan {
			other.Arm.fade()
		}
	}
}

// giveOut gives out stretches, until as many wait as the workers make in a few seconds. Campaigns that
// were given alone have as many waiting as each other, and as a plan has in all.
func (b *books) giveOut() {
	groups := map[string][]*Ledger{}
	for _, l := range b.sorted() {
		if l.Job.Ended == "" {
			key := cmp.Or(l.Job.Plan, l.Job.ID)
			groups[key] = append(groups[key], l)
		}
	}
	want := 4 + 3*len(b.staff)
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		open := groups[key]
		for waiting(open) < max(2, want/len(groups)) && len(open) > 0 {
			l := choose(open)
			if _, ok := l.give(len(b.staff)); !ok {
				open = slices.DeleteFunc(slices.Clone(open), func(x *Ledger) bool { return x == l })
			}
		}
	}
}

// waiting is the number of stretches of campaigns that are given out and not made.
func waiting(list []*Ledger) (n int) {
	for _, l := range list {
		n += len(l.waiting())
	}
	return n
}

// write writes the books of a campaign where they have changed, and tells workers that it has ended.
func (b *books) write(ctx context.Context, l *Ledger) error {
	if !l.changed {
		return nil
	}
	err := put(ctx, b.store.ledgers, l.Job.ID, l)
	if errors.Is(err, nats.ErrMaxPayload) {
		l.reduce()
		err = put(ctx, b.store.ledgers, l.Job.ID, l)
	}
	if err != nil {
		return err
	}
	if l.Job.Ended != "" {
		if err := put(ctx, b.jobs, l.Job.ID, l.Job); err != nil {
			return err
		}
	}
	l.changed = false
	return nil
}

// tell puts the work of a campaign into the queue, as far as it was not yet, or all of it: what is there
// already is there once. That of a campaign that has ended goes.
func (b *books) tell(ctx context.Context, l *Ledger, again bool) {
	if l.Job.Ended != "" {
		if !l.cleared {
			b.clear(ctx, l)
		}
		return
	}
	if l.told == nil || again {
		l.told = map[int]bool{}
	}
	for _, ask := range l.waiting() {
		if l.told[ask.First] {
			continue
		}
		if err := b.publish(ctx, workSubject(l.Job, ask.First), Work{Campaign: l.Job.ID, Ask: ask}); err != nil {
			b.log(fmt.Sprintf("campaign %s: work could not be given out: %v", l.Job.ID, err))
			return // and is tried again
		}
		l.told[ask.First] = true
	}
}

// clear removes the work of a campaign that has ended, and what its lineages have learned.
func (b *books) clear(ctx context.Context, l *Ledger) {
	if l.Job.Hello.Lineages > 1 {
		_ = b.js.DeleteObjectStore(ctx, lessonBucket(l.Job.ID)) // it may be gone
	}
	if stream, err := b.js.Stream(ctx, workStream); err == nil {
		l.cleared = stream.Purge(ctx, jetstream.WithPurgeSubject(fmt.Sprintf("lockstep.work.*.%s.>", l.Job.ID))) == nil
	}
}

// Command is what users ask the server for.
type Command struct {
	Do   string `json:"do"` // give, stop
	Jobs []Job  `json:"jobs,omitempty"`
	ID   string `json:"id,omitempty"` // of a campaign or a plan
}

// Answer is what the server says to a command.
type Answer struct {
	IDs   []string `json:"ids,omitempty"`
	Error string   `json:"error,omitempty"`
}

// obey does what a command says.
func (b *books) obey(ctx context.Context, m *nats.Msg) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	var c Command
	var ids []string
	err := json.Unmarshal(m.Data, &c)
	if err == nil {
		switch c.Do {
		case "give":
			ids, err = b.accept(ctx, c.Jobs)
		case "stop":
			ids, err = b.stop(ctx, c.ID)
		default:
			err = fmt.Errorf("the fleet cannot %.20q: it can give and stop", c.Do)
		}
	}
	answer := Answer{IDs: ids}
	if err != nil {
		answer.Error = err.Error()
	}
	text, _ := json.Marshal(answer) // strings can be written
	_ = m.Respond(text)
}

// mostJobs is the number of campaigns that may go on at once, and mostEnded that of those whose books
// are kept when they have ended.
const (
	mostJobs  = 1000
	mostEnded = 200
)

// prune throws the books of the oldest campaigns away, with their traces, and returns how many go on.
func (b *books) prune(ctx context.Context) (running int) {
	var ended []*Ledger
	for _, l := range b.sorted() {
		if l.Job.Ended != "" {
			ended = append(ended, l)
		}
	}
	for _, l := range ended[:max(0, len(ended)-mostEnded)] {
		for _, f := range l.Findings {
			_ = b.traces.Delete(ctx, traceName(l.Job.ID, f.Run))
		}
		_ = errors.Join(b.store.ledgers.Purge(ctx, l.Job.ID), b.jobs.Purge(ctx, l.Job.ID))
		delete(b.ledgers, l.Job.ID)
	}
	return len(b.ledgers) - min(len(ended), mostEnded)
}

// accept opens the books of campaigns.
func (b *books) accept(ctx context.Context, jobs []Job) (ids []string, err error) {
	if n := b.prune(ctx); len(jobs) == 0 || n+len(jobs) > mostJobs {
		return nil, fmt.Errorf("%d campaigns while %d go on: allowed are 1 to %d in all", len(jobs), n, mostJobs)
	}
	for _, job := range jobs {
		if err := job.check(); err != nil {
			return ids, err
		}
	}
	for _, job := range jobs {
		b.last++
		job.ID, job.Ended = fmt.Sprintf("%06d", b.last), ""
		if job.Plan != "" {
			job.Plan = fmt.Sprintf("%s-%06d", job.Plan, b.last-len(ids))
		}
		if _, err := b.js.CreateOrUpdateConsumer(ctx, workStream, consumerOf(job)); err != nil {
			return ids, err
		}
		if job.Hello.Lineages > 1 {
			if _, err := b.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: lessonBucket(job.ID)}); err != nil {
				return ids, err
			}
		}
		l := newLedger(job)
		if err := errors.Join(put(ctx, b.jobs, job.ID, job), b.write(ctx, l)); err != nil {
			return ids, err
		}
		b.ledgers[job.ID] = l
		ids = append(ids, job.ID)
		b.log(
			fmt.Sprintf(
				"campaign %s: %s under %s, %d runs",
				job.ID,
				job.Hello.Target,
				job.Hello.Strategy,
				job.Hello.Runs,
			),
		)
	}
	return ids, nil
}

// consumerOf is what workers that have a campaign's program take work from.
func consumerOf(job Job) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable:       job.Hello.Program,
		FilterSubject: "lockstep.work." + job.Hello.Program + ".>",
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       patience,
		MaxAckPending: -1,
	}
}

// check reports what is wrong with a job.
func (j *Job) check() error {
	h := j.Hello
	switch {
	case h.Version != lockstep.Version:
		return fmt.Errorf("this fleet is of version %s, the campaign is of version %.20q", lockstep.Version, h.Version)
	case !isHash(h.Program) || h.Target == "" || h.Strategy == "" || len(j.Args) == 0 || len(j.Plan) > 100:
		return errors.New("this is no campaign")
	case h.Lineages < 0 || h.Lineages > 1 && (h.Epoch < 1 || h.Epoch > math.MaxInt32 || h.Lineages > 1000):
		return fmt.Errorf("a campaign of %d lineages with epochs of %d runs", h.Lineages, h.Epoch)
	case h.Runs < 1 || h.Keep < 1 || j.For < 0:
		return fmt.Errorf("a campaign of %d runs that keeps %d findings in %v", h.Runs, h.Keep, j.For)
	}
	return nil
}

// isHash reports whether a text is a hash and can be part of a subject.
func isHash(text string) bool {
	_, err := strconv.ParseUint(text, 16, 64)
	return err == nil && len(text) == 16
}

// stop ends a campaign, or those of a plan.
func (b *books) stop(ctx context.Context, id string) (ids []string, err error) {
	known := false
	for _, l := range b.sorted() {
		if l.Job.ID != id && (l.Job.Plan != id || id == "") {
			continue
		}
		known = true
		if l.Job.Ended == "" {
			l.end(Stopped, "")
			ids = append(ids, l.Job.ID)
			err = errors.Join(err, b.write(ctx, l))
			b.clear(ctx, l)
		}
	}
	if !known {
		return nil, fmt.Errorf("the fleet has no campaign %.20q", id)
	}
	return ids, err
}
