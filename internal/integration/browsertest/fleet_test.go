package browsertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/fleet"
	"github.com/lockstep-go/lockstep/internal/batch"
	"github.com/lockstep-go/lockstep/target/smr"
)

// If the environment variable is set, the test's own program has the target of the fleet.
func TestMain(m *testing.M) {
	if os.Getenv("FLEET_TEST_COMMAND") != "" {
		cli.Main(smr.Targets...)
	}
	os.Exit(m.Run())
}

func self(string, []string) (string, []string, error) {
	file, err := os.Executable()
	return file, []string{"FLEET_TEST_COMMAND=1"}, err
}

// realFleet starts a server with its page, and workers. Only the first able workers can make runs.
func realFleet(t *testing.T, workers, able int) (server *fleet.Server, page string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	server, err := fleet.Serve(ctx, fleet.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	var others sync.WaitGroup
	others.Go(func() { _ = server.Run(ctx) })
	for i := range workers {
		others.Go(func() {
			w := fleet.Worker{
				URL:     server.URL,
				Token:   server.Token,
				Name:    fmt.Sprintf("worker-%03d", i),
				Workers: 1,
				Program: self,
			}
			if i >= able {
				w.Program = func(string, []string) (string, []string, error) {
					return "", nil, errors.New("the go tool is not here")
				}
			}
			_ = w.Join(ctx)
		})
	}
	t.Cleanup(func() { cancel(); others.Wait(); server.Close() })
	if page, err = server.Page(ctx, "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	return server, page
}

// give gives a campaign and waits for its end.
func give(t *testing.T, server *fleet.Server, args ...string) {
	t.Helper()
	args = append(append([]string{"run"}, args...), "--batches")
	file, variables, err := self("", nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := batch.Start(t.Context(), file, args, variables...)
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	client, err := fleet.Dial(t.Context(), server.URL, server.Token)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ids, err := client.Give(t.Context(), fleet.Job{Hello: p.Hello, Target: args[1], Args: args})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Wait(t.Context(), ids[0], func(*fleet.Ledger) {}); err != nil {
		t.Fatal(err)
	}
}

// until returns an expression that waits for a condition, which the page's script brings about.
func until(condition string) string {
	return "new Promise((done) => { const look = () => (" + condition +
		") ? done(true) : setTimeout(look, 50); look(); })"
}

// The page of a real fleet updates while it is open, in light and dark, and leads to a finding.
func TestFleet(t *testing.T) {
	server, page := realFleet(t, 2, 2)
	b := visit(t, 1280, 1000, page)
	eval[bool](
		t,
		b,
		until(
			`document.querySelectorAll("#workers tbody tr").length === 2 && document.body.textContent.includes("worker-001")`,
		),
	)
	if at := eval[string](t, b, "location.href + document.cookie"); strings.Contains(at, "token") ||
		strings.Contains(at, server.ViewToken) {
		t.Errorf("the token stays in the address: %s", at)
	}
	if n := count(t, b, "#campaigns tbody a"); n != 0 {
		t.Errorf("%d campaigns before the first", n)
	}
	give(t, server, "smr-bug", "--strategy", "walk", "--runs", "2000", "--seed", "3", "--keep-going")
	eval[bool](
		t,
		b,
		until(
			`document.querySelectorAll("#findings tbody a").length > 0 && document.querySelector("#campaigns").textContent.includes("done")`,
		),
	)
	give(t, server, "smr", "--runs", "20000", "--seed", "4")
	eval[bool](t, b, until(`document.querySelectorAll("#campaigns tbody a").length === 2`))
	screenshot(t, b, "fleet.png")
	darken(t, b)
	screenshot(t, b, "fleet-dark.png")
	link := eval[string](t, b, `document.querySelector("#findings tbody a").href`)
	b.do(t, chromedp.Navigate(link))
	if got := text(t, b, "h1"); got == "" || count(t, b, "header.fail") != 1 {
		t.Errorf("the finding's page has the heading %q", got)
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if len(b.errors) > 0 {
		t.Errorf("the pages report %q", b.errors)
	}
}

// A link on another site leads to the page, and its token disappears from the address and the history.
func TestFleetLink(t *testing.T) {
	server, page := realFleet(t, 0, 0)
	b := visit(t, 900, 900, "data:text/html,<a href='"+page+"'>the fleet</a>")
	eval[bool](t, b, `setTimeout(() => document.querySelector("a").click(), 0) > 0`)
	at := ""
	for end := time.Now().Add(30 * time.Second); !strings.HasSuffix(at, "Fleet") &&
		time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		at, _ = chromedp.Run(
			b,
			chromedp.Evaluate[string](
				`location.href + " " + history.length + " " + document.cookie + document.querySelector("h1").textContent`,
			),
		)
	}
	root, _, _ := strings.Cut(page, "?")
	if !strings.HasPrefix(at, root+" 3 ") ||
		strings.Contains(at, server.ViewToken) { // about:blank, the other site, the page
		t.Errorf("the browser is at %q", at)
	}
}

// Without JavaScript the page is a set of tables.
func TestFleetWithoutScript(t *testing.T) {
	server, page := realFleet(t, 1, 1)
	give(t, server, "smr-bug", "--strategy", "walk", "--runs", "500", "--seed", "3")
	b := visit(t, 900, 900, "about:blank")
	if _, err := chromedp.Call(b, emulation.SetScriptExecutionDisabled,
		emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	b.do(t, chromedp.Navigate(page))
	png, err := chromedp.Run(b, chromedp.CaptureScreenshot())
	if err != nil || len(png) == 0 {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(b, emulation.SetScriptExecutionDisabled,
		emulation.SetScriptExecutionDisabledParams{}); err != nil {
		t.Fatal(err)
	}
	if count(t, b, "#campaigns tbody a") != 1 || count(t, b, "#findings tbody a") != 1 ||
		count(t, b, "noscript p") != 1 {
		t.Error("tables are missing")
	}
}

// The page of a fleet of a hundred workers has a line for each and stays within the window, in light and dark, and
// without JavaScript.
func TestFleetOfHundred(t *testing.T) {
	server, page := realFleet(t, 100, 2)
	give(t, server, "smr-bug", "--strategy", "walk", "--runs", "500", "--seed", "3", "--keep-going")
	b := visit(t, 1280, 1000, page)
	eval[bool](t, b, until(`document.querySelectorAll("#workers tbody tr").length === 100`))
	for _, name := range []string{"hundred.png", "hundred-dark.png"} {
		if wide := eval[int](t, b,
			"document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide > 0 {
			t.Errorf("%s: the page is %d pixels too wide", name, wide)
		}
		screenshot(t, b, name)
		if name == "hundred.png" {
			darken(t, b)
		}
	}
	b = visit(t, 900, 900, "about:blank")
	if _, err := chromedp.Call(b, emulation.SetScriptExecutionDisabled,
		emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	b.do(t, chromedp.Navigate(page))
	screenshot(t, b, "hundred-without-script.png")
	if _, err := chromedp.Call(b, emulation.SetScriptExecutionDisabled,
		emulation.SetScriptExecutionDisabledParams{}); err != nil {
		t.Fatal(err)
	}
	if n := count(t, b, "#workers tbody tr"); n != 100 {
		t.Errorf("without JavaScript there are %d workers", n)
	}
}
