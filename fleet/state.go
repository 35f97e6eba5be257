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
	"github.com/lockstep-go/lockstep/internal/batch"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// turn is the interval of state updates. lookOver is the interval of checks for work that is missing in the queue.
const (
	turn     = 50 * time.Millisecond
	lookOver = 5 * time.Second
	gone     = 10 * time.Second // a worker is gone if it has not reported for this time
)

// ledgers are the ledgers of all campaigns, and the known workers. One goroutine updates them; others only read.
type ledgers struct {
	*store
	log      func(string)
	parts    chan jetstream.Msg
	commands chan *nats.Msg

	mutex   sync.Mutex
	ledgers map[string]*Ledger
	staff   map[string]Report
	seen    map[string]time.Time // the time of each worker's last report
	refused int                  // invalid messages
	last    int                  // number of the last campaign
	acks    []jetstream.Msg      // to be sent after the ledgers are written
	// panicked is the value of the server's last panic.
	panicked string
}

// openLedgers reads the ledgers and subscribes to messages.
func openLedgers(ctx context.Context, s *store, log func(string)) (*ledgers, error) {
	b := &ledgers{store: s, log: log, parts: make(chan jetstream.Msg, 1024), commands: make(chan *nats.Msg, 64),
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
		jetstream.ConsumerConfig{Durable: "ledgers", AckPolicy: jetstream.AckExplicitPolicy,
			AckWait: timeout, MaxAckPending: 1 << 16},
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
	// A command that comes as soon as the fleet is served must find its subscriber.
	if err := s.conn.FlushTimeout(time.Minute); err != nil {
		return nil, err
	}
	return b, nil
}

// run updates the ledgers until the context ends.
func (b *ledgers) run(ctx context.Context) error {
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
			b.survive(func() { b.handle(ctx, m) })
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

// survive calls a function whose panic must not end the server, because the server has other campaigns, too.
func (b *ledgers) survive(do func()) {
	defer func() {
		if r := recover(); r != nil && b.panicked != fmt.Sprint(r) {
			b.panicked = fmt.Sprint(r) // once, not in every turn
			b.log(
				fmt.Sprintf("the server panics, and continues: %v: %s", r,
					strings.ReplaceAll(string(debug.Stack()), "\n", " | ")),
			)
		}
	}()
	do()
}

// hear notes the report of a worker.
func (b *ledgers) hear(text []byte) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	r, err := readReport(text)
	if _, known := b.staff[r.Worker]; err != nil || !known && len(b.staff) >= mostStaff {
		b.refused++
		return
	}
	b.staff[r.Worker], b.seen[r.Worker] = r, time.Now()
}

// mostStaff bounds the number of workers that the server distinguishes.
const mostStaff = 10_000

// handle handles the message of a part. It acknowledges the message after the ledger is written, or at once if the part
// is useless.
func (b *ledgers) handle(ctx context.Context, m jetstream.Msg) {
	delivery, err := m.Metadata()
	last := err != nil || delivery.NumDelivered >= maxReads
	err = b.receive(m.Subject(), m.Data(), last,
		func(id string, run int) (batch.Trace, error) { return b.storedTrace(ctx, id, run) })
	switch {
	case err == nil:
		b.acks = append(b.acks, m)
	case errors.Is(err, errHeld): // the first message with this part will be acknowledged
	case errors.Is(err, errUnavailable) && !last:
		_ = m.NakWithDelay(time.Second)
	default:
		_ = m.Ack() // it would not become valid later
	}
}

// maxReads is the number of attempts to read the traces of a part.
const maxReads = 5

// receive handles the message of a part. It quarantines an invalid part and returns an error with the reason. It does
// the same if the last attempt to read the part's traces fails.
func (b *ledgers) receive(subject string, message []byte, last bool,
	stored func(id string, run int) (batch.Trace, error)) error {
	id, first, p, err := readPart(subject, message)
	l := b.ledgers[id] // only this goroutine changes it
	if l != nil && err == nil {
		err = l.checkPart(p, func(run int) (batch.Trace, error) { return stored(id, run) })
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

// turn adds up parts, gives out batches, writes the ledgers, and then notifies the workers, in this order. If the
// server crashes in between, the next server repeats the rest.
func (b *ledgers) turn(ctx context.Context, passed time.Duration, over bool) {
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
			continue // the next turn retries
		}
		b.enqueue(ctx, l, over)
	}
	for _, m := range b.acks {
		if p := m.Subject(); b.added(p) {
			_ = m.Ack()
		}
	}
	b.acks = slices.DeleteFunc(b.acks, func(m jetstream.Msg) bool { return b.added(m.Subject()) })
}

// added reports whether a part was added and the ledger is written, so that the part need not be kept.
func (b *ledgers) added(subject string) bool {
	words := strings.Split(subject, ".")
	first, err := strconv.Atoi(words[len(words)-1])
	l := b.ledgers[words[len(words)-2]]
	return err != nil || l == nil || l.arrived[first] == nil && !l.changed
}

// forget removes workers that are gone.
func (b *ledgers) forget() {
	for id, at := range b.seen {
		if time.Since(at) > gone {
			delete(b.seen, id)
			delete(b.staff, id)
		}
	}
}

// sorted returns the ledgers by age.
func (b *ledgers) sorted() []*Ledger {
	return slices.SortedFunc(maps.Values(b.ledgers), func(x, y *Ledger) int { return cmp.Compare(x.Job.ID, y.Job.ID) })
}

// fade discounts the rewards of all campaigns in the same plan.
func (b *ledgers) fade(l *Ledger) {
	if l.Job.Plan == "" {
		return
	}
	for _, other := range b.ledgers {
		if other.Job.Plan == l.Job.Plan {
			other.Arm.fade()
		}
	}
}

// giveOut gives out batches, until as many wait as the workers make in a few seconds. Each campaign that was given
// alone has as many batches waiting as each other one, and as a plan has in all.
func (b *ledgers) giveOut() {
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

// waiting returns the number of batches of campaigns that are given out and not done.
func waiting(list []*Ledger) (n int) {
	for _, l := range list {
		n += len(l.waiting())
	}
	return n
}

// write writes the ledger of a campaign if it has changed, and notifies workers of the campaign's end.
func (b *ledgers) write(ctx context.Context, l *Ledger) error {
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

// enqueue puts the batches of a campaign into the queue. By default these are the new ones; again makes it put all,
// since the queue ignores duplicates. It removes the batches of a campaign that has ended.
func (b *ledgers) enqueue(ctx context.Context, l *Ledger, again bool) {
	if l.Job.Ended != "" {
		if !l.cleared {
			b.clear(ctx, l)
		}
		return
	}
	if l.queued == nil || again {
		l.queued = map[int]bool{}
	}
	for _, ask := range l.waiting() {
		if l.queued[ask.First] {
			continue
		}
		if err := b.publish(ctx, workSubject(l.Job, ask.First), Work{Campaign: l.Job.ID, Ask: ask}); err != nil {
			b.log(fmt.Sprintf("campaign %s: work could not be given out: %v", l.Job.ID, err))
			return // the next turn retries
		}
		l.queued[ask.First] = true
	}
}

// clear removes the batches of an ended campaign, and what its lineages have learned.
func (b *ledgers) clear(ctx context.Context, l *Ledger) {
	if l.Job.Hello.Lineages > 1 {
		_ = b.js.DeleteObjectStore(ctx, lessonBucket(l.Job.ID)) // the store may be gone already
	}
	if stream, err := b.js.Stream(ctx, workStream); err == nil {
		l.cleared = stream.Purge(ctx, jetstream.WithPurgeSubject(fmt.Sprintf("lockstep.work.*.%s.>", l.Job.ID))) == nil
	}
}

// Command is a request of a user to the server.
type Command struct {
	Do   string `json:"do"` // give or stop
	Jobs []Job  `json:"jobs,omitempty"`
	ID   string `json:"id,omitempty"` // of a campaign or a plan
}

// Answer is the server's response to a command.
type Answer struct {
	IDs   []string `json:"ids,omitempty"`
	Error string   `json:"error,omitempty"`
}

// obey executes a command.
func (b *ledgers) obey(ctx context.Context, m *nats.Msg) {
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
	text, _ := json.Marshal(answer) // strings always marshal
	_ = m.Respond(text)
}

// mostJobs is the largest number of concurrent campaigns. mostEnded is the largest number of ended campaigns whose
// ledgers are kept.
const (
	mostJobs  = 1000
	mostEnded = 200
)

// prune removes the ledgers of the oldest campaigns, with their traces. It returns the number of running campaigns.
func (b *ledgers) prune(ctx context.Context) (running int) {
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

// accept creates the ledgers of campaigns.
func (b *ledgers) accept(ctx context.Context, jobs []Job) (ids []string, err error) {
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
			if _, err := b.js.CreateOrUpdateObjectStore(ctx,
				jetstream.ObjectStoreConfig{Bucket: lessonBucket(job.ID)}); err != nil {
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
			fmt.Sprintf("campaign %s: %s under %s, %d runs", job.ID, job.Hello.Target, job.Hello.Strategy,
				job.Hello.Runs),
		)
	}
	return ids, nil
}

// consumerOf returns the consumer from which workers with a campaign's program take batches.
func consumerOf(job Job) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable:       job.Hello.Program,
		FilterSubject: "lockstep.work." + job.Hello.Program + ".>",
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       timeout,
		MaxAckPending: -1,
	}
}

// check reports an invalid field of a job.
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
func (b *ledgers) stop(ctx context.Context, id string) (ids []string, err error) {
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
