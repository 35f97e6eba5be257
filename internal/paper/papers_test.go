package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/internal/testkit/golden"
)

// allowed is the CPU time for all tables at a small size.
const allowed = 10 * time.Minute

// stored is a table at a small size, as testdata/papers has it: lines of comment, of which those with "varies" name
// patterns of text that differs from run to run, the command, and its output.
type stored struct {
	comments []string
	varies   []*regexp.Regexp
	command  string
	want     string
}

// parseStored reads a file of testdata/papers.
func parseStored(text string) (s stored, err error) {
	for line := range strings.Lines(text) {
		if s.command != "" {
			s.want += line
			continue
		}
		line = strings.TrimSuffix(line, "\n")
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			s.command = command
			continue
		}
		s.comments = append(s.comments, line)
		if pattern, ok := strings.CutPrefix(line, "# varies: "); ok {
			r, err := regexp.Compile(pattern)
			if err != nil {
				return s, err
			}
			s.varies = append(s.varies, r)
		}
	}
	if !strings.HasPrefix(s.command, "lockstep ") {
		err = errors.New("there is no command of lockstep")
	}
	return s, err
}

// masked replaces what varies.
func (s stored) masked(text string) string {
	for _, r := range s.varies {
		text = r.ReplaceAllString(text, "…")
	}
	return text
}

// Every table is measured at a small size and compared with the stored one. LOCKSTEP_PAPERS names the lockstep
// command that makes them; `make papers` sets it. With -rewrite the tables are stored.
func TestPapers(t *testing.T) {
	program := os.Getenv("LOCKSTEP_PAPERS")
	if program == "" {
		t.Skip("make papers runs it")
	}
	files, err := filepath.Glob("testdata/papers/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var total time.Duration
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s, err := parseStored(string(text))
			if err != nil {
				t.Fatal(err)
			}
			args := strings.Fields(s.command)
			cmd := exec.CommandContext(t.Context(), program, args[1:]...)
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			var exit *exec.ExitError
			if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) { // small samples may differ from the paper
				t.Fatalf("%s: %v", s.command, err)
			}
			took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			total += took
			t.Logf("%s: %.0f s of CPU time", s.command, took.Seconds())
			if got := s.masked(string(out)); golden.Rewrite() {
				lines := append(s.comments, "$ "+s.command)
				if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if want := s.masked(s.want); got != want {
				t.Errorf("%s: got\n%s\nstored is\n%s", s.command, got, want)
			}
		})
	}
	if t.Logf("%.0f s of CPU time in all", total.Seconds()); total > allowed {
		t.Errorf("the tables take %s of CPU time, allowed are %s", total, allowed)
	}
}

// The stored tables are well formed and none is empty, and every command of the papers has one.
func TestStoredTables(t *testing.T) {
	files, err := filepath.Glob("testdata/papers/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	commands := ""
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := parseStored(string(text))
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if strings.TrimSpace(s.want) == "" {
			t.Errorf("%s: no output of %q is stored", file, s.command)
		}
		commands += s.command + "\n"
	}
	for _, name := range []string{"scenarios", "tendermint", "bftsmart", "swarm", "cassandra", "ratis", "zookeeper",
		"predict", "stale", "distal", "mutants run"} {
		if !strings.Contains(commands, "lockstep paper "+name+" ") {
			t.Errorf("no stored table is made by %q", "lockstep paper "+name)
		}
	}
}
