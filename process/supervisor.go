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

// Supervisor keeps the servers of one deployment.
type Supervisor struct {
	// Address is a loopback address that is the deployment's own.
	Address string
	// Memory and File bound what one server may have in memory and in one file, in bytes.
	Memory, File int64

	folder  string
	locks   []net.Listener // hold the addresses
	port    int
	servers []*Server
}

// Bounds of a server that is not told others.
const (
	DefaultMemory = 1 << 30
	DefaultFile   = 256 << 20
)

// firstPort is where the ports of a deployment begin. They stay below those that the kernel
// gives to clients.
const firstPort = 20_000

// deployments counts those of this process.
var deployments atomic.Uint32

// NewSupervisor makes a supervisor whose servers live in folders below the one given. That
// folder goes when we are killed.
func NewSupervisor(folder string) (*Supervisor, error) {
	if err := child.Folder(folder); err != nil {
		return nil, err
	}
	s := &Supervisor{Memory: DefaultMemory, File: DefaultFile, folder: folder, port: firstPort}
	var err error
	s.Address, err = s.Another()
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Another gives out a further loopback address that is the deployment's own, for servers that must all have the same
// port.
func (s *Supervisor) Another() (string, error) {
	var err error
	for range 250 { // an address that somebody else holds is left alone
		host := address(os.Getpid(), int(deployments.Add(1)))
		var lock net.Listener
		if lock, err = net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(firstPort))); err == nil {
			s.locks = append(s.locks, lock)
			return host, nil
		}
	}
	return "", fmt.Errorf("process: no loopback address is free: %w", err)
}

// address is the one of a process's n-th deployment. All of 127.0.0.0/8 is the loopback.
func address(pid, n int) string {
	pid %= 254 * 256
	return fmt.Sprintf("127.%d.%d.%d", 1+pid/256, pid%256, 1+n%254)
}

// Port gives out a port of the deployment's address, as host:port. It gives none twice.
func (s *Supervisor) Port() string {
	s.port++
	return net.JoinHostPort(s.Address, strconv.Itoa(s.port))
}

// Server makes a server, which is not started, with a folder of that name.
func (s *Supervisor) Server(name string) (*Server, error) {
	v := &Server{Name: name, Folder: filepath.Join(s.folder, name), keeper: s}
	if err := os.MkdirAll(v.Folder, 0o755); err != nil {
		return nil, fmt.Errorf("process: no folder for %s: %w", name, err)
	}
	s.servers = append(s.servers, v)
	return v, nil
}

// Check reports a server that ended although nobody ended it, or that takes too much memory.
func (s *Supervisor) Check() error {
	for _, v := range s.servers {
		if err := v.check(); err != nil {
			return err
		}
	}
	return nil
}

// Close ends all servers and gives the addresses back. The folder is the caller's again.
func (s *Supervisor) Close() error {
	var all sync.WaitGroup
	for _, v := range s.servers {
		all.Go(v.end)
	}
	all.Wait()
	err := child.Keep(s.folder)
	for _, lock := range s.locks {
		err = errors.Join(err, lock.Close())
	}
	return err
}

// Server is a program that is started and ended, perhaps many times.
type Server struct {
	// Name is what it is called in reports.
	Name string
	// Folder is its own; it survives the process.
	Folder string
	// Log has what it wrote to its standard output and error.
	Log Log
	// Host is an address at which the server's process takes orders, where it can end the server
	// inside it and start it again: then Kill and Start do that, which spares the start of the process. An order is
	// a line, "stop" or "start", and is answered with "done". Where it is not, the process is killed.
	// Empty: the process is the server.
	Host string

	keeper *Supervisor
	child  *child.Child // nil: it was not started or was ended
	idle   bool         // the process runs and the server in it does not
	lives  int          // starts of the server in this process
	pid    atomic.Int64 // of the child, for links that ask who dials
}

// limited starts a program under bounds, when it is told to: were we killed before the guard
// knows of it, nobody would end it. A JVM wants more address space than memory, so that memory is
// looked at instead.
const limited = `read -r go || exit 1; ulimit -c 0; ulimit -f "$0"; exec "$@" </dev/null`

// Start starts the server with a command, in its folder unless the command names another.
func (v *Server) Start(cmd *exec.Cmd) error {
	if v.Running() {
		return fmt.Errorf("process: %s is running", v.Name)
	}
	if v.revive() {
		return nil
	}
	if cmd.Err != nil {
		return fmt.Errorf("process: %s: %w", v.Name, cmd.Err)
	}
	blocks := strconv.FormatInt(v.keeper.File/512, 10)
	bound := exec.Command("/bin/sh", append([]string{"-c", limited, blocks, cmd.Path}, cmd.Args[1:]...)...)
	bound.Dir, bound.Env, bound.Stdout, bound.Stderr = cmd.Dir, cmd.Env, &v.Log, &v.Log
	if bound.Dir == "" {
		bound.Dir = v.Folder
	}
	told, tell, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("process: %s does not start: %w", v.Name, err)
	}
	defer tell.Close()
	bound.Stdin = told
	c, err := child.Start(bound)
	_ = told.Close()
	if err == nil {
		_, err = tell.WriteString("\n")
	}
	if err != nil {
		return fmt.Errorf("process: %s does not start: %w", v.Name, err)
	}
	v.child, v.lives = c, 1
	v.pid.Store(int64(c.Pid()))
	return nil
}

// Running reports whether the server was started and not ended by us.
func (v *Server) Running() bool { return v.child != nil && !v.idle }

// Pid is the number of its process, or 0. It may be asked at any time.
func (v *Server) Pid() int { return int(v.pid.Load()) }

// probing is how often a server is asked whether it is ready.
const probing = 5 * time.Millisecond

// Await waits until the server is ready, as the function tells. It ends early, with the end of
// the log, where the server ends, or the context does.
func (v *Server) Await(ctx context.Context, ready func(context.Context) bool) error {
	if !v.Running() {
		return fmt.Errorf("process: %s is not running", v.Name)
	}
	for !ready(ctx) {
		select {
		case <-v.child.Done():
			return v.check()
		case <-ctx.Done():
			return fmt.Errorf("process: %s is not ready: %w%s", v.Name, context.Cause(ctx), v.lastWords())
		case <-time.After(probing):
		}
	}
	return nil
}

// Kill ends the server at once, with all that it started, and waits until it is gone. Where it
// has a Host, its process stays.
func (v *Server) Kill() {
	switch {
	case v.idle:
	case v.Running() && v.Host != "" && v.lives < maxLives && order(v.Host, "stop"):
		v.idle = true
	default:
		v.end()
	}
}

// end ends the process, whether the server in it runs or not.
func (v *Server) end() {
	if v.child != nil {
		v.child.Kill()
	}
	v.child, v.idle = nil, false
	v.pid.Store(0)
}

// Stop asks the server to end, and ends it when the context does.
func (v *Server) Stop(ctx context.Context) {
	if v.child == nil {
		return
	}
	v.child.Interrupt()
	select {
	case <-v.child.Done():
	case <-ctx.Done():
	}
	v.end()
}

// Pause stops the server where it is, until Thaw. It stays connected and says nothing.
func (v *Server) Pause() error { return v.child.Pause() }

// Thaw lets a paused server go on.
func (v *Server) Thaw() error { return v.child.Thaw() }

// check reports that the server ended by itself, or takes too much memory.
func (v *Server) check() error {
	if !v.Running() {
		return nil
	}
	select {
	case <-v.child.Done():
		return fmt.Errorf("process: %s ended by itself: %s%s", v.Name, v.child.Why(), v.lastWords())
	default:
	}
	if m := memory(v.Pid()); m > v.keeper.Memory {
		return fmt.Errorf("process: %s has %d MB in memory, allowed are %d", v.Name, m>>20, v.keeper.Memory>>20)
	}
	return nil
}

// lastLines is how many lines of a log an error quotes.
const lastLines = 12

func (v *Server) lastWords() string {
	lines := v.Log.Last(lastLines)
	if len(lines) == 0 {
		return ""
	}
	return "; the end of its log:\n\t" + strings.Join(lines, "\n\t")
}

// memory is what a process has in memory, or 0 where that is not known.
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
