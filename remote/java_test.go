package remote_test

import (
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/enginetest"
	"github.com/lockstep-go/lockstep/internal/testkit/outside"
)

// compiled compiles the Java client, its example and other files into a directory.
func compiled(t testing.TB, files ...string) (java, dir string) {
	t.Helper()
	compiler := outside.Program(t, "javac")
	dir = t.TempDir()
	arguments := append([]string{"--release", "11", "-d", dir}, files...)
	err := filepath.WalkDir("../clients/java/src/main", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".java") {
			arguments = append(arguments, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(compiler, arguments...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return outside.Program(t, "java"), dir
}

// The tester finds the bug of replicas in Java, and the finding is deterministic.
func TestJava(t *testing.T) {
	java, dir := compiled(t)
	system := processes("")
	system.Command = func(lockstep.Node, string) *exec.Cmd {
		return exec.Command(java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx64m", "-cp", dir,
			"io.github.lockstepgo.example.Election")
	}
	plan := lockstep.Plan{System: system, Spec: oneLeader, Strategy: crashes, Runs: 200, Steps: 60, Workers: 1}
	f := enginetest.First(t, plan)
	enginetest.FailsAgain(t, plan, f.Trace)
	t.Logf("run %d: %s", f.Run, f.Finding)
}
