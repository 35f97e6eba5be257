package jvm_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/internal/testkit/shown"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/process/jvm"
)

// The tests use a separate cache.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "jvm-*")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	_, _ = os.Setenv("XDG_CACHE_HOME", dir), os.Setenv("HOME", dir)
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// found returns a JVM with a program in a package.
func found(t *testing.T) *jvm.JVM {
	t.Helper()
	outside.Programs(t, "java", "javac")
	j, err := jvm.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	jar, err := j.Compile(t.Context(), "greeting", "", files(
		"p/Greeting.java",
		`package p; public class Greeting { public static void main(String[] a) { System.out.println("Grüße, " + a[0] + System.getProperty("end", "")); } }`,
	))
	if err != nil {
		t.Fatal(err)
	}
	if len(j.Classes) != 1 || j.Classes[0] != jar {
		t.Errorf("the class path is %v, and not %s", j.Classes, jar)
	}
	return j
}

func files(name, text string) fstest.MapFS { return fstest.MapFS{name: {Data: []byte(text)}} }

// run returns the output of a program.
func run(t *testing.T, j *jvm.JVM, class string, arguments ...string) string {
	t.Helper()
	out, err := j.Command(class, arguments...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// Compiled code runs with the flags of the target, and finds classes that were compiled before it.
func TestCompile(t *testing.T) {
	tier.NotShort(t)
	j := found(t)
	j.Flags = []string{"-Dend=!", "-Dfile.encoding=UTF-8", "-Xmx96m"}
	if got := run(t, j, "p.Greeting", "you"); got != "Grüße, you!\n" {
		t.Errorf("%q", got)
	}
	_, err := j.Compile(t.Context(), "second", "", files(
		"Second.java",
		`public class Second { public static void main(String[] a) { p.Greeting.main(a); System.out.println(Runtime.getRuntime().maxMemory() >> 20 < 100); } }`,
	))
	if err != nil {
		t.Fatal(err)
	}
	if got := run(t, j, "Second", "all"); got != "Grüße, all!\ntrue\n" {
		t.Errorf("%q", got)
	}
}

// An agent begins before the program.
func TestAgent(t *testing.T) {
	tier.NotShort(t)
	j := found(t)
	agent, err := j.Compile(t.Context(), "agent", "Agent", files(
		"Agent.java",
		`public class Agent { public static void premain(String a, java.lang.instrument.Instrumentation i) { System.setProperty("end", a); } }`,
	))
	if err != nil {
		t.Fatal(err)
	}
	j.Flags = []string{"-Dfile.encoding=UTF-8", "-javaagent:" + agent + "=?"}
	if got := run(t, j, "p.Greeting", "you"); got != "Grüße, you?\n" {
		t.Errorf("%q", got)
	}
}

// A finished archive is found again, and provides classes, even if other classes are compiled later.
func TestArchive(t *testing.T) {
	tier.NotShort(t)
	j := found(t)
	trained := 0
	train := func(dumping *jvm.JVM) error {
		trained++
		run(t, dumping, "p.Greeting", "you")
		return nil
	}
	again := *j
	for _, j := range []*jvm.JVM{j, &again} {
		if err := j.Archive("greeting", train); err != nil {
			t.Fatal(err)
		}
		if _, err := j.Compile(t.Context(), "later", "", files("Later.java", `class Later {}`)); err != nil {
			t.Fatal(err)
		}
		j.Flags = []string{"-Xlog:class+load"}
		shared := false
		for line := range strings.Lines(run(t, j, "p.Greeting", "you")) {
			shared = shared || strings.Contains(line, "p.Greeting source: shared objects file")
		}
		if !shared {
			t.Error("the class does not come from an archive")
		}
	}
	if trained != 1 {
		t.Errorf("trained %d times", trained)
	}
	other := *j
	if err := other.Archive("nothing", func(*jvm.JVM) error { return nil }); err == nil {
		t.Error("an archive that does not exist was found")
	}
}

// A killed server leaves its temporary files in the directory assigned to it.
func TestIn(t *testing.T) {
	tier.NotShort(t)
	j := found(t)
	if _, err := j.Compile(t.Context(), "temp", "", files("Temp.java",
		`public class Temp { public static void main(String[] a) throws Exception { System.out.print(java.io.File.createTempFile("left", ".so").getAbsolutePath()); } }`)); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if got := run(t, j.In(dir), "Temp"); filepath.Dir(got) != dir {
		t.Errorf("%s is not in %s", got, dir)
	}
}

// Errors name the problem: those of javac with the name of the file, and missing inputs.
func TestErrors(t *testing.T) {
	tier.NotShort(t)
	j := found(t)
	_, err := j.Compile(t.Context(), "wrong", "", files("Wrong.java", "class Wrong { x }"))
	if err == nil || !strings.HasPrefix(err.Error(), "jvm: compiling wrong: javac says: 0/Wrong.java:1: error:") {
		t.Errorf("%v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := jvm.Find(t.Context(), ""); err == nil ||
		err.Error() != "jvm: java is missing: install a JDK, or run `make setup` in a checkout" {
		t.Errorf("%v", err)
	}
	for _, pattern := range []string{"wrong-*", "*making-*"} {
		if left, err := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "lockstep", "servers",
			pattern)); err != nil ||
			len(left) != 0 {
			t.Errorf("what failed left %v, %v", left, err)
		}
	}
}

func ExampleJars() {
	_, err := jvm.Jars(context.Background(), "", "zookeeper")
	fmt.Println(err)
	// Output: jvm: "zookeeper" is neither group:artifact:version nor -group:artifact
}

func ExampleJVM_Line() {
	j := jvm.JVM{Program: "java", Classes: []string{"server.jar"}, Flags: []string{"-Xmx1g"}}
	line := j.Line()
	fmt.Println(line[0], line[len(line)-3:])
	fmt.Println(j.Command("Server", "--port", "1").Args[len(line):])
	// Output:
	// java [-Xmx1g -cp server.jar]
	// [Server --port 1]
}

func ExampleJVM_In() {
	j := jvm.JVM{Program: "java"}
	line := j.In("/scratch/node1").Line()
	fmt.Println(line[len(line)-1])
	// Output: -Djava.io.tmpdir=/scratch/node1
}

func ExampleSums() {
	_, err := jvm.Sums(context.Background(), "zookeeper")
	fmt.Println(err)
	// Output: jvm: "zookeeper" is neither group:artifact:version nor -group:artifact
}

func ExampleFind() {
	ctx := context.Background()
	// a target embeds a file of these
	const jars = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae  server-1.0.jar\n"
	j, err := jvm.Find(ctx, jars, "org.example:server:1.0") // needs java and Maven
	if err != nil {
		return
	}
	// This class starts the server, and a first start creates an archive of its classes.
	if _, err := j.Compile(ctx, "launcher", "", os.DirFS("java")); err != nil {
		return
	}
	_ = j.Archive("server-1.0", func(training *jvm.JVM) error { return training.Command("Launcher", "--once").Run() })
	fmt.Println(j.Command("Launcher"))
}

func TestShown(t *testing.T) { shown.Verbs(t, ".") }
