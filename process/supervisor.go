package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockstep-go/lockstep/internal/child"
)

// Supervisor manages the servers of one deployment.
type Supervisor struct {
	// Address is a loopback address that no other deployment uses.
	Address string
	// Memory and File bound the memory and the size of a single file of one server, in bytes.
	Memory, File int64

	dir     string
	locks   []net.Listener // hold the addresses
	port    int
	servers []*Server
}

// Default bounds of a server.
const (
	DefaultMemory = 1 << 30
	DefaultFile   = 256 << 20
)

// firstPort is the first port of a deployment. Ports stay below those that the kernel assigns to clients.
const firstPort = 20_000

// deployments counts the deployments of this process.
var deployments atomic.Uint32

// NewSupervisor creates a supervisor whose servers use directories below the given one. A guard process removes that
// directory if the tester is killed.
func NewSupervisor(dir string) (*Supervisor, error) {
	if err := child.Dir(dir); err != nil {
		return nil, err
	}
	s := &Supervisor{Memory: DefaultMemory, File: DefaultFile, dir: dir, port: firstPort}
	var err error
	s.Address, err = s.AnotherAddress()
	if err != nil {
		return nil, err
	}
	return s, nil
}

// AnotherAddress returns a further loopback address that no other deployment uses, for servers that must all use the
// same port.
func (s *Supervisor) AnotherAddress() (string, error) {
	var err error
	for range 250 { // skip addresses that another process holds
		host := address(os.Getpid(), int(deployments.Add(1)))
		var lock net.Listener
		if lock, err = net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(firstPort))); err == nil {
			s.locks = append(s.locks, lock)
			return host, nil
		}
	}
	return "", fmt.Errorf("process: no loopback address is free: %w", err)
}

// address returns the address of a process's n-th deployment. All of 127.0.0.0/8 is the loopback.
func address(pid, n int) string {
	pid %= 254 * 256
	return fmt.Sprintf("127.%d.%d.%d", 1+pid/256, pid%256, 1+n%254)
}

// Port returns an unused port of the deployment's address, as host:port. It returns none twice.
func (s *Supervisor) Port() string {
	s.port++
	return net.JoinHostPort(s.Address, strconv.Itoa(s.port))
}

// Server creates a server, which is not started, with a directory of that name.
func (s *Supervisor) Server(name string) (*Server, error) {
	v := &Server{Name: name, Dir: filepath.Join(s.dir, name), keeper: s}
	if err := os.MkdirAll(v.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("process: no directory for %s: %w", name, err)
	}
	s.servers = append(s.servers, v)
	return v, nil
}

// Check returns an error if a server ended on its own, or takes too much memory.
func (s *Supervisor) Check() error {
	for _, v := range s.servers {
		if err := v.check(); err != nil {
			return err
		}
	}
	return nil
}

// Close ends all servers and releases the addresses. The caller owns the directory again.
func (s *Supervisor) Close() error {
	var all sync.WaitGroup
	for _, v := range s.servers {
		all.Go(v.end)
	}
	all.Wait()
	err := child.Keep(s.dir)
	for _, lock := range s.locks {
		err = errors.Join(err, lock.Close())
	}
	return err
}

// Server is a program that is started and ended, perhaps many times.
type Server struct {
	// Name is the server's name in error texts.
	Name string
	// Dir is the server's directory. It survives the process.
	Dir string
	// Log contains the server's standard output and standard error.
	Log Log
	// ControlAddress is an address at which the server's process accepts commands to end the server in-process and to
	// start it again. Kill and Start then use it, which saves the startup of the process. A command is a line, "stop"
	// or "start", and the process answers "done". If it does not, Kill and Start kill the process. Empty means that
	// ending the server ends its process.
	ControlAddress string

	keeper       *Supervisor
	child        *child.Child // nil: not started, or ended
	idle         bool         // the process runs and the server in it does not
	incarnations int          // starts of the server in this process
	pid          atomic.Int64 // of the child, for links that identify the dialer
}

// limited starts a program under bounds, once it reads a line. Without that, a tester killed before the guard knows the
// process would leave it running. A JVM wants more address space than memory, so that the supervisor checks memory
// instead.
const limited = `read -r go || exit 1; ulimit -c 0; ulimit -f "$0"; exec "$@" </dev/null`

// Start starts the server with a command, in its directory unless the command names another.
func (s *Server) Start(cmd *exec.Cmd) error {
	if s.Running() {
		return fmt.Errorf("process: %s is running", s.Name)
	}
	if s.revive() {
		return nil
	}
	if cmd.Err != nil {
		return fmt.Errorf("process: %s: %w", s.Name, cmd.Err)
	}
	blocks := strconv.FormatInt(s.keeper.File/512, 10)
	bound := exec.Command("/bin/sh", append([]string{"-c", limited, blocks, cmd.Path}, cmd.Args[1:]...)...)
	bound.Dir, bound.Env, bound.Stdout, bound.Stderr = cmd.Dir, cmd.Env, &s.Log, &s.Log
	if bound.Dir == "" {
		bound.Dir = s.Dir
	}
	bindRead, bindWrite, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("process: %s does not start: %w", s.Name, err)
	}
	defer bindWrite.Close()
	bound.Stdin = bindRead
	c, err := child.Start(bound)
	_ = bindRead.Close()
	if err == nil {
		_, err = bindWrite.WriteString("\n")
	}
	if err != nil {
		return fmt.Errorf("process: %s does not start: %w", s.Name, err)
	}
	s.child, s.incarnations = c, 1
	s.pid.Store(int64(c.Pid()))
	return nil
}

// Running reports whether the server was started and not ended by the supervisor.
func (s *Server) Running() bool { return s.child != nil && !s.idle }

// Pid returns the number of the server's process, or 0. It is safe for concurrent use.
func (s *Server) Pid() int { return int(s.pid.Load()) }

// probing is the interval of readiness checks.
const probing = 5 * time.Millisecond

// Await waits until the server is ready according to the function. It returns early, with the end of the log, if the
// server ends, or if the context does.
func (s *Server) Await(ctx context.Context, ready func(context.Context) bool) error {
	if !s.Running() {
		return fmt.Errorf("process: %s is not running", s.Name)
	}
	for !ready(ctx) {
		select {
		case <-s.child.Done():
			return s.check()
		case <-ctx.Done():
			return fmt.Errorf("process: %s is not ready: %w%s", s.Name, context.Cause(ctx), s.lastWords())
		case <-time.After(probing):
		}
	}
	return nil
}

// Kill ends the server at once, with all processes that it started, and waits until they have ended. With a
// ControlAddress the process stays, and only the server in it ends.
func (s *Server) Kill() {
	switch {
	case s.idle:
	case s.Running() && s.ControlAddress != "" && s.incarnations < maxIncarnations && order(s.ControlAddress, "stop"):
		s.idle = true
	default:
		s.end()
	}
}

// end ends the process, whether the server in it runs or not.
func (s *Server) end() {
	if s.child != nil {
		s.child.Kill()
	}
	s.child, s.idle = nil, false
	s.pid.Store(0)
}

// Stop requests the server to end, and kills it when the context ends.
func (s *Server) Stop(ctx context.Context) {
	if s.child == nil {
		return
	}
	s.child.Interrupt()
	select {
	case <-s.child.Done():
	case <-ctx.Done():
	}
	s.end()
}

// Pause suspends the server until Thaw. Its connections stay open, and it sends nothing.
func (s *Server) Pause() error { return s.child.Pause() }

// Thaw resumes a paused server.
func (s *Server) Thaw() error { return s.child.Thaw() }

// check reports that the server ended on its own, or takes too much memory.
func (s *Server) check() error {
	if !s.Running() {
		return nil
	}
	select {
	case <-s.child.Done():
		return fmt.Errorf("process: %s ended unexpectedly: %s%s", s.Name, s.child.Why(), s.lastWords())
	default:
	}
	if m := memory(s.Pid()); m > s.keeper.Memory {
		return fmt.Errorf("process: %s has %d MB in memory, allowed are %d", s.Name, m>>20, s.keeper.Memory>>20)
	}
	return nil
}

// lastLines is the number of log lines that an error quotes.
const lastLines = 12

func (s *Server) lastWords() string {
	lines := s.Log.Last(lastLines)
	if len(lines) == 0 {
		return ""
	}
	return "; the end of its log:\n\t" + strings.Join(lines, "\n\t")
}

// memory returns the memory of a process, or 0 if it is unknown.
func memory(pid int) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}
