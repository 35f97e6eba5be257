package process

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Jars has Maven fetch artefacts, given as group:artefact:version, with all that they need, and
// returns the files. One that ends in "!" comes without what it needs, for a jar that has everything in it. They are kept in the user's
// cache, so that it is done once.
func Jars(ctx context.Context, artefacts ...string) ([]string, error) {
	pom, err := pomOf(artefacts)
	if err != nil {
		return nil, err
	}
	folder, err := Cached(fmt.Sprintf("jars-%.6x", sha256.Sum256(pom)), func(folder string) error {
		return fetch(ctx, folder, pom)
	})
	if err != nil {
		return nil, fmt.Errorf("process: fetching %s: %w", strings.Join(artefacts, ", "), err)
	}
	return filepath.Glob(filepath.Join(folder, "*.jar"))
}

// Cached is a folder of that name in the user's cache, filled by a function where it is not
// there. What is half filled is never seen.
func Cached(name string, fill func(folder string) error) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no folder for what servers need: %w", err)
	}
	root := filepath.Join(cache, "lockstep", "servers")
	folder := filepath.Join(root, name)
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(root, "making-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	made := filepath.Join(work, name)
	if err := os.Mkdir(made, 0o755); err != nil {
		return "", err
	}
	if err := fill(made); err != nil {
		return "", err
	}
	if err := os.Rename(made, folder); err != nil {
		if _, there := os.Stat(folder); there != nil {
			return "", err
		} // somebody else was faster
	}
	return folder, nil
}

// plugin is the one that copies artefacts, in a version that is known to work.
const plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"

// fetch copies the jars that a pom asks for into a folder.
func fetch(ctx context.Context, folder string, pom []byte) error {
	maven, err := exec.LookPath("mvn")
	if err != nil {
		return errors.New("mvn is missing; `make setup` installs it")
	}
	file := filepath.Join(folder, "pom.xml")
	if err := os.WriteFile(file, pom, 0o644); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, maven, "-B", "-q", "-f", file, "-DoutputDirectory="+folder, "-DincludeScope=runtime", plugin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("mvn says: %s (%w)", complaint(out), err)
	}
	return nil
}

// complaint is what Maven says is wrong, without how to find out more.
func complaint(out []byte) string {
	var lines []string
	for line := range bytes.Lines(out) {
		text, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "[ERROR] ")
		if advice := strings.HasPrefix(text, "[Help") || strings.Contains(text, " switch"); ok && !advice {
			lines = append(lines, text)
		}
	}
	if len(lines) == 0 {
		return strings.TrimSpace(string(out))
	}
	return strings.Join(lines[:min(3, len(lines))], " ")
}

// pomOf is a project that needs nothing but the artefacts.
func pomOf(artefacts []string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(`<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>lockstep</groupId><artifactId>servers</artifactId><version>1</version><dependencies>
`)
	for _, a := range artefacts {
		name, alone := strings.CutSuffix(a, "!")
		parts := strings.Split(name, ":")
		if len(parts) != 3 || slices.Contains(parts, "") || strings.ContainsAny(a, "<>&\"' \n") {
			return nil, fmt.Errorf("process: %q is not group:artefact:version", a)
		}
		fmt.Fprintf(&b, "<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version>", parts[0], parts[1], parts[2])
		if alone {
			b.WriteString("<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>")
		}
		b.WriteString("</dependency>\n")
	}
	b.WriteString("</dependencies></project>\n")
	return b.Bytes(), nil
}
