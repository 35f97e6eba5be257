package process

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/processes"
)

const hostVariable = "LOCKSTEP_PROCESS_HOST"

// hostEchoes is a process that hosts a server, which answers "echo X" with X. It starts and ends the server on command.
// After an "echo stubborn" it ignores commands.
func hostEchoes(orders, address string) {
	control, err := net.Listen("tcp", orders)
	if err != nil {
		os.Exit(1)
	}
	stubborn := false
	var server net.Listener
	start := func() {
		if server, err = net.Listen("tcp", address); err != nil {
			os.Exit(1)
		}
		go func(l net.Listener) {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					text, _ := strings.CutPrefix(lines.Text(), "echo ")
					stubborn = stubborn || text == "stubborn"
					fmt.Fprintln(conn, text)
				}
				conn.Close()
			}
		}(server)
	}
	for start(); ; {
		conn, err := control.Accept()
		if err != nil {
			os.Exit(1)
		}
		line, _ := bufio.NewReader(conn).ReadString('\n')
		switch {
		case stubborn:
			fmt.Fprintln(conn, "no")
		case line == "stop\n":
			server.Close()
			fmt.Fprintln(conn, "done")
		case line == "start\n":
			start()
			fmt.Fprintln(conn, "done")
		}
		conn.Close()
	}
}

// hosted creates a running server that is started and ended inside its process.
func hosted(t *testing.T) (s *Supervisor, v *Server, address string, again func() *exec.Cmd) {
	t.Helper()
	s, v, address = supervised(t)
	v.Kill()
	v.ControlAddress = s.Port()
	again = func() *exec.Cmd {
		cmd := command(address)
		cmd.Env = append(cmd.Env, hostVariable+"="+v.ControlAddress)
		return cmd
	}
	restart(t, v, address, again())
	return s, v, address, again
}

func restart(t *testing.T, v *Server, address string, cmd *exec.Cmd) {
	t.Helper()
	if err := v.Start(cmd); err != nil {
		t.Fatal(err)
	}
	if err := v.Await(t.Context(), echoes(address)); err != nil {
		t.Fatal(err)
	}
}

// processExists reports whether a process exists.
func processExists(pid int) bool { return syscall.Kill(pid, 0) == nil }

// A server with a host ends and starts inside its process, which stays. If the host does not obey, the process ends.
func TestHost(t *testing.T) {
	s, v, address, again := hosted(t)
	pid := v.Pid()
	for range 3 {
		v.Kill()
		if v.Running() || !processExists(pid) || echoes(address)(t.Context()) || s.Check() != nil {
			t.Fatalf("killed: running %v, its process exists: %v, %v", v.Running(), processExists(pid), s.Check())
		}
		v.Kill() // killing repeatedly is harmless
		if err := v.Await(t.Context(), echoes(address)); err == nil {
			t.Error("one waits for a server that does not run")
		}
		restart(t, v, address, again())
		if v.Pid() != pid {
			t.Fatalf("process %d took the place of %d", v.Pid(), pid)
		}
	}
	if answer, err := processes.Ask(t.Context(), address, "echo stubborn"); answer != "stubborn" || err != nil {
		t.Fatal(answer, err)
	}
	v.Kill()
	if v.Running() || processExists(pid) {
		t.Error("a host that does not obey lives on")
	}
	restart(t, v, address, again())
	if v.Pid() == pid {
		t.Error("there is no fresh process")
	}
	pid, v.incarnations = v.Pid(), maxIncarnations
	v.Kill()
	if processExists(pid) {
		t.Error("a process that is old enough lives on")
	}
}

// If a host exits after its server was ended, a new one replaces it.
func TestHostIsGone(t *testing.T) {
	_, v, address, again := hosted(t)
	pid := v.Pid()
	v.Kill()
	v.child.Kill()
	restart(t, v, address, again())
	if v.Pid() == pid {
		t.Error("the dead process serves")
	}
}

// Close ends the processes of running servers, and of those whose server was ended in-process.
func TestCloseKills(t *testing.T) {
	for name, idle := range map[string]bool{"running": false, "ended inside": true} {
		t.Run(name, func(t *testing.T) {
			s, err := NewSupervisor(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			v, err := s.Server("one")
			if err != nil {
				t.Fatal(err)
			}
			address := s.Port()
			v.ControlAddress = s.Port()
			cmd := command(address)
			cmd.Env = append(cmd.Env, hostVariable+"="+v.ControlAddress)
			restart(t, v, address, cmd)
			pid := v.Pid()
			if idle {
				v.Kill()
			}
			if !processExists(pid) {
				t.Fatal("it does not live")
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if processExists(pid) {
				t.Error("closed, but its process lives on")
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		})
	}
}
