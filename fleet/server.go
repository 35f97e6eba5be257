// Package fleet runs campaigns on many machines, over NATS JetStream. A [Server] hands out batches of runs and adds up
// the results. A [Worker] starts the target's own program, which makes the runs. A [Client] gives campaigns to the
// server and waits for them. The result is that of one machine, whichever worker makes a run and even if workers crash.
// [Commands] are those of the command line.
package fleet

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/nats-io/nats-server/v2/server"
)

// Config configures a server.
type Config struct {
	// Dir is the directory with the fleet's files.
	Dir string
	// Listen is the address for workers, as host:port; port 0 is any.
	Listen string
	// Token is the work token: a peer with it can join and give campaigns. If it is empty, the server creates a token
	// and keeps it in Dir.
	Token string
	// ViewToken is the read-only token of the page. If it is empty, the server creates a token and keeps it in Dir.
	ViewToken string
	// NATS is the address of an existing NATS server with JetStream; empty: the fleet starts one. Token is the
	// credential that the existing server expects: a token or, if the address names a user, a password.
	NATS string
	// Log gets a line for each notable event; nil: no log.
	Log func(string)
}

// mostPayload bounds a message. A ledger with a hundred findings is a tenth of it.
const mostPayload = 8 << 20

// leastPayload is the message size that an external NATS server must accept: its default limit.
const leastPayload = 1 << 20

// Server is a fleet's server.
type Server struct {
	// URL is the address for workers and clients, with the work token.
	URL   string
	Token string
	// ViewToken admits users to the page.
	ViewToken string

	config  Config
	local   string         // the address for this process
	nats    *server.Server // nil if the NATS server is external
	store   *store
	ledgers *ledgers
}

// cleanLog returns a log whose lines cannot change the terminal, whatever text peers send.
func cleanLog(log func(string)) func(string) {
	if log == nil {
		return func(string) {}
	}
	return func(line string) { log(words.Clean(line)) }
}

// Serve starts a server. It restores the state of the server before it from the files.
func Serve(ctx context.Context, c Config) (*Server, error) {
	s := &Server{config: c, URL: c.NATS, local: c.NATS, Token: c.Token, ViewToken: c.ViewToken}
	s.config.Log = cleanLog(c.Log)
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, err
	}
	if err := s.tokens(); err != nil {
		return nil, err
	}
	if c.NATS == "" {
		if err := s.embed(); err != nil {
			return nil, err
		}
	}
	var err error
	if s.store, err = connect(s.local, s.Token, s.config.Log); err == nil {
		if n := s.store.conn.MaxPayload(); n < leastPayload {
			err = fmt.Errorf("the NATS server at %s takes messages of %d bytes, a fleet needs %d: see its max_payload",
				s.local, n, leastPayload)
		} else if err = s.store.create(ctx); err == nil {
			s.ledgers, err = openLedgers(ctx, s.store, s.config.Log)
		}
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// embed starts a NATS server in this process, whose acknowledgments mean that the data is on disk.
func (s *Server) embed() error {
	host, port, err := net.SplitHostPort(s.config.Listen)
	if err != nil {
		return fmt.Errorf("--listen %s: %w", s.config.Listen, err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return fmt.Errorf("--listen %s: %w", s.config.Listen, err)
	}
	if number == 0 {
		number = server.RANDOM_PORT
	}
	n, err := server.NewServer(
		&server.Options{
			ServerName:     "lockstep",
			Host:           host,
			Port:           number,
			Authorization:  s.Token,
			NoSigs:         true,
			NoLog:          true,
			JetStream:      true,
			StoreDir:       s.config.Dir,
			SyncAlways:     true,
			MaxPayload:     mostPayload,
			MaxControlLine: 4096,
			AuthTimeout:    2,
		},
	)
	if err != nil {
		return fmt.Errorf("no NATS server can be started in %s: %w", s.config.Dir, err)
	}
	s.nats = n
	n.Start()
	if !n.ReadyForConnections(20 * time.Second) {
		n.Shutdown()
		return fmt.Errorf("the server cannot be reached at %s: is another server there?", s.config.Listen)
	}
	s.local = "nats://" + reachable(n.Addr(), "127.0.0.1")
	host, _ = os.Hostname()
	s.URL = "nats://" + reachable(n.Addr(), host)
	return nil
}

// reachable returns an address for clients. If the server listens on all interfaces, the address has the given host.
func reachable(a net.Addr, host string) string {
	if tcp, ok := a.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort(host, strconv.Itoa(tcp.Port))
	}
	return a.String()
}

// Run adds up results until the context ends.
func (s *Server) Run(ctx context.Context) error { return s.ledgers.run(ctx) }

// Close ends the server. The files have its complete state.
func (s *Server) Close() {
	if s.store != nil {
		s.store.conn.Close()
	}
	if s.nats != nil {
		s.nats.Shutdown()
		s.nats.WaitForShutdown()
	}
}
