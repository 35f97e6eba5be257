package processes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/processes"
)

func TestSame(t *testing.T) {
	processes.Same(t, func(int) []string { return []string{"always", "the same"} })
}

// The comparison detects a difference: the test fails in a separate process.
func TestDiffers(t *testing.T) {
	if os.Getenv("LOCKSTEP_DIFFER") == "" {
		t.Setenv("LOCKSTEP_DIFFER", "1")
		if processes.Passes(t) {
			t.Error("processes that differ pass for the same")
		}
		return
	}
	processes.Same(t, func(process int) []string { return []string{fmt.Sprint(process)} })
}

const victim = "LOCKSTEP_PROCESSES_VICTIM"

func TestMain(m *testing.M) {
	if dir := os.Getenv(victim); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "here"), nil, 0o644); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("one")
		fmt.Println("two")
		select {}
	}
	os.Exit(m.Run())
}

// The test reads a program's output line by line until it kills the program. A second kill has no effect.
func TestVictim(t *testing.T) {
	dir := t.TempDir()
	v := processes.Begin(t, victim+"="+dir)
	processes.Until(func() bool {
		_, err := os.Stat(filepath.Join(dir, "here"))
		return err == nil
	})
	first := v.Line()
	second := v.Line()
	v.Kill()
	v.Kill()
	if last := v.Line(); first != "one" || second != "two" || last != "" {
		t.Errorf("it says %q, %q, %q", first, second, last)
	}
}
