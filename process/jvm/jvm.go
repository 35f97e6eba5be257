// Package jvm starts servers that are Java programs. It fetches them with Maven, compiles what a target adds to them,
// and keeps what their JVMs can share. Everything that it fetches or builds is in the user's cache, under a hash of its
// inputs.
//
// A [JVM] is a java command, a class path and flags. [Find] creates one from Maven artifacts. [JVM.Compile] adds a
// class that a target provides, such as a launcher of the server or an agent that inspects it. [JVM.Archive] saves a
// quarter of each startup. [JVM.Command] is the command that starts a server.
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

// JVM describes how Java programs start.
type JVM struct {
	// Program is the java command.
	Program string
	// Classes is the class path: jars, in order.
	Classes []string
	// Flags are the target's flags. They follow the default ones, and so take precedence.
	Flags []string

	temp    string // directory of the JVM's temporary files; empty: the system's
	archive string // of classes; empty: none
	dumps   bool   // the JVM writes the archive when it ends
}

// usual are the flags for small servers that start often. They limit compilation, garbage collection and memory, so
// that a test machine can run several servers.
var usual = []string{
	"-XX:TieredStopAtLevel=1",
	"-XX:+UseSerialGC",
	"-Xmx128m",
	"-Xss512k",
	"-XX:-UsePerfData",
	"-Djava.net.preferIPv4Stack=true",
}

// Find locates a JVM, and fetches the artifacts with Maven. It checks the SHA-256 of all files: see Jars.
func Find(ctx context.Context, sums string, artifacts ...string) (*JVM, error) {
	program, err := tool("java")
	if err != nil {
		return nil, fmt.Errorf("jvm: %w", err)
	}
	j := &JVM{Program: program}
	if len(artifacts) > 0 {
		j.Classes, err = Jars(ctx, sums, artifacts...)
	}
	return j, err
}

// tool returns the path of a JDK program.
func tool(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s is missing: install a JDK, or run `make setup` in a checkout", name)
	}
	return path, nil
}

// In returns the JVM with its temporary files in a directory, such as that of a server. A server that is killed then
// leaves nothing elsewhere.
func (j *JVM) In(dir string) *JVM {
	in := *j
	in.temp = dir
	return &in
}

// Line returns the java command with its flags and the class path: the part before the class name and its arguments.
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

// Command returns the command that runs a class with arguments.
func (j *JVM) Command(class string, arguments ...string) *exec.Cmd {
	line := append(append(j.Line(), class), arguments...)
	return exec.Command(line[0], line[1:]...)
}

// path returns the class path as Java reads it.
func (j *JVM) path() string { return strings.Join(j.Classes, string(filepath.ListSeparator)) }

// release returns the JVM's release information, or nothing if it is unknown.
func (j *JVM) release() []byte {
	program, err := filepath.EvalSymlinks(j.Program)
	if err != nil {
		return nil
	}
	text, _ := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(program)), "release"))
	return text
}
