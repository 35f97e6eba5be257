package fleet

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
	"github.com/lockstep-go/lockstep/target/maelstrom"
	"github.com/lockstep-go/lockstep/target/smr"
)

// If the environment variable is set, the test's own program is the command line.
func TestMain(m *testing.M) {
	if os.Getenv("FLEET_TEST_COMMAND") != "" {
		cli.App{Targets: append(smr.Targets, maelstrom.Target), Commands: []any{&Commands{}}, Fleet: Elsewhere}.Main()
	}
	os.Exit(m.Run())
}

// command returns a process of the command line.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, args...)
	c.Env, c.Dir = append(os.Environ(), "FLEET_TEST_COMMAND=1"), t.TempDir()
	return c
}

// start starts a process that is killed when the test ends.
func start(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	c := command(t, args...)
	c.Stderr = &bytes.Buffer{}
	begin(t, c)
	return c
}

// begin starts a process that is killed when the test ends.
func begin(t *testing.T, c *exec.Cmd) {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(c) })
}

// kill kills a process with signal 9.
func kill(c *exec.Cmd) {
	_ = c.Process.Kill()
	_ = c.Wait()
}

// output runs a process and returns its JSON object.
func output(t *testing.T, status int, args ...string) map[string]any {
	t.Helper()
	c := command(t, append(args, "--json")...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	var doc map[string]any
	if c.ProcessState.ExitCode() != status || json.Unmarshal(out.Bytes(), &doc) != nil {
		t.Fatalf("%q: %v, status %d\n%s%s", args, err, c.ProcessState.ExitCode(), out.String(), errs.String())
	}
	return doc
}

// fixture is a fleet of processes.
type fixture struct {
	dir, listen string
	url         string
	server      *exec.Cmd
	workers     []*exec.Cmd
}

func newFixture(t *testing.T, workers int) *fixture {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") // a free port, which the server gets again after a restart
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{dir: t.TempDir(), listen: l.Addr().String()}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	f.serve(t)
	for range workers {
		f.workers = append(f.workers, start(t, append(f.at("join"), "--workers", "1")...))
	}
	return f
}

// serve starts the server and waits until it prints its address.
func (f *fixture) serve(t *testing.T) {
	t.Helper()
	c := command(t, "fleet", "serve", "--dir", f.dir, "--listen", f.listen, "--page", "")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	begin(t, c)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	f.url, f.server = strings.Fields(line[strings.Index(line, "nats://"):])[0], c
	if !strings.HasSuffix(strings.TrimSpace(line), "--token-file "+f.tokenFile()) {
		t.Errorf("the server does not say where the token is: %s", line)
	}
}

// tokenFile returns the file in which the server keeps the work token.
func (f *fixture) tokenFile() string { return filepath.Join(f.dir, "token") }

// at returns a command line for the fleet.
func (f *fixture) at(command string) []string {
	return []string{"fleet", command, f.url, "--token-file", f.tokenFile()}
}

func (f *fixture) token(t *testing.T) string {
	t.Helper()
	token, err := readToken(f.tokenFile(), "")
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// follow calls a function whenever the first campaign has progressed, until it has ended.
func (f *fixture) follow(t *testing.T, do func(runs int)) *Ledger {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	client, err := Dial(ctx, f.url, f.token(t))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for ctx.Err() == nil {
		list, err := client.Ledgers(ctx)
		if err != nil || len(list) == 0 {
			pause(ctx, idle/10)
			continue
		}
		if do(list[0].Result.Runs); list[0].Job.Ended != "" {
			return list[0]
		}
		pause(ctx, idle/10)
	}
	t.Fatal("the campaign did not end")
	return nil
}

// size returns a number from the environment. The default makes the test small.
func size(name string, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return usual
}

// The test kills workers with signal 9 at random moments, and also the server: nothing is lost, and nothing is counted
// twice. FLEET_RUNS, FLEET_WORKERS and FLEET_KILLS make the test larger.
func TestKilled(t *testing.T) {
	runs, workers, kills := size("FLEET_RUNS", tier.Pick(10_000, 40_000)), size("FLEET_WORKERS", 3), size("FLEET_KILLS", 4)
	flags := []string{
		"smr-bug",
		"--strategy",
		cmp.Or(os.Getenv("FLEET_STRATEGY"), "walk"),
		"--runs",
		strconv.Itoa(runs),
		"--seed",
		"11",
		"--keep-going",
		"--no-shrink",
	}
	want := output(t, 1, append([]string{"run"}, flags...)...)
	f := newFixture(t, workers)
	done := make(chan map[string]any, 1)
	c := command(
		t,
		append(append([]string{"fleet", "run"}, flags...), "--fleet", f.url, "--token-file", f.tokenFile(),
			"--json")...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = c.Wait()
		var doc map[string]any
		_ = json.Unmarshal(out.Bytes(), &doc)
		done <- doc
	}()
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)) // any moment is suitable
	killed, restarted, next := 0, false, time.Now()              // the first kill comes as soon as there is a campaign
	f.follow(t, func(now int) {
		if now >= runs/3 && !restarted {
			restarted = true
			kill(f.server)
			f.serve(t)
		}
		if killed < kills && time.Now().After(next) && now < runs {
			i := r.IntN(len(f.workers))
			kill(f.workers[i])
			f.workers[i] = start(t, append(f.at("join"), "--workers", "1")...)
			killed++
			next = time.Now().Add(time.Duration(r.Int64N(int64(time.Second))))
		}
	})
	got := <-done
	if got == nil {
		t.Fatalf("the client failed:\n%s", errs.String())
	}
	if !restarted || killed == 0 {
		t.Errorf("%d workers were killed, server %v", killed, restarted)
	}
	for _, key := range []string{
		"digest", "runs", "steps", "findings", "verdicts", "first_finding_run", "finding", "verdict", "guarantee",
		"checked", "events",
	} {
		if fmt.Sprint(got[key]) != fmt.Sprint(want[key]) {
			t.Errorf("%s: %v, on one machine %v", key, got[key], want[key])
		}
	}
	t.Logf("%v runs by %d workers, %d of them killed, server killed once: digest %v", got["runs"], workers, killed,
		got["digest"])
}
