package fleet

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/internal/batch"
	"github.com/lockstep-go/lockstep/report/campaign"
	"github.com/lockstep-go/lockstep/trace"
	"github.com/nats-io/nats-server/v2/server"
)

// servingIn starts a server in this process with its files in a directory. It returns the server and the function that
// ends it.
func servingIn(t *testing.T, dir string) (*Server, func()) {
	t.Helper()
	s, err := Serve(t.Context(), Config{Dir: dir, Listen: "127.0.0.1:0", Log: func(line string) {
		if strings.Contains(line, "panics") {
			t.Error(line)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { _ = s.Run(ctx) })
	end := sync.OnceFunc(func() { cancel(); done.Wait(); s.Close() })
	t.Cleanup(end)
	return s, end
}

// giveTest gives a test campaign to a server and returns the first batches that it gives out.
func giveTest(t *testing.T, s *Server, job Job) []batch.Ask {
	t.Helper()
	c := dialed(t, s)
	ids, err := c.Give(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	var asks []batch.Ask
	wait(t, func() bool {
		l, err := c.store.ledger(t.Context(), ids[0])
		if err != nil {
			t.Fatal(err)
		}
		asks = l.Out
		return len(asks) >= 2
	})
	return asks
}

// dialed returns a client of a server that ends with the test.
func dialed(t *testing.T, s *Server) *Client {
	t.Helper()
	c, err := Dial(t.Context(), s.URL, s.Token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// wait waits until a condition holds.
func wait(t *testing.T, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); pause(t.Context(), 10*time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come to hold")
		}
	}
}

// send stores a part as a worker does.
func send(t *testing.T, c *Client, p *Part) {
	t.Helper()
	if err := c.store.publish(t.Context(), partSubject(p.Campaign, p.First), p); err != nil {
		t.Fatal(err)
	}
}

// A part with an error may arrive before an earlier batch. It ends neither the server nor the next server with the same
// directory. The campaign ends with the error when the part's turn comes.
func TestErrorBeforeEarlierBatch(t *testing.T) {
	dir := t.TempDir()
	s, end := servingIn(t, dir)
	job := testJob(1000, true)
	asks := giveTest(t, s, job)
	job.ID = "000001"
	send(t, dialed(t, s), testPart(t, job, asks[1], errs, nil))
	wait(t, func() bool {
		s.ledgers.mutex.Lock()
		defer s.ledgers.mutex.Unlock()
		return s.ledgers.ledgers["000001"].arrived[asks[1].First] != nil
	})
	time.Sleep(4 * turn) // the server gives out more batches meanwhile, which must not panic
	end()
	s, _ = servingIn(t, dir)
	c := dialed(t, s)
	send(t, c, testPart(t, job, asks[0], passes, nil))
	l, err := c.Wait(t.Context(), "000001", func(*Ledger) {})
	if err != nil || l.Job.Ended != Failed || l.Result.Runs != asks[1].First ||
		!strings.HasPrefix(l.Why, "the program failed in run") {
		t.Errorf("%v: %+v", err, l)
	}
}

// An impossible part is quarantined, also after a restart, and its batch is given out again. The status shows the part.
// A campaign with too many rejected parts fails, and others continue.
func TestQuarantined(t *testing.T) {
	dir := t.TempDir()
	s, end := servingIn(t, dir)
	job := testJob(1000, true)
	asks := giveTest(t, s, job)
	job.ID = "000001"
	c := dialed(t, s)
	quarantined := func() int {
		l, err := c.store.ledger(t.Context(), "000001")
		if err != nil {
			t.Fatal(err)
		}
		return l.Quarantined
	}
	if _, err := c.store.js.Publish(t.Context(), partSubject("000001", asks[1].First), []byte("garbage")); err != nil {
		t.Fatal(err)
	}
	send(t, c, testPart(t, job, asks[0], invalid, nil))
	wait(t, func() bool { return quarantined() == 2 })
	var page bytes.Buffer
	if err := campaign.FleetPage(&page, s.ledgers.snapshot()); err != nil ||
		!strings.Contains(page.String(), "Quarantined results") ||
		!strings.Contains(page.String(), "the message is not a part") {
		t.Errorf("the page does not show what is quarantined: %v", err)
	}
	if _, text := said(t, withToken(command(t, "fleet", "status", s.URL), s.Token)); !strings.Contains(text,
		"quarantined") ||
		!strings.Contains(text, "the message is not a part") {
		t.Errorf("the status does not show what is quarantined:\n%s", text)
	}
	end()
	s, _ = servingIn(t, dir)
	c = dialed(t, s)
	if l := s.ledgers.ledgers["000001"]; l.Quarantined != 2 || l.Result.Runs != 0 || l.Attempts[0] != 1 ||
		l.Attempts[asks[1].First] != 1 {
		t.Errorf("after a restart %d are quarantined, %v attempts, %d runs", l.Quarantined, l.Attempts, l.Result.Runs)
	}
	send(t, c, testPart(t, job, asks[0], passes, nil))
	wait(t, func() bool {
		l, err := c.store.ledger(t.Context(), "000001")
		return err == nil && l.Result.Runs == 4 && l.Attempts[0] == 0
	})
	for n := 3; n <= 4; n++ {
		send(t, c, testPart(t, job, asks[1], invalid, nil))
		wait(t, func() bool { return quarantined() == n })
	}
	l, err := c.Wait(t.Context(), "000001", func(*Ledger) {})
	if err != nil || l.Job.Ended != Failed || l.Result.Runs != 4 || !strings.Contains(l.Why, "was rejected 3 times") ||
		!strings.Contains(l.Why, "verdict") {
		t.Errorf("%v: %+v", err, l)
	}
	joined(t, s, "honest")
	if l := given(t, s, "smr", "--runs", "100", "--seed", "9"); l.Job.Ended != Done || l.Result.Runs != 100 {
		t.Errorf("another campaign: %s %q", l.Job.Ended, l.Why)
	}
}

// A campaign whose state is larger than the server can store fails, and the others continue.
func TestTooLarge(t *testing.T) {
	n := external(t, func(o *server.Options) { o.MaxPayload = leastPayload })
	s, end := on(t, "nats://"+n.Addr().String(), "", t.TempDir())
	defer end()
	job := testJob(1_000_000, true)
	asks := giveTest(t, s, job)
	job.ID = "000001"
	c := dialed(t, s)
	for i := range 2 {
		p := testPart(t, job, asks[i], passes, nil)
		p.Result.Verdicts = map[trace.Verdict]int{"unknown": 4}
		for j := range 3 {
			p.Result.Reasons[strings.Repeat(string(rune('a'+3*i+j)), 200<<10)] = 1
		}
		send(t, c, p)
	}
	l, err := c.Wait(t.Context(), "000001", func(*Ledger) {})
	if err != nil || l.Job.Ended != Failed || !strings.Contains(l.Why, "larger than the server can store") {
		t.Errorf("%v: %+v", err, l)
	}
	joined(t, s, "honest")
	if l := given(t, s, "smr", "--runs", "100", "--seed", "9"); l.Job.Ended != Done || l.Result.Runs != 100 {
		t.Errorf("another campaign: %s %q", l.Job.Ended, l.Why)
	}
}
