//go:build unix

package child

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/processes"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

const motherVariable = "LOCKSTEP_CHILD_MOTHER"

// TestMain also acts as the mother: a program that starts children and is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(motherVariable); dir != "" {
		mother(dir)
	}
	os.Exit(m.Run())
}

func mother(dir string) {
	if err := Dir(dir); err != nil {
		panic(err)
	}
	ended, err := Start(exec.Command("/bin/true"))
	if err != nil {
		panic(err)
	}
	<-ended.Done()
	for range 3 { // each with its own child
		c, err := Start(exec.Command("/bin/sh", "-c", "sleep 1000 & sleep 1000"))
		if err != nil {
			panic(err)
		}
		fmt.Println(c.Pid())
	}
	fmt.Println("up")
	select {}
}

// gone waits until no process of a group is left, without a timeout.
func gone(group int) { processes.Until(func() bool { return syscall.Kill(-group, 0) != nil }) }

// A program killed with -9 leaves no children, no processes of theirs and no directory.
func TestKilledMother(t *testing.T) {
	tier.NotShort(t)
	dir := filepath.Join(t.TempDir(), "a directory's name")
	if err := os.MkdirAll(filepath.Join(dir, "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	program := processes.Begin(t, motherVariable+"="+dir)
	var groups []int
	for line := program.Line(); line != "up"; line = program.Line() {
		group, err := strconv.Atoi(line)
		if err != nil {
			t.Fatal(err)
		}
		groups = append(groups, group)
	}
	if len(groups) != 3 {
		t.Fatalf("groups %v", groups)
	}
	for _, g := range groups {
		if err := syscall.Kill(-g, 0); err != nil {
			t.Errorf("group %d: %v", g, err)
		}
	}
	program.Kill()
	for _, g := range groups {
		gone(g)
	}
	processes.Until(func() bool {
		_, err := os.Stat(dir)
		return os.IsNotExist(err)
	})
}

func TestKill(t *testing.T) {
	tier.NotShort(t)
	c, err := Start(exec.Command("/bin/sh", "-c", "echo begun; echo trouble >&2; sleep 1000 & sleep 1000"))
	if err != nil {
		t.Fatal(err)
	}
	processes.Until(func() bool { return strings.Contains(c.Tail(), "trouble") })
	if err := c.Pause(); err != nil {
		t.Error(err)
	}
	if err := c.Thaw(); err != nil {
		t.Error(err)
	}
	c.Kill()
	c.Kill() // a second call is harmless
	gone(c.Pid())
	if c.Why() != "signal: killed" || !strings.Contains(c.Tail(), "begun") {
		t.Errorf("%q, %q", c.Why(), c.Tail())
	}
}

// A child that ends on its own takes its own child processes with it.
func TestOrphans(t *testing.T) {
	tier.NotShort(t)
	c, err := Start(exec.Command("/bin/sh", "-c", "sleep 1000 >/dev/null 2>&1 & exit 3"))
	if err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	gone(c.Pid())
	if c.Why() != "exit status 3" {
		t.Errorf("%q", c.Why())
	}
}

func TestTail(t *testing.T) {
	var l tail
	for i := range 10_000 {
		fmt.Fprintf(&l, "line %d\n", i)
	}
	if s := l.String(); len(s) != tailBytes || !strings.HasSuffix(s, "line 9999\n") {
		t.Errorf("%d bytes, %q", len(s), s[len(s)-30:])
	}
}

func TestUnknownProgram(t *testing.T) {
	if _, err := Start(exec.Command("/no/such/program")); err == nil ||
		!strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("%v", err)
	}
	if err := Dir("a\nb"); err == nil {
		t.Error("a line feed was taken")
	}
	if err := Keep("never kept"); err != nil {
		t.Error(err)
	}
}

// A child reads its input, and the test reads its answers. Both streams end with the child.
func TestSpeak(t *testing.T) {
	c, err := Speak(exec.Command("/bin/sh", "-c", "read line; echo \"you said $line\"; read more"))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(c.In, "hello")
	answer, err := bufio.NewReader(c.Out).ReadString('\n')
	if err != nil || answer != "you said hello\n" {
		t.Errorf("%q, %v", answer, err)
	}
	c.Kill()
	if _, err := c.In.WriteString("x"); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	if _, err := Speak(exec.Command("/no/such/program")); err == nil {
		t.Error("an unknown program speaks")
	}
}
