package fleet

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// external starts an external NATS server.
func external(t *testing.T, change func(*server.Options)) *server.Server {
	t.Helper()
	o := &server.Options{
		ServerName: "theirs",
		Host:       "127.0.0.1",
		Port:       server.RANDOM_PORT,
		JetStream:  true,
		StoreDir:   t.TempDir(),
		NoSigs:     true,
		NoLog:      true,
	}
	change(o)
	n, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	n.Start()
	t.Cleanup(func() {
		n.Shutdown()
		n.WaitForShutdown()
	})
	if !n.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	return n
}

// on serves a fleet on an existing NATS server, until the caller calls the returned function.
func on(t *testing.T, url, token, dir string) (*Server, func()) {
	t.Helper()
	s, err := Serve(t.Context(), Config{NATS: url, Token: token, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { _ = s.Run(ctx) })
	return s, sync.OnceFunc(func() { cancel(); done.Wait(); s.Close() })
}

// A fleet works on an existing NATS server, by token or by user and password, with the result of one machine. A restart
// of the fleet's server loses nothing.
func TestExternal(t *testing.T) {
	want := output(t, 0, "run", "smr", "--runs", "400", "--seed", "9")
	for name, c := range map[string]struct {
		user   string
		change func(*server.Options)
	}{
		"token":    {"", func(o *server.Options) { o.Authorization = "secret" }},
		"password": {"team@", func(o *server.Options) { o.Username, o.Password = "team", "secret" }},
	} {
		n, dir := external(t, c.change), t.TempDir()
		url := "nats://" + c.user + n.Addr().String()
		if _, err := Serve(t.Context(), Config{NATS: url, Token: "misspelled", Dir: dir}); err == nil ||
			strings.Contains(err.Error(), "misspelled") ||
			!strings.Contains(err.Error(), "does not know this token") {
			t.Errorf("%s: %v", name, err)
		}
		s, end := on(t, url, "secret", dir)
		t.Cleanup(end)
		joined(t, s, name)
		if l := given(t, s, "smr", "--runs", "400", "--seed", "9"); lineOf(l).Digest != want["digest"] ||
			l.Result.Runs != 400 {
			t.Errorf("%s: digest %x after %d runs, want %v", name, l.Result.Digest, l.Result.Runs, want["digest"])
		}
		end()
		again, end := on(t, url, "secret", dir)
		t.Cleanup(end)
		if look := again.ledgers.snapshot(); len(look.Campaigns) != 1 || look.Campaigns[0].Result.Runs != 400 {
			t.Errorf("%s: after a restart there are %+v", name, look.Campaigns)
		}
	}
}

// The fleet reports what an existing server lacks.
func TestExternalLacks(t *testing.T) {
	for want, change := range map[string]func(*server.Options){
		"JetStream":           func(o *server.Options) { o.JetStream = false },
		"see its max_payload": func(o *server.Options) { o.MaxPayload = 1 << 16 },
	} {
		n := external(t, change)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err := Serve(ctx, Config{NATS: "nats://" + n.Addr().String(), Dir: t.TempDir()})
		cancel()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for address, want := range map[string]string{
		"nats://127.0.0.1:1?creds=nowhere.creds": "creds: stat nowhere.creds",
		"nats://127.0.0.1:1?ca=nowhere.pem":      "ca: stat nowhere.pem",
		"nats://127.0.0.1:1?password=x":          "allowed are creds and ca",
		"nats://127.0.0.1:1":                     "no fleet at nats://127.0.0.1:1",
		"nats://secret@127.0.0.1:1":              "--token-file FILE",
		"nats://user:secret@127.0.0.1:1":         "--token-file FILE",
		"secret@127.0.0.1:1":                     "LOCKSTEP_FLEET_TOKEN",
	} {
		if _, err := Dial(t.Context(), address, ""); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
