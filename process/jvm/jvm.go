// Package jvm starts servers that are Java programs: it has Maven fetch them, compiles what a target adds to them, and
// keeps what their JVMs can share. Everything that is fetched or made is in the user's cache, under a hash of
// what it was made from.
//
// A [JVM] is a java command, a class path and flags. [Find] makes one of artefacts of Maven; [JVM.Compile] adds a class that a
// target brings, such as one that starts the server or an agent that looks into it; [JVM.Archive] spares each start a quarter
// of its time; [JVM.Command] is what a server is started with.
package jvm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// JVM is how Java programs are started.
type JVM struct {
	// Program is the java command.
	Program string
	// Classes is the class path: jars, in order.
	Classes []string
	// Flags are those of the target. They come after the usual ones, and so win.
	Flags []string

	temp    string // where the JVM puts temporary files; empty: where the machine has them
	archive string // of classes; empty: none
	dumps   bool   // the archive is made when the JVM ends
}

// usual are the flags of small servers that start often: little is compiled, little is collected, and memory is what a test
// machine has for several.
var usual = []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m", "-Xss512k", "-XX:-UsePerfData", "-Djava.net.preferIPv4Stack=true"}

// Find finds a JVM, and has Maven fetch what it is to run, with the SHA-256 of all files: see Jars.
func Find(ctx context.Context, sums string, artefacts ...string) (*JVM, error) {
	program, err := tool("java")
	if err != nil {
		return nil, fmt.Errorf("jvm: %w", err)
	}
	j := &JVM{Program: program}
	if len(artefacts) > 0 {
		j.Classes, err = Jars(ctx, sums, artefacts...)
	}
	return j, err
}

// tool is the path of a program of a JDK.
func tool(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s is missing: install a JDK, or run `make setup` in a checkout", name)
	}
	return path, nil
}

// In is the JVM with its temporary files in a directory, such as that of a server: a server that is killed leaves nothing elsewhere.
func (j *JVM) In(folder string) *JVM {
	in := *j
	in.temp = folder
	return &in
}

// Line is the java command with its flags and the class path: what stands before the name of a class and its arguments.
func (j *JVM) Line() []string {
	line := slices.Concat([]string{j.Program}, usual, j.Flags)
	if j.temp != "" {
		line = append(line, "-Djava.io.tmpdir="+j.temp)
	}
	switch {
	case j.dumps:
		line = append(line, "-XX:ArchiveClassesAtExit="+j.archive)
	case j.archive != "":
		line = append(line, "-XX:SharedArchiveFile="+j.archive, "-Xshare:auto")
	}
	if len(j.Classes) > 0 {
		line = append(line, "-cp", j.path())
	}
	return line
}

// Command starts a class with arguments.
func (j *JVM) Command(class string, arguments ...string) *exec.Cmd {
	line := append(append(j.Line(), class), arguments...)
	return exec.Command(line[0], line[1:]...)
}

// path is the class path as Java reads it.
func (j *JVM) path() string { return strings.Join(j.Classes, string(filepath.ListSeparator)) }

// release tells which JVM this is, and is empty where that is not known.
func (j *JVM) release() []byte {
	program, err := filepath.EvalSymlinks(j.Program)
	if err != nil {
		return nil
	}
	text, _ := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(program)), "release"))
	return text
}
