package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// run runs the go command and returns its output, even if it fails. An error has the first lines of the go command's
// error output.
func (j *job) run(ctx context.Context, args ...string) (printed string, err error) {
	tool, env := j.goCommand(), os.Environ()
	if j.alone { // a workspace does not accept a separate go.mod
		env = append(withoutModuleFlags(env), "GOWORK=off")
	}
	if j.tool != nil {
		tool, env = j.tool.Command(), j.tool.Environment(env)
	}
	cmd := exec.Command(tool, args...)
	cmd.Dir = j.source
	env = append(env, "GOTMPDIR="+j.work) // the files of a killed go command are removed with the job
	cmd.Env = env
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	if err = runCommand(ctx, cmd); err != nil {
		err = complaint(failed.String(), err)
	}
	return strings.TrimSpace(out.String()), err
}

// withoutModuleFlags returns an environment in which GOFLAGS neither selects a go.mod nor sets how it is used.
func withoutModuleFlags(env []string) []string {
	env = slices.Clone(env)
	for i, v := range env {
		flags, ok := strings.CutPrefix(v, "GOFLAGS=")
		if !ok {
			continue
		}
		rest := slices.DeleteFunc(strings.Fields(flags), func(flag string) bool {
			name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
			return name == "mod" || name == "modfile"
		})
		env[i] = "GOFLAGS=" + strings.Join(rest, " ")
	}
	return env
}

// messages is the number of lines of the go command's error output that are shown.
const messages = 5

// older matches the go command's error for a module that needs a later version of Go, and unreachable its error if the
// module proxy cannot be reached.
var (
	older       = regexp.MustCompile(`requires go >= (\S+) \(running go ([^;)]+)`)
	unreachable = regexp.MustCompile(
		`dial tcp|no such host|connection refused|i/o timeout|disabled by GOPROXY=off|TLS handshake|network is unreachable`,
	)
)

// complaint returns an error with the go command's output before it failed.
func complaint(text string, err error) error {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "go: downloading ") {
			continue
		}
		lines = append(lines, line)
	}
	for _, line := range lines {
		if m := older.FindStringSubmatch(line); m != nil {
			return fmt.Errorf("it needs Go %s or later, and the go command is of Go %s", m[1], m[2])
		}
		if unreachable.MatchString(line) {
			return fmt.Errorf("it needs modules that are not in the module cache and cannot be fetched: %s", line)
		}
	}
	if len(lines) == 0 {
		return err
	}
	if len(lines) > messages {
		lines = append(lines[:messages], fmt.Sprintf("and %d lines more", len(lines)-messages))
	}
	return errors.New(strings.Join(lines, "; "))
}
