//go:build linux && !lockstep_overlay

package sockettest_test

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The rows wait, so that many of them run at once.
func TestMain(m *testing.M) {
	flag.Parse()
	must(0, flag.Set("test.parallel", "16"))
	os.Exit(m.Run())
}

// TestLinux checks every row on Linux.
func TestLinux(t *testing.T) {
	for _, g := range table {
		for _, r := range g.rows {
			t.Run(g.name+"/"+r.does, func(t *testing.T) {
				if r.reference != "" {
					t.Skip("no test can ask Linux: " + r.reference)
				}
				t.Parallel()
				got := onLinux(t, r, soon)
				if got != r.linux { // a loaded machine may be slow: give it much more time
					got = onLinux(t, r, 20*soon)
				}
				if got != r.linux {
					t.Errorf("Linux: %s\n want: %s", got, r.linux)
				}
			})
		}
	}
}

// onLinux runs a row on the loopback interface, where data arrives soon enough.
func onLinux(t *testing.T, r row, soon time.Duration) string {
	dir, err := os.MkdirTemp("", "sock") // paths of unix sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	self := &host{ip: "127.0.0.1", dir: dir, do: func(f func()) { f() }}
	p := &probe{soon: soon, server: self, client: self}
	p.peer = func() (*net.TCPConn, func()) { return process(t, soon) }
	p.silence = p.deafen
	defer p.end()
	r.do(p)
	return strings.Join(p.observed, "; ")
}

// deafen makes a socket ignore all that arrives, by a filter that accepts nothing.
func (p *probe) deafen(end syscall.Conn) {
	err := p.control(end, func(fd int) error {
		nothing := syscall.LsfStmt(syscall.BPF_RET+syscall.BPF_K, 0) //nolint:staticcheck // without x/sys
		return syscall.AttachLsf(fd, []syscall.SockFilter{*nothing}) //nolint:staticcheck // without x/sys
	})
	must(0, err)
}

// environment is the variable that makes the test program the process at the other end.
const environment = "LOCKSTEP_SOCKETTEST_PEER"

// process connects to a process that reads nothing.
func process(t *testing.T, soon time.Duration) (*net.TCPConn, func()) {
	c := exec.CommandContext(t.Context(), must(os.Executable()), "-test.run=^TestPeer$")
	c.Env = append(os.Environ(), environment+"=1")
	out := must(c.StdoutPipe())
	must(0, c.Start())
	line := must(bufio.NewReader(out).ReadString('\n'))
	conn := must(net.Dial("tcp", strings.TrimSpace(line))).(*net.TCPConn)
	time.Sleep(soon) // time for the process to accept
	return conn, func() {
		_ = c.Process.Kill()
		_, _ = io.Copy(io.Discard, out)
		_ = c.Wait()
	}
}

// TestPeer is the process at the other end.
func TestPeer(t *testing.T) {
	if os.Getenv(environment) == "" {
		t.Skip("it is for other tests")
	}
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	fmt.Println(l.Addr())
	c := must(l.Accept())
	time.Sleep(time.Minute)
	_ = c.Close()
}
