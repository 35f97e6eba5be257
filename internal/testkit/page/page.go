// Package page tests pages of documentation. It writes the files that a page shows and runs the page's commands one
// after the other, as a reader would paste them. It compares their output with the page.
//
// The info string of a fenced block, after its language, selects an action:
//
//	```go file=lock.go       the file is written
//	```go fix=lock.go       these lines are put into the file, see [fix]
//	```sh                    the commands are run, and all succeed
//	```sh fails              the last of them fails
//	```text output           the last output has these lines in it
//	```console               lines after "$ ", and "> ", are run; the lines that follow are their output
//
// The test ignores blocks of other kinds.
package page

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lockstep-go/lockstep/internal/testkit/golden"
	"github.com/lockstep-go/lockstep/internal/testkit/outside"
)

// Block is a fenced block of a page.
type Block struct {
	Kind string // its language
	Role string // the action: file, fix, fails, output or nothing
	Name string // of the file
	Text string

	from, to int // the position of its text in the page
}

var fence = regexp.MustCompile("(?ms)^```(\\w+)(?: ([a-z]+)(?:=(\\S+))?)?\n(.*?)^```$")

// Blocks returns the fenced blocks of a page.
func Blocks(page string) []Block {
	var all []Block
	for _, at := range fence.FindAllStringSubmatchIndex(page, -1) {
		part := func(i int) string {
			if at[2*i] < 0 {
				return ""
			}
			return page[at[2*i]:at[2*i+1]]
		}
		all = append(all, Block{Kind: part(1), Role: part(2), Name: part(3), Text: part(4), from: at[8], to: at[9]})
	}
	return all
}

// Reader follows the instructions of a page.
type Reader struct {
	// Root is the directory of Lockstep's checkout, in which the reader begins. The page shows it as ~/lockstep. Empty
	// means that the reader has no checkout and begins in a home directory.
	Root string
	// Variables are environment variables of the reader in addition to the usual ones, as NAME=value.
	Variables []string
	// Leaves are commands that the reader does not run.
	Leaves func(command string) bool
	// Figures match texts that depend on the machine, in addition to times, rates and versions of Go. The comparison
	// ignores them.
	Figures []string
	// Masks are pairs of a regular expression and a replacement for its matches. They are for texts that differ each
	// time, such as times, so that the page never depends on the load of the machine.
	Masks [][2]string

	home, state string // the directory of the reader, and that of the shell's state
	printed     string // by the last commands
}

// Follow performs the actions of a page, in the order of the page. With -rewrite it writes the output of the commands
// into the page.
func (r *Reader) Follow(t testing.TB, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r.home, r.state = t.TempDir(), t.TempDir()
	if r.Root == "" {
		r.Root = r.home
	}
	if r.Root, err = filepath.Abs(r.Root); err != nil {
		t.Fatal(err)
	}
	page := string(data)
	var b strings.Builder
	end := 0
	for _, block := range Blocks(page) {
		b.WriteString(page[end:block.from])
		b.WriteString(r.do(t, block))
		end = block.to
	}
	b.WriteString(page[end:])
	if b.String() == page || t.Failed() {
		return
	}
	if golden.Rewrite() {
		if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s shows something else than is printed (-rewrite fixes it):\n%s", file,
		cmp.Diff(strings.Split(page, "\n"), strings.Split(b.String(), "\n")))
}

// do performs the action of a block and returns the block's expected text.
func (r *Reader) do(t testing.TB, b Block) string {
	t.Helper()
	switch {
	case b.Role == "file":
		r.put(t, b.Name, b.Text)
	case b.Role == "fix":
		r.put(t, b.Name, fix(t, r.get(t, b.Name), b.Text))
	case b.Role == "output":
		if !strings.Contains(r.printed, strings.TrimSpace(b.Text)) {
			t.Errorf("the page promises %q, printed was:\n%s", b.Text, r.printed)
		}
	case b.Kind == "sh":
		if r.Leaves != nil && r.Leaves(strings.TrimSpace(b.Text)) {
			break
		}
		status := r.shell(t, "set -e\n"+b.Text)
		if failed := status != 0; failed != (b.Role == "fails") {
			t.Fatalf("status %d of\n%s\n%s", status, b.Text, r.printed)
		}
	case b.Kind == "console":
		return r.transcript(t, b.Text)
	}
	return b.Text
}

// transcript runs the commands of a transcript and returns it with their output. It keeps the old output if only
// figures differ.
func (r *Reader) transcript(t testing.TB, text string) string {
	t.Helper()
	var b strings.Builder
	for _, exchange := range strings.Split("\n"+text, "\n$ ")[1:] {
		command, shown, _ := strings.Cut(exchange, "\n")
		for strings.HasPrefix(shown, "> ") {
			more, rest, _ := strings.Cut(shown, "\n")
			command, shown = command+"\n"+more, rest
		}
		status := r.shell(t, strings.ReplaceAll(command, "\n> ", "\n"))
		got := r.printed
		if status != 0 {
			got += fmt.Sprintf("[exit status %d]\n", status)
		}
		if shown = strings.TrimSuffix(shown, "\n") + "\n"; shown == "\n" {
			shown = ""
		}
		if r.normal(got) == r.normal(shown) {
			got = shown
		}
		b.WriteString("$ " + command + "\n" + got)
	}
	return b.String()
}

// progress matches the lines that a campaign prints every few seconds on a slow machine. It also matches the line that
// the go command prints for each module it downloads, which depends on the module cache.
var progress = regexp.MustCompile(`(?m)^(\d+ of \d+ runs, .* left|go: downloading .*)\n`)

// machine matches the machine-dependent parts of a program's output.
var machine = []string{
	`\d+(\.\d+)?(ns|µs|ms|s|m\d+(\.\d+)?s)\b`, // times
	`\d+ (runs|steps)/s`,
	`\d+ attempts`, // shrinking has a time limit
	`go\d+\.\d+(\.\d+)?`,
	`-[0-9a-f]{16}\b`, // of programs that are built on demand: a hash of all their inputs
}

// normal returns a text without its machine-dependent parts.
func (r *Reader) normal(text string) string {
	for _, figure := range append(machine[:len(machine):len(machine)], r.Figures...) {
		text = regexp.MustCompile(figure).ReplaceAllString(text, "#")
	}
	return text
}

// shell runs commands in the directory and with the variables that the last commands left, and returns the exit status.
func (r *Reader) shell(t testing.TB, commands string) int {
	t.Helper()
	script := `
trap 'status=$?; pwd >"$READER/directory"; export -p >"$READER/variables"; exit $status' EXIT
if [ -e "$READER/variables" ]; then . "$READER/variables"; fi
` + commands
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir = r.dir(t)
	cmd.Env = r.environment(t)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if !outside.Strict() && strings.Contains(string(out), "GOPROXY=off") {
		t.Skipf("SKIPPED, the module cache lacks what the page needs: %s", out)
	}
	r.printed = strings.NewReplacer(r.home, "~", r.Root, "~/lockstep").
		Replace(progress.ReplaceAllString(string(out), ""))
	for _, m := range r.Masks {
		r.printed = regexp.MustCompile(m[0]).ReplaceAllString(r.printed, m[1])
	}
	return cmd.ProcessState.ExitCode()
}

// environment returns the initial variables of the reader. Modules come from the network only if no test may be
// skipped.
func (r *Reader) environment(t testing.TB) []string {
	t.Helper()
	env := []string{"HOME=" + r.home, "XDG_CACHE_HOME=" + r.home + "/.cache", "READER=" + r.state, "NO_COLOR=1"}
	for _, name := range []string{"PATH", "TMPDIR"} {
		env = append(env, name+"="+os.Getenv(name))
	}
	names := []string{"GOCACHE", "GOMODCACHE", "GOTOOLCHAIN", "GOFLAGS"}
	if outside.Strict() {
		names = append(names, "GOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE")
	} else {
		env = append(env, "GOPROXY=off", "GOSUMDB=off")
	}
	values, err := exec.CommandContext(t.Context(), "go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for i, value := range strings.Split(strings.TrimSuffix(string(values), "\n"), "\n") {
		env = append(env, names[i]+"="+value)
	}
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SSL_CERT_FILE"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return append(env, r.Variables...)
}

// directory returns the current directory of the reader.
func (r *Reader) dir(t testing.TB) string {
	t.Helper()
	at, err := os.ReadFile(filepath.Join(r.state, "directory"))
	switch {
	case os.IsNotExist(err):
		return r.Root
	case err != nil:
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(at), "\n")
}

// put writes a file of the page.
func (r *Reader) put(t testing.TB, name, text string) {
	t.Helper()
	file := filepath.Join(r.dir(t), name)
	if !strings.HasPrefix(file, r.home) {
		t.Fatalf("%s is not in a directory of the reader's own", file)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// get reads a file of the page.
func (r *Reader) get(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// fix replaces the first line that begins like one of the given lines by all of them. A page thus shows a change
// together with the new lines beside it.
func fix(t testing.TB, text, lines string) string {
	t.Helper()
	words := func(line string) string { return strings.Join(strings.Fields(line), " ") }
	lines = strings.TrimSuffix(lines, "\n")
	for line := range strings.SplitSeq(lines, "\n") {
		key := words(line)
		key = key[:min(len(key), 20)]
		old := strings.Split(text, "\n")
		for i := range old {
			if strings.HasPrefix(words(old[i]), key) {
				old[i] = lines
				return strings.Join(old, "\n")
			}
		}
	}
	t.Fatalf("no line begins like one of\n%s", lines)
	return ""
}
