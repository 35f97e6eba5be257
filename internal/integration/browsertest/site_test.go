package browsertest

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

const (
	// site is the documentation as "make docs" builds it.
	site = "../../../out/site"
	// noSite says why "make test-all" could not build it.
	noSite = "../../../out/no-site"
)

// TestSite reads the built documentation over HTTP: its search finds pages, no page is wider than a phone, and the dark
// scheme of the browser is that of the page.
func TestSite(t *testing.T) {
	tier.OnlyFull(t, "it reads the site that make docs builds")
	if _, err := os.Stat(filepath.Join(site, "index.html")); err != nil {
		if why, err := os.ReadFile(noSite); err == nil {
			t.Skipf("NOT TESTED: %s", why)
		}
		outside.Missing(t, "NOT TESTED: the site of the documentation is not built (make docs)")
	}
	server := httptest.NewServer(http.FileServer(http.Dir(site)))
	t.Cleanup(server.Close)

	t.Run("search", func(t *testing.T) {
		b := visit(t, 1280, 900, server.URL+"/index.html")
		b.do(t, chromedp.SendKeys(chromedp.CSS(".md-search__input"), "linearizable"))
		found := ""
		for range 100 {
			found = eval[string](t, b,
				"[...document.querySelectorAll('.md-search-result__link')].map((e) => e.pathname).join(' ')")
			if found != "" {
				break
			}
			eval[bool](t, b, "new Promise((r) => setTimeout(() => r(true), 100))") // the search loads its index
		}
		if !strings.Contains(found, "/how-to/write-a-spec.html") {
			t.Errorf("the search for linearizable finds %q", found)
		}
		screenshot(t, b, "site-search.png")
	})

	pages := []string{"index.html", "tutorials/go-server.html", "tutorials/python.html", "how-to/choose-a-strategy.html",
		"how-to/measure-coverage.html", "reference/command-line.html", "reference/targets/kafka.html",
		"evidence/ratis.html", "evidence/track-record.html"}
	t.Run("phone", func(t *testing.T) {
		b := visit(t, 500, 900, server.URL)
		for _, page := range pages {
			b.do(t, chromedp.Navigate(server.URL+"/"+page))
			if over := eval[int](t, b, "document.documentElement.scrollWidth - window.innerWidth"); over > 0 {
				t.Errorf("%s is %d pixels wider than the window", page, over)
			}
			screenshot(t, b, "site-phone-"+filepath.Base(page)+".png")
		}
	})

	t.Run("dark", func(t *testing.T) {
		b := visit(t, 1280, 900, server.URL+"/index.html")
		light := eval[string](t, b, background)
		_, err := chromedp.Call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			b.do(t, chromedp.Navigate(server.URL+"/"+page))
			if dark := eval[string](t, b, background); dark == light {
				t.Errorf("%s: dark and light are both %s", page, dark)
			}
			screenshot(t, b, "site-dark-"+filepath.Base(page)+".png")
		}
	})
}

// background is the color of the page.
const background = "getComputedStyle(document.body).backgroundColor"
