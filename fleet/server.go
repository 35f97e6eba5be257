// Package fleet makes campaigns on many machines, over NATS JetStream. A [Server] hands out stretches of runs and adds up
// what comes back, a [Worker] has them made by the target's own program, and a [Client] gives campaigns and waits for them. The
// result is that of one machine, whoever makes which run and whoever dies meanwhile. [Commands] are those of the command line.
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

// Config says how a fleet is served.
type Config struct {
	// Dir is where the fleet's files are.
	Dir string
	// Listen is where workers connect, as host:port; port 0 is any.
	Listen string
	// Token is the work token: who has it can join and give campaigns. Empty is one that is made and kept in Dir.
	Token string
	// ViewToken is the token of the page, which only reads. Empty is one that is made and kept in Dir.
	ViewToken string
	// NATS is the address of a NATS server with JetStream that is there already; empty: one is started. Token is what that
	// server wants: a token or, where the address names a user, a password.
	NATS string
	// Log gets a line now and then; nil: nobody does.
	Log func(string)
}

// mostPayload bounds a message: a ledger with a hundred findings is a tenth of it.
const mostPayload = 8 << 20

// leastPayload is what a NATS server of somebody's own must take: its usual limit.
const leastPayload = 1 << 20

// Server is a fleet's server.
type Server struct {
	// URL is where workers and clients connect, with the work token.
	URL   string
	Token string
	// ViewToken lets people see the page.
	ViewToken string

	config Config
	local  string         // the address for this process
	nats   *server.Server // nil where it is somebody else's
	store  *store
	books  *books
}

// cleanLog is a log whose lines cannot change the terminal, whatever peers say.
func cleanLog(log func(string)) func(string) {
	if log == nil {
		return func(string) {}
	}
	return func(line string) { log(words.Clean(line)) }
}

// Serve starts a server. It goes on where the one before it ended, by the files.
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
			err = fmt.Errorf(
				"the NATS server at %s takes messages of %d bytes, a fleet needs %d: see its max_payload",
				s.local,
				n,
				leastPayload,
			)
		} else if err = s.store.create(ctx); err == nil {
			s.books, err = openBooks(ctx, s.store, s.config.Log)
		}
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// embed starts a NATS server in this process, whose acknowledgements mean that something is on the disk.
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
		return fmt.Errorf("nobody can connect to %s: is another server there?", s.config.Listen)
	}
	s.local = "nats://" + reachable(n.Addr(), "127.0.0.1")
	host, _ = os.Hostname()
	s.URL = "nats://" + reachable(n.Addr(), host)
	return nil
}

// reachable is an address that one can connect to, where one that listens everywhere is that of a host.
func reachable(a net.Addr, host string) string {
	if tcp, ok := a.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort(host, strconv.Itoa(tcp.Port))
	}
	return a.String()
}

// Run adds up what comes until the context ends.
func (s *Server) Run(ctx context.Context) error { return s.books.run(ctx) }

// Close ends the server. Everything is in the files.
func (s *Server) Close() {
	if s.store != nil {
		s.store.conn.Close()
	}
	if s.nats != nil {
		s.nats.Shutdown()
		s.nats.WaitForShutdown()
	}
}
