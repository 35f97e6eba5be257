package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/batch"
	"github.com/nats-io/nats.go/jetstream"
)

// Work is a batch to be made.
type Work struct {
	batch.Ask
	Campaign string `json:"campaign"`
}

// Report is a worker's periodic report about itself.
type Report struct {
	Worker   string  `json:"worker"`
	Version  string  `json:"version"`
	Campaign string  `json:"campaign,omitempty"` // the current campaign
	Runs     int64   `json:"runs"`               // made since it joined
	Speed    float64 `json:"runs_per_sec"`       // in the last batch
	// Refused are the campaigns that the worker refuses, with the reason.
	Refused map[string]string `json:"refused,omitempty"`
}

// Worker makes runs for a fleet.
type Worker struct {
	// URL is the address of the fleet, and Token its work token.
	URL, Token string
	// Name is the worker's name; empty: host and process ID.
	Name string
	// Workers is the number of concurrent runs; 0 is one for each processor.
	Workers int
	// Every is the time between reports; 0 is a second.
	Every time.Duration
	// Program finds the program that has a target.
	Program func(target string, set []string) (file string, variables []string, err error)
	// Log gets a line for each notable event; nil: no log.
	Log func(string)

	*store
	starting sync.Mutex
	mutex    sync.Mutex // protects the following fields
	report   Report
	jobs     map[string]Job
	accepted map[string]bool           // campaigns that this worker can serve
	programs map[string]*batch.Program // by campaign
	used     []string                  // their campaigns, in order of last use
	held     map[string]jetstream.Msg  // by subject: batches that others must not be given
}

// Join works until the context ends.
func (w *Worker) Join(ctx context.Context) error {
	w.jobs, w.accepted, w.programs, w.held = map[string]Job{}, map[string]bool{}, map[string]*batch.Program{},
		map[string]jetstream.Msg{}
	w.Log = cleanLog(w.Log)
	if w.Name == "" {
		host, _ := os.Hostname()
		w.Name = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
	w.Name = strings.Map(subjectRune, w.Name)
	if w.Every == 0 {
		w.Every = time.Second
	}
	w.report = Report{Worker: w.Name, Version: lockstep.Version, Refused: map[string]string{}}
	var err error
	if w.store, err = connect(w.URL, w.Token, w.Log); err != nil {
		return err
	}
	defer w.conn.Close()
	if err := w.open(ctx); err != nil {
		return err
	}
	w.Log(w.Name + " has joined " + w.conn.ConnectedUrl())
	ctx, cancel := context.WithCancel(ctx)
	var others sync.WaitGroup
	others.Go(func() { w.follow(ctx, w.store.jobs, w.hear) })
	others.Go(func() { w.heartbeat(ctx) })
	w.work(ctx)
	cancel()
	others.Wait()
	w.leave()
	return nil
}

// subjectRune replaces a character that a key must not have.
func subjectRune(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
		return r
	}
	return '_'
}

// hear keeps the list of campaigns. It ends the program of a campaign that has ended, even in the middle of a batch.
func (w *Worker) hear(text []byte) {
	var job Job
	if json.Unmarshal(text, &job) != nil {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if job.Ended == "" {
		w.jobs[job.ID] = job
		return
	}
	delete(w.jobs, job.ID)
	delete(w.accepted, job.ID)
	delete(w.report.Refused, job.ID)
	w.closeProgram(job.ID)
}

// closeProgram ends the program of a campaign, if there is one. The caller holds the mutex.
func (w *Worker) closeProgram(id string) {
	if p := w.programs[id]; p != nil {
		p.Close()
		delete(w.programs, id)
	}
	w.used = slices.DeleteFunc(w.used, func(x string) bool { return x == id })
}

// heartbeat reports, and extends the lease on the held batches.
func (w *Worker) heartbeat(ctx context.Context) {
	tick := time.NewTicker(w.Every)
	defer tick.Stop()
	for {
		w.mutex.Lock()
		for _, m := range w.held {
			_ = m.InProgress()
		}
		text, _ := json.Marshal(w.report)
		w.mutex.Unlock()
		limited, cancel := context.WithTimeout(ctx, timeout/3)
		_, _ = w.workers.Put(limited, w.Name, text) // the next report comes soon
		cancel()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// leave returns the held batches to the queue and ends the programs.
func (w *Worker) leave() {
	for _, m := range w.held {
		_ = m.Nak()
	}
	limited, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = w.workers.Purge(limited, w.Name)
	_ = w.conn.FlushWithContext(limited)
	for _, p := range w.programs {
		p.Close()
	}
}

// idle is the polling interval of a worker without work.
const idle = 200 * time.Millisecond

// work makes one batch after the other. It fetches the next one while one is made.
func (w *Worker) work(ctx context.Context) {
	next := make(chan jetstream.Msg)
	go func() {
		defer close(next)
		for ctx.Err() == nil {
			m := w.fetch(ctx)
			if m == nil {
				continue
			}
			select {
			case next <- m:
			case <-ctx.Done():
			}
		}
	}()
	for m := range next {
		w.one(ctx, m)
		w.release(m)
	}
}

// release no longer holds a message.
func (w *Worker) release(m jetstream.Msg) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.held, m.Subject())
	w.report.Campaign = ""
}

// fetch gets a batch of the campaigns that this worker can serve, or nil.
func (w *Worker) fetch(ctx context.Context) jetstream.Msg {
	list := w.served(ctx)
	for _, program := range list {
		consumer, err := w.js.Consumer(ctx, workStream, program)
		if err != nil {
			continue
		}
		wait := jetstream.FetchMaxWait(time.Second)
		if len(list) > 1 {
			wait = jetstream.FetchMaxWait(idle)
		}
		batch, err := consumer.Fetch(1, wait)
		if err != nil {
			continue
		}
		for m := range batch.Messages() {
			w.mutex.Lock()
			w.held[m.Subject()] = m
			w.mutex.Unlock()
			return m
		}
	}
	pause(ctx, idle/4)
	return nil
}

// pause waits for a duration or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// served returns the programs of campaigns that this worker can serve. It refuses each other campaign once, with the
// reason.
func (w *Worker) served(ctx context.Context) (programs []string) {
	w.mutex.Lock()
	var fresh []Job
	for _, job := range w.jobs {
		switch {
		case w.accepted[job.ID]:
			programs = append(programs, job.Hello.Program)
		case w.report.Refused[job.ID] == "":
			fresh = append(fresh, job)
		}
	}
	w.mutex.Unlock()
	for _, job := range fresh {
		if _, err := w.program(ctx, job); err == nil {
			programs = append(programs, job.Hello.Program)
		} else if ctx.Err() == nil {
			w.refuse(job, err)
		}
	}
	slices.Sort(programs)
	return slices.Compact(programs)
}

func (w *Worker) refuse(job Job, err error) {
	w.mutex.Lock()
	w.report.Refused[job.ID] = err.Error()
	w.mutex.Unlock()
	w.Log(fmt.Sprintf("campaign %s refused: %v", job.ID, err))
}

// program returns the program that makes the runs of a campaign. It starts the program if necessary.
func (w *Worker) program(ctx context.Context, job Job) (*batch.Program, error) {
	w.starting.Lock() // starting may take long, but blocks no other goroutine
	defer w.starting.Unlock()
	if p := w.started(job.ID); p != nil {
		return p, nil
	}
	if n := len(job.Args); n < 3 || job.Args[0] != "run" || job.Args[1] != job.Target ||
		job.Args[n-1] != "--batches" {
		return nil, fmt.Errorf("it does not ask for batches of %q: %q", job.Target, job.Args)
	}
	file, variables, err := w.Program(job.Target, job.Set)
	if err != nil {
		return nil, err
	}
	args := job.Args
	if w.Workers > 0 {
		args = append(slices.Clone(args), "--workers", fmt.Sprint(w.Workers))
	}
	p, err := batch.Start(ctx, file, args, variables...)
	if err != nil {
		return nil, err
	}
	if err := job.Hello.Same(p.Hello); err != nil {
		p.Close()
		return nil, err
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.programs[job.ID], w.accepted[job.ID] = p, true
	w.used = append(w.used, job.ID)
	for _, old := range slices.Clone(w.used[:max(0, len(w.used)-mostPrograms)]) {
		if old != w.report.Campaign { // the current program stays
			w.closeProgram(old)
		}
	}
	return p, nil
}

// mostPrograms is the largest number of running programs of a worker: a plan may have many campaigns.
const mostPrograms = 4

// started returns the program of a campaign, or nil.
func (w *Worker) started(id string) *batch.Program {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if i := slices.Index(w.used, id); i >= 0 {
		w.used = append(slices.Delete(w.used, i, i+1), id)
	}
	return w.programs[id]
}

// one makes a batch and stores its result. Only then it acknowledges the message.
func (w *Worker) one(ctx context.Context, m jetstream.Msg) {
	var work Work
	if json.Unmarshal(m.Data(), &work) != nil {
		_ = m.Term() // no worker can make it
		return
	}
	w.mutex.Lock()
	job, ok := w.jobs[work.Campaign]
	refused := w.report.Refused[work.Campaign]
	w.report.Campaign = work.Campaign
	w.mutex.Unlock()
	if !ok || refused != "" {
		_ = m.NakWithDelay(time.Second)
		return
	}
	delivery, err := m.Metadata()
	if err == nil {
		err = w.makeBatch(ctx, job, work.Ask, delivery.NumDelivered >= attempts)
	}
	switch {
	case err == nil:
		_ = m.Ack()
	case ctx.Err() == nil && w.continues(job.ID):
		w.Log(fmt.Sprintf("runs %d to %d of campaign %s: %v", work.First, work.End-1, job.ID, err))
		_ = m.NakWithDelay(time.Second)
	}
}

// continues reports whether a campaign has not ended.
func (w *Worker) continues(id string) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	_, ok := w.jobs[id]
	return ok
}

// attempts is the number of attempts at a batch before its failure ends the campaign.
const attempts = 3

// makeBatch makes a batch: in one piece or, if the strategy learns, from the campaign's beginning in slices.
func (w *Worker) makeBatch(ctx context.Context, job Job, ask batch.Ask, last bool) error {
	size := ask.End - ask.First
	if job.Hello.Sequential {
		size = slice
		w.drop(job.ID) // the program may have learned from a failed attempt
	}
	for first := ask.First; first < ask.End && ctx.Err() == nil; first += size {
		done, err := w.make(ctx, job, batch.Ask{First: first, End: min(first+size, ask.End), Found: ask.Found}, last)
		if err != nil || done {
			return err
		}
	}
	return ctx.Err()
}

// drop ends the program of a campaign.
func (w *Worker) drop(id string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.closeProgram(id)
}

// make makes runs, stores the result, and reports whether the campaign ends with them. A failure of the last attempt is
// reported as the campaign's failure.
func (w *Worker) make(ctx context.Context, job Job, ask batch.Ask, last bool) (done bool, err error) {
	p, err := w.program(ctx, job)
	if err != nil {
		w.refuse(job, err)
		return false, err
	}
	lessons, err := w.lessons(ctx, job, p.Taught, ask.First)
	if err != nil {
		return false, err
	}
	begin := time.Now()
	made, err := p.Make(ask, lessons...)
	if err != nil {
		made = &batch.Made{Ask: ask, Error: err.Error()}
	}
	if made.Error != "" {
		w.drop(job.ID)
		if !last || ctx.Err() != nil {
			return false, fmt.Errorf("%s", made.Error)
		}
	}
	part := &Part{
		Made:      *made,
		Campaign:  job.ID,
		Version:   p.Hello.Version,
		Program:   p.Hello.Program,
		Worker:    w.Name,
		ElapsedMS: time.Since(begin).Milliseconds(),
	}
	if err := w.submit(ctx, job, part); err != nil {
		return false, err
	}
	if r := made.Result; r != nil {
		done = r.Runs < ask.End-ask.First
		w.mutex.Lock()
		w.report.Runs += int64(r.Runs)
		w.report.Speed = float64(r.Runs) / max(time.Since(begin).Seconds(), 1e-6)
		w.mutex.Unlock()
	}
	return done || made.Error != "", nil
}

// lessons returns what was learned from the first given run up to the epoch of the second, if there are several
// lineages. The server gives out no batch of an epoch before all of this is stored.
func (w *Worker) lessons(ctx context.Context, job Job, from, run int) (list []batch.Lesson, err error) {
	if job.Hello.Lineages < 2 {
		return nil, nil
	}
	list, err = w.getLessons(ctx, job.ID, from, job.Hello.EpochOf(run), job.Hello.Epoch)
	if err != nil {
		err = fmt.Errorf("what was learned from run %d on: %w", from, err)
	}
	return list, err
}

// submit stores the traces of a part, then what was learned, and then the part. It retries while the server is gone, as
// long as the campaign continues.
func (w *Worker) submit(ctx context.Context, job Job, part *Part) error {
	traces := part.Traces
	part.Traces = nil
	for i, t := range traces {
		part.Shapes = append(part.Shapes, t.Shape)
		run := part.Result.Failures[i].Run
		if err := w.insist(ctx, job, func() error { return w.putTrace(ctx, job.ID, run, t) }); err != nil {
			return err
		}
	}
	if job.Hello.Lineages > 1 {
		learned := part.Learned
		part.Learned = nil
		if err := w.insist(ctx, job,
			func() error { return w.putLesson(ctx, job.ID, part.First, learned) }); err != nil {
			return err
		}
	}
	if err := w.fit(part); err != nil {
		return err
	}
	return w.insist(ctx, job, func() error { return w.publish(ctx, partSubject(job.ID, part.First), part) })
}

// fit replaces a part that exceeds the size of a message by a part with an error that reports this.
func (w *Worker) fit(part *Part) error {
	text, err := json.Marshal(part)
	if err != nil {
		return err
	}
	if limit := w.conn.MaxPayload(); int64(len(text)) > limit {
		part.Made = batch.Made{
			Ask: part.Ask,
			Error: fmt.Sprintf("the result of runs %d to %d has %d bytes, the server takes %d: see max_payload of NATS",
				part.First, part.End-1, len(text), limit),
		}
		part.Shapes = nil
	}
	return nil
}

// insist repeats an action until it succeeds or the campaign has ended.
func (w *Worker) insist(ctx context.Context, job Job, do func() error) error {
	for {
		if err := do(); err == nil || ctx.Err() != nil || !w.continues(job.ID) {
			return ctx.Err()
		}
		pause(ctx, idle)
	}
}
