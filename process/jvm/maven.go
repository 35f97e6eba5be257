package jvm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/process"
)

// Jars fetches artifacts, given as group:artifact:version, and their dependencies with Maven, and returns the files. An
// argument with a leading minus, as -group:artifact, excludes a dependency that is not needed here; -*:* excludes all
// dependencies, for jars that contain everything. The user's cache keeps the files, so that each is fetched once.
//
// Every jar must have the SHA-256 listed in sums: lines as sha256sum prints them, which a target embeds from its own
// file. Jars checks it after each fetch and before each use.
func Jars(ctx context.Context, sums string, artifacts ...string) ([]string, error) {
	pom, err := pomOf(artifacts)
	if err != nil {
		return nil, err
	}
	pinned, err := readSums(sums)
	if err != nil {
		return nil, err
	}
	dir, err := process.Cached(fmt.Sprintf("jars-%.6x", sha256.Sum256(pom)), func(dir string) error {
		process.Notify("fetching %s, once: it is kept in the user's cache", strings.Join(artifacts, ", "))
		if err := fetch(ctx, dir, pom); err != nil {
			return err
		}
		return pinned.check(dir)
	})
	if err == nil {
		err = pinned.check(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("jvm: fetching %s: %w", strings.Join(artifacts, ", "), err)
	}
	return filepath.Glob(filepath.Join(dir, "*.jar"))
}

// plugin copies artifacts, in a version that is known to work.
const plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"

// fetch copies the jars that a pom lists into a directory.
func fetch(ctx context.Context, dir string, pom []byte) error {
	maven, err := exec.LookPath("mvn")
	if err != nil {
		return errors.New("mvn is missing: install Maven, or run `make setup` in a checkout")
	}
	file := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(file, pom, 0o644); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, maven, "-B", "-q", "--strict-checksums", "-f", file, "-DoutputDirectory="+dir,
		"-DincludeScope=runtime", plugin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("mvn says: %s (%w)", complaint(out), err)
	}
	return nil
}

// complaint extracts Maven's error message, without its hints for further information.
func complaint(out []byte) string {
	var lines []string
	for line := range bytes.Lines(out) {
		_, text, ok := strings.Cut(strings.TrimSpace(string(line)), "[ERROR] ") // color codes may come before it
		advice := strings.HasPrefix(text, "[Help") || strings.HasPrefix(text, "For more information") ||
			strings.Contains(text, " switch")
		if ok && !advice && text != "" {
			lines = append(lines, words.Clean(text))
		}
	}
	if len(lines) == 0 {
		return words.Clean(strings.TrimSpace(string(out)))
	}
	return strings.Join(lines[:min(3, len(lines))], " ")
}

// artifact matches a required artifact with its version, or an excluded one.
var artifact = regexp.MustCompile(`^(?:([\w.-]+):([\w.-]+):([\w.-]+)|-(\*|[\w.-]+):(\*|[\w.-]+))$`)

// pomOf returns a project that depends on the artifacts alone.
func pomOf(artifacts []string) ([]byte, error) {
	var needed [][]string
	without := ""
	for _, a := range artifacts {
		m := artifact.FindStringSubmatch(a)
		switch {
		case m == nil || a[0] == '-' && m[4] == "":
			return nil, fmt.Errorf("jvm: %q is neither group:artifact:version nor -group:artifact", a)
		case m[4] != "":
			without += fmt.Sprintf("<exclusion><groupId>%s</groupId><artifactId>%s</artifactId></exclusion>", m[4],
				m[5])
		default:
			needed = append(needed, m)
		}
	}
	if without != "" {
		without = "<exclusions>" + without + "</exclusions>"
	}
	var b bytes.Buffer
	b.WriteString(`<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>lockstep</groupId><artifactId>servers</artifactId><version>1</version><dependencies>
`)
	for _, m := range needed {
		fmt.Fprintf(&b,
			"<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version>%s</dependency>\n", m[1],
			m[2], m[3], without)
	}
	b.WriteString("</dependencies></project>\n")
	return b.Bytes(), nil
}
