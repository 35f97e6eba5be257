package cli

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/testkit/clitest"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/smr"
)

func TestHelp(t *testing.T) {
	if flags := clitest.Help(t, &grammar{}, variables); len(flags) < 30 {
		t.Errorf("only %d flags", len(flags))
	}
}

// The default value of a flag is the one that its help states.
func TestDefaults(t *testing.T) {
	t.Chdir(t.TempDir())
	help := func(command string) string {
		var out bytes.Buffer
		testApp.execute(context.Background(), "lockstep", []string{command, "--help"}, &out, io.Discard)
		return strings.Join(strings.Fields(out.String()), " ")
	}
	run := func(args ...string) string {
		var out bytes.Buffer
		testApp.execute(context.Background(), "lockstep", append([]string{"run"}, args...), &out, io.Discard)
		return out.String()
	}
	m := regexp.MustCompile(`\((\w+); with a scenario (\S+)\)\.`).FindStringSubmatch(help("run"))
	if m == nil {
		t.Fatal("the help of run does not say which strategies it takes")
	}
	usual, err := strategy.Parse(m[1])
	if err != nil {
		t.Fatal(err)
	}
	runs := regexp.MustCompile(`Number of runs; (\d+) unless`).FindStringSubmatch(help("run"))
	if got := run("smr"); runs == nil || !strings.Contains(got, "under "+usual.String()) ||
		!strings.Contains(got, "\n"+runs[1]+" runs,") {
		t.Errorf("%q is not what the help says:\n%s", runs, got)
	}
	if _, err := strategy.Parse(m[2]); err != nil || m[2] != guidedStrategy {
		t.Errorf("%s: %v", m[2], err)
	}
	width := regexp.MustCompile(`fit into, (\d+) at least; the terminal's, or (\d+)\.`).
		FindStringSubmatch(help("explain"))
	if width == nil {
		t.Fatal("the help of explain does not say how wide a picture is")
	}
	for given, is := range map[int]string{1: width[1], 0: width[2]} {
		if a, b := picture(t, given), picture(t, number(t, is)); a != b {
			t.Errorf("a width of %d is not %s", given, is)
		}
	}
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// picture draws a run as text.
func picture(t *testing.T, width int) string {
	t.Helper()
	tr, err := lockstep.Record(context.Background(),
		lockstep.Plan{System: smr.Cluster{Nodes: 3}, Strategy: strategy.DefaultUniform, Spec: smr.Prefix}, 0)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := report.Grid(&b, tr, report.Options{Width: width}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
