package browsertest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// browser is a tab that records its errors.
type browser struct {
	context.Context
	mutex    sync.Mutex
	errors   []string
	requests []string
	read     chan struct{} // closed after the last words arrived
}

// open starts Chromium with a page, which must send no requests and report no errors.
func open(t *testing.T, width, height int, page func(*bytes.Buffer) error) *browser {
	t.Helper()
	var html bytes.Buffer
	if err := page(&html); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, html.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	b := visit(t, width, height, "file://"+file)
	t.Cleanup(func() { b.check(t) })
	return b
}

// visit starts Chromium at an address.
func visit(t *testing.T, width, height int, url string) *browser {
	t.Helper()
	tier.OnlyFull(t, "NOT TESTED: it opens pages in a browser")
	program := chromium()
	if program == "" {
		outside.Missing(t,
			"CHROMIUM IS MISSING: the HTML pages were NOT tested in a browser (apt-get install -y chromium)")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute) // t.Context ends before the last check
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options(t, program, width, height)...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{Context: ctx, read: make(chan struct{})}
	b.listen()
	b.do(t, chromedp.Navigate(url))
	return b
}

func chromium() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

func options(t *testing.T, program string, width, height int) []chromedp.ExecAllocatorOption {
	return []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(width, height),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("hide-scrollbars", true), chromedp.WSURLReadTimeout(time.Minute),
	}
}

// lastWords is the page's log message at the end of the test.
const lastWords = "that was all"

// listen records errors of the page and its network requests.
func (b *browser) listen() {
	console, requests := chromedp.Console(b), chromedp.Events(b, network.RequestWillBeSent)
	go func() {
		for m, err := range console {
			if err != nil {
				return
			}
			if m.Text == lastWords {
				close(b.read)
				return
			}
			if m.IsException() || m.Type == "error" || m.Type == "warning" {
				b.mutex.Lock()
				b.errors = append(b.errors, m.String())
				b.mutex.Unlock()
			}
		}
	}()
	go func() {
		for r, err := range requests {
			if err != nil {
				return
			}
			if r.Type != network.ResourceTypeDocument && !strings.HasPrefix(r.Request.URL, "data:") {
				b.mutex.Lock()
				b.requests = append(b.requests, r.Request.URL)
				b.mutex.Unlock()
			}
		}
	}()
}

// check fails the test if the page logged an error or sent a request.
func (b *browser) check(t *testing.T) {
	if t.Failed() {
		return
	}
	eval[bool](t, b, "console.info("+strconv.Quote(lastWords)+"), true")
	select {
	case <-b.read:
	case <-b.Done():
		t.Error("the page's console fell silent")
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for _, e := range b.errors {
		t.Errorf("the page reports an error: %s", e)
	}
	for _, r := range b.requests {
		t.Errorf("the page asks for %s", r)
	}
}

func (b *browser) do(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(b, actions...); err != nil {
		t.Fatal(err)
	}
}

// eval returns the value of an expression in the page.
func eval[T any](t *testing.T, b *browser, expression string) T {
	t.Helper()
	value, err := chromedp.Run(b, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// count returns the number of visible elements that match a selector.
func count(t *testing.T, b *browser, selector string) int {
	t.Helper()
	return eval[int](t, b,
		fmt.Sprintf("[...document.querySelectorAll(%q)].filter((e) => e.checkVisibility()).length", selector))
}

// text returns the text of the first element that matches.
func text(t *testing.T, b *browser, selector string) string {
	t.Helper()
	return eval[string](t, b, fmt.Sprintf("document.querySelector(%q).textContent", selector))
}

// screenshot stores the visible page in the directory that LOCKSTEP_SCREENSHOTS names.
func screenshot(t *testing.T, b *browser, name string) {
	t.Helper()
	dir := os.Getenv("LOCKSTEP_SCREENSHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), png, 0o666); err != nil {
		t.Fatal(err)
	}
}

// darken switches the page to dark, which must be visible.
func darken(t *testing.T, b *browser) {
	t.Helper()
	light := eval[string](t, b, "getComputedStyle(document.body).backgroundColor")
	if _, err := chromedp.Call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}}); err != nil {
		t.Fatal(err)
	}
	if dark := eval[string](t, b, "getComputedStyle(document.body).backgroundColor"); dark == light {
		t.Errorf("dark and light are both %s", dark)
	}
}
