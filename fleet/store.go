package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/internal/batch"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The streams and stores of the fleet on the server.
const (
	workStream   = "LOCKSTEP_WORK"  // batches to be made: lockstep.work.PROGRAM.CAMPAIGN.FIRST
	partStream   = "LOCKSTEP_PARTS" // their results: lockstep.part.CAMPAIGN.FIRST
	jobBucket    = "LOCKSTEP_CAMPAIGNS"
	ledgerBucket = "LOCKSTEP_LEDGERS"
	workerBucket = "LOCKSTEP_WORKERS"
	traceBucket  = "LOCKSTEP_TRACES"

	commandSubject = "lockstep.command"
)

func workSubject(job Job, first int) string {
	return fmt.Sprintf("lockstep.work.%s.%s.%d", job.Hello.Program, job.ID, first)
}

func partSubject(id string, first int) string { return fmt.Sprintf("lockstep.part.%s.%d", id, first) }

// traceName returns the name of a trace in the object store.
func traceName(id string, run int) string { return id + "/" + strconv.Itoa(run) }

// lessonBucket returns the object store of what the lineages of a campaign have learned, by the first run.
func lessonBucket(id string) string { return "LOCKSTEP_LEARNED_" + id }

// timeout is the time without a sign of a worker after which its batch is given to another.
const timeout = 6 * time.Second

// store is the connection to the fleet's streams and stores, for all sides.
type store struct {
	conn    *nats.Conn
	js      jetstream.JetStream
	jobs    jetstream.KeyValue
	ledgers jetstream.KeyValue
	workers jetstream.KeyValue
	traces  jetstream.ObjectStore
	// back is notified when the server is available again.
	back chan struct{}
}

// connect connects to a fleet's server, and reconnects whenever the connection is lost. Errors contain no token.
func connect(address, token string, log func(string)) (*store, error) {
	back := make(chan struct{}, 1)
	url, options, err := optionsOf(address)
	if err != nil {
		return nil, err
	}
	url, known, err := credentials(url, token)
	if err != nil {
		return nil, err
	}
	conn, err := nats.Connect(
		url,
		append(
			append(options, known...),
			nats.Name("lockstep"),
			nats.MaxReconnects(-1),
			nats.ReconnectWait(200*time.Millisecond),
			nats.DisconnectErrHandler(func(*nats.Conn, error) { log("the server is gone; waiting for it") }),
			nats.ReconnectHandler(func(*nats.Conn) {
				log("the server is back")
				select {
				case back <- struct{}{}:
				default:
				}
			}),
		)...)
	switch {
	case errors.Is(err, nats.ErrAuthorization):
		return nil, fmt.Errorf(
			"the fleet at %s does not know this token: give the work token by --token-file FILE or by the variable %s",
			url, TokenVariable)
	case err != nil:
		return nil, fmt.Errorf("no fleet at %s: %w (lockstep fleet serve starts one)", url, err)
	}
	s := &store{conn: conn, back: back}
	if s.js, err = jetstream.New(conn); err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

// optionsOf takes from an address the files that an external NATS server may require. ?creds=FILE has the credentials
// of a user, and ?ca=FILE the certificates that must have signed the server's.
func optionsOf(address string) (string, []nats.Option, error) {
	url, query, _ := strings.Cut(address, "?")
	var options []nats.Option
	for _, word := range strings.FieldsFunc(query, func(r rune) bool { return r == '&' }) {
		key, file, _ := strings.Cut(word, "=")
		if _, err := os.Stat(file); err != nil && (key == "creds" || key == "ca") {
			return "", nil, fmt.Errorf("the address of the fleet: %s: %w", key, err)
		}
		switch key {
		case "creds":
			options = append(options, nats.UserCredentials(file))
		case "ca":
			options = append(options, nats.RootCAs(file))
		default:
			return "", nil, fmt.Errorf("the address of the fleet: unknown key %.20q: allowed are creds and ca", key)
		}
	}
	return url, options, nil
}

// open opens the streams and stores that the server created.
func (s *store) open(ctx context.Context) error {
	var err [4]error
	s.jobs, err[0] = s.js.KeyValue(ctx, jobBucket)
	s.ledgers, err[1] = s.js.KeyValue(ctx, ledgerBucket)
	s.workers, err[2] = s.js.KeyValue(ctx, workerBucket)
	s.traces, err[3] = s.js.ObjectStore(ctx, traceBucket)
	if failed := errors.Join(err[:]...); failed != nil {
		return fmt.Errorf("there is NATS at %s, but no fleet: %w", s.conn.ConnectedUrl(), failed)
	}
	return nil
}

// create creates missing streams and stores. A subject of the streams holds one message, so that neither a batch nor
// its result is stored twice.
func (s *store) create(ctx context.Context) error {
	for _, c := range []jetstream.StreamConfig{
		{Name: workStream, Subjects: []string{"lockstep.work.>"}},
		{Name: partStream, Subjects: []string{"lockstep.part.>"}},
	} {
		c.Retention, c.Discard, c.DiscardNewPerSubject, c.MaxMsgsPerSubject = jetstream.WorkQueuePolicy,
			jetstream.DiscardNew, true, 1
		_, err := s.js.CreateOrUpdateStream(ctx, c)
		if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrJetStreamNotEnabled) ||
			errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
			return fmt.Errorf("the NATS server at %s has no JetStream for this user: %w", s.conn.ConnectedUrl(), err)
		}
		if err != nil {
			return err
		}
	}
	for _, c := range []jetstream.KeyValueConfig{
		{Bucket: jobBucket},
		{Bucket: ledgerBucket},
		{Bucket: workerBucket, TTL: gone, Storage: jetstream.MemoryStorage},
	} {
		if _, err := s.js.CreateOrUpdateKeyValue(ctx, c); err != nil {
			return err
		}
	}
	if _, err := s.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: traceBucket}); err != nil {
		return err
	}
	return s.open(ctx)
}

// isThere reports whether a message was refused because its subject has one.
func isThere(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && strings.Contains(api.Description, "maximum messages per subject exceeded")
}

// publish stores a message. It is no error if the message exists already.
func (s *store) publish(ctx context.Context, subject string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if _, err = s.js.Publish(ctx, subject, text); isThere(err) {
		return nil
	}
	return err
}

// put writes a value.
func put(ctx context.Context, kv jetstream.KeyValue, key string, v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		_, err = kv.Put(ctx, key, text)
	}
	return err
}

// all reads the values of a bucket, ordered by key. It leaves out and logs unreadable values.
func all[T any](ctx context.Context, kv jetstream.KeyValue, read func([]byte) (T, error),
	log func(string)) ([]T, error) {
	watch, err := kv.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, err
	}
	defer watch.Stop() //nolint:errcheck // it was read
	var list []T
	for entry := range watch.Updates() {
		if entry == nil { // the last existing value was read
			return list, nil
		}
		v, err := read(entry.Value())
		if err != nil {
			log(fmt.Sprintf("%s has a value %.50q that cannot be read: %v", kv.Bucket(), entry.Key(), err))
			continue
		}
		list = append(list, v)
	}
	return list, ctx.Err()
}

// follow calls a function with every value of a bucket, and with every change, until the context ends. After the server
// was gone, it begins again.
func (s *store) follow(ctx context.Context, kv jetstream.KeyValue, hear func([]byte)) {
	for ctx.Err() == nil {
		watch, err := kv.WatchAll(ctx, jetstream.IgnoreDeletes())
		if err != nil {
			pause(ctx, idle)
			continue
		}
		for again := false; !again; {
			select {
			case <-ctx.Done():
				again = true
			case <-s.back:
				again = true
			case e, ok := <-watch.Updates():
				if again = !ok; e != nil {
					hear(e.Value())
				}
			}
		}
		_ = watch.Stop()
	}
}

// ledger reads the ledger of a campaign.
func (s *store) ledger(ctx context.Context, id string) (*Ledger, error) {
	entry, err := s.ledgers.Get(ctx, id)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, fmt.Errorf("the fleet has no campaign %q: %w", id, err)
	}
	if err != nil {
		return nil, err
	}
	return readLedger(entry.Value())
}

// putTrace stores the trace of a finding. The same run has the same trace, whichever worker makes it.
func (s *store) putTrace(ctx context.Context, id string, run int, t batch.Trace) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	_, err = s.traces.Put(ctx, jetstream.ObjectMeta{Name: traceName(id, run)}, bytes.NewReader(text))
	return err
}

// putLesson stores what was learned in the runs of a lineage. The same runs give the same lesson, whichever worker
// makes them.
func (s *store) putLesson(ctx context.Context, id string, first int, text []byte) error {
	lessons, err := s.js.ObjectStore(ctx, lessonBucket(id))
	if err == nil {
		_, err = lessons.PutBytes(ctx, strconv.Itoa(first), text)
	}
	return err
}

// getLessons reads what was learned in a range of runs.
func (s *store) getLessons(ctx context.Context, id string, from, end, epoch int) (list []batch.Lesson, err error) {
	lessons, err := s.js.ObjectStore(ctx, lessonBucket(id))
	for first := from; err == nil && first < end; first += epoch {
		l := batch.Lesson{First: first}
		if l.Learned, err = lessons.GetBytes(ctx, strconv.Itoa(first)); err == nil {
			list = append(list, l)
		}
	}
	return list, err
}

// storedTrace reads the trace of a finding as it is stored. If it cannot be read now, the error is errUnavailable.
func (s *store) storedTrace(ctx context.Context, id string, run int) (t batch.Trace, err error) {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	object, err := s.traces.Get(limited, traceName(id, run))
	if err != nil {
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			return t, fmt.Errorf("there is no trace of run %d of campaign %s", run, id)
		}
		return t, errors.Join(errUnavailable, err)
	}
	defer object.Close()
	text, err := io.ReadAll(io.LimitReader(object, maxTrace+1))
	switch {
	case err != nil:
		return t, errors.Join(errUnavailable, err)
	case len(text) > maxTrace:
		return t, fmt.Errorf("it has more than %d bytes", maxTrace)
	case json.Unmarshal(text, &t) != nil:
		return t, errors.New("it is not a trace")
	}
	return t, nil
}

// getTrace reads the trace of a finding, and waits if the server is temporarily gone. The pictures get plain names.
func (s *store) getTrace(ctx context.Context, id string, run int) (t batch.Trace, err error) {
	t, err = s.storedTrace(ctx, id, run)
	for attempts := 0; errors.Is(err, errUnavailable) && attempts < 30 && ctx.Err() == nil; attempts++ {
		pause(ctx, time.Second)
		t, err = s.storedTrace(ctx, id, run)
	}
	if err == nil {
		_, err = openTrace(&t)
	}
	if err != nil {
		return t, fmt.Errorf("the trace of run %d of campaign %s: %w", run, id, err)
	}
	return t, nil
}
