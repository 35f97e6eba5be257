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

// Self is the command of this test's own program with more in its environment, like "NAME=value",
// by which its TestMain sees that it is to be something else.
func Self(environment ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), environment...)
	return cmd
}

// Victim is this test's own program as another one that will be killed.
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

// Line is the next line that the program prints, or "" after its last.
func (v *Victim) Line() string {
	v.lines.Scan()
	return v.lines.Text()
}

// Kill kills it as kill -9 does, if it is alive, and waits for its end.
func (v *Victim) Kill() {
	_ = v.cmd.Process.Kill()
	_ = v.cmd.Wait()
}

// Ask sends a line to a server at an address and reads its answer, a line too.
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

// Until waits for something that other processes do, as long as the test may take.
func Until(is func() bool) {
	for !is() {
		time.Sleep(time.Millisecond)
	}
}
