package processes

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Self returns the command of this test's own program with more environment variables, like "NAME=value". They make its
// TestMain act as another program.
func Self(environment ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), environment...)
	return cmd
}

// Victim is this test's own program, acting as another one that the test kills.
type Victim struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

// Begin starts the program, see [Self].
func Begin(t testing.TB, environment ...string) *Victim {
	t.Helper()
	cmd := Self(environment...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	v := &Victim{cmd: cmd, lines: bufio.NewScanner(out)}
	t.Cleanup(v.Kill)
	return v
}

// Line returns the next line that the program prints, or "" after its last.
func (v *Victim) Line() string {
	v.lines.Scan()
	return v.lines.Text()
}

// Kill kills the program as kill -9 does, if it is running, and waits for its end.
func (v *Victim) Kill() {
	_ = v.cmd.Process.Kill()
	_ = v.cmd.Wait()
}

// Ask sends a line to a server at an address and reads its answer, which is also a line.
func Ask(ctx context.Context, address, line string) (string, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := fmt.Fprintln(conn, line); err != nil {
		return "", err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSuffix(answer, "\n"), err
}

// Until waits for a condition that other processes bring about, with the test's own timeout.
func Until(is func() bool) {
	for !is() {
		time.Sleep(time.Millisecond)
	}
}
