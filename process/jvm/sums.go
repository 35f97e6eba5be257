package jvm

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/lockstep-go/lockstep/internal/words"
)

// sums maps the names of jars to their SHA-256. A name includes the version, so that one list serves several versions
// of a target.
type sums map[string]string

// sumLine matches a line of a checksum list.
var sumLine = regexp.MustCompile(`^([0-9a-f]{64})  ([\w.+-]+\.jar)$`)

// readSums parses a checksum list.
func readSums(text string) (sums, error) {
	s := sums{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		m := sumLine.FindStringSubmatch(lines.Text())
		if m == nil {
			return nil, fmt.Errorf(
				"jvm: line %d of the SHA-256 sums is %.100q, it must be a sum, two blanks and the name of a jar", n,
				lines.Text())
		}
		if known, ok := s[m[2]]; ok && known != m[1] {
			return nil, fmt.Errorf("jvm: line %d of the SHA-256 sums has a second sum for %s", n, m[2])
		}
		s[m[2]] = m[1]
	}
	return s, lines.Err()
}

// check reports the jars of a directory that differ from the list.
func (s sums) check(dir string) error {
	jars, err := filepath.Glob(filepath.Join(dir, "*.jar"))
	if err != nil {
		return err
	}
	if len(jars) == 0 {
		return fmt.Errorf("%s has no jars", dir)
	}
	var wrong []error
	var unknown []string
	for _, jar := range jars {
		name := filepath.Base(jar)
		got, err := sumOf(jar)
		switch want, known := s[name]; {
		case err != nil:
			wrong = append(wrong, err)
		case !known:
			unknown = append(unknown, name)
		case got != want:
			wrong = append(
				wrong,
				fmt.Errorf(
					"%s has the SHA-256 %s, the jars.sha256 of the target says %s: it was changed on its way or in %s",
					name, got, want, dir),
			)
		}
	}
	if len(unknown) > 0 {
		wrong = append(
			wrong,
			fmt.Errorf(
				"%s not pinned: the jars.sha256 of the target has no SHA-256 for %s, and only versions that it lists can be used",
				words.Were(len(unknown), "jar"),
				strings.Join(unknown, ", "),
			),
		)
	}
	return errors.Join(wrong...)
}

// sumOf returns the SHA-256 of a file.
func sumOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Sums fetches artifacts as Jars does, without a check, and returns the lines that pin them. Use it to add a version to
// a target, after a review of its dependencies.
func Sums(ctx context.Context, artifacts ...string) ([]string, error) {
	pom, err := pomOf(artifacts)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "lockstep-sums-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := fetch(ctx, dir, pom); err != nil {
		return nil, fmt.Errorf("jvm: fetching %s: %w", strings.Join(artifacts, ", "), err)
	}
	jars, err := filepath.Glob(filepath.Join(dir, "*.jar"))
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, jar := range jars {
		sum, err := sumOf(jar)
		if err != nil {
			return nil, err
		}
		lines = append(lines, sum+"  "+filepath.Base(jar))
	}
	return lines, nil
}
