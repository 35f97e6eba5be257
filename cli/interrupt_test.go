package cli

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// interrupt N TEXT COMMAND...: the command is interrupted when it has printed a line with
// the text to standard error, and ends with exactly this exit status. What it prints goes to
// the files out and err.
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: interrupt N text command [args...]")
	}
	cmd := exec.Command(filepath.Join(ts.Getenv("BIN"), args[2]), args[3:]...)
	cmd.Dir = ts.Getenv("WORK")
	for _, name := range []string{"PATH", "HOME", "GOCACHE", "GOMODCACHE", "GOPROXY", "GONOSUMDB", "GOFLAGS", "XDG_CACHE_HOME", "TOY", "TMPDIR"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	var out, said bytes.Buffer
	cmd.Stdout = &out
	pipe, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	stop := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }) // a command that hangs fails the test
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), args[1]) {
			ts.Check(cmd.Process.Signal(os.Interrupt))
		}
	}
	err = cmd.Wait()
	stop.Stop()
	got := 0
	if exit, ok := err.(*exec.ExitError); ok {
		got = exit.ExitCode()
	}
	ts.Check(os.WriteFile(ts.MkAbs("out"), out.Bytes(), 0o666))
	ts.Check(os.WriteFile(ts.MkAbs("err"), said.Bytes(), 0o666))
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit status %d, want %s\n%s%s", got, args[0], out.String(), said.String())
	}
}
