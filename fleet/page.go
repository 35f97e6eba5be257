package fleet

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/artifact"
	"github.com/lockstep-go/lockstep/internal/batch"
	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/report/campaign"
	"github.com/lockstep-go/lockstep/trace"
)

// Page serves the fleet's page until the context ends, and returns the page's address. The address has the view token,
// which the page exchanges for a cookie.
func (s *Server) Page(ctx context.Context, listen string) (url string, err error) {
	if err := checkListen("--page", listen, "view", s.ViewToken); err != nil {
		return "", err
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return "", fmt.Errorf("--page %s: %w", listen, err)
	}
	web := s.web(ctx)
	context.AfterFunc(ctx, func() { _ = web.Close() })
	go func() { _ = web.Serve(l) }() // the server ends with the context
	host, _ := os.Hostname()
	return fmt.Sprintf("http://%s/?token=%s", reachable(l.Addr(), host), s.ViewToken), nil
}

// web is the page's HTTP server. It cuts off clients that send slowly or send nothing; extend limits clients that read
// slowly.
func (s *Server) web(ctx context.Context) *http.Server {
	return &http.Server{
		Handler:           s.guard(s.pages()),
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    1 << 14,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
}

// pages returns the handlers of the pages by their addresses.
func (s *Server) pages() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, "text/html", campaign.FleetPage, s.ledgers.snapshot())
	})
	mux.HandleFunc("GET /events", s.events)
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, "text/plain; version=0.0.4", writeMetrics, s.ledgers.snapshot())
	})
	mux.HandleFunc("GET /campaign/{id}", func(w http.ResponseWriter, r *http.Request) {
		for _, c := range s.ledgers.snapshot().Campaigns {
			if c.ID == r.PathValue("id") {
				answer(w, "text/html", campaign.Page, c.Campaign)
				return
			}
		}
		http.NotFound(w, r)
	})
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, "application/json", writeJSON, s.ledgers.status())
	})
	mux.HandleFunc("GET /findings", func(w http.ResponseWriter, r *http.Request) {
		found, err := s.ledgers.findings(r.URL.Query().Get("campaign"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		answer(w, "application/json", writeJSON, &foundList{found})
	})
	mux.HandleFunc("GET /finding/{id}/{run}", s.findingPage)
	mux.HandleFunc("GET /finding/{id}/{run}/trace", s.findingTrace)
	mux.HandleFunc("GET /finding/{id}/{run}/stored", func(w http.ResponseWriter, r *http.Request) {
		if packed, _, ok := s.finding(w, r); ok {
			answer(w, "application/json", writeJSON, packed)
		}
	})
	return mux
}

// answer writes a page only after all of it was rendered.
func answer[T any](w http.ResponseWriter, kind string, write func(io.Writer, T) error, v T) {
	var b bytes.Buffer
	if err := write(&b, v); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", kind+"; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = b.WriteTo(w)
}

// guard admits clients with the view token. The token comes from the address, from a cookie or from a header. A token
// in the address sets the cookie.
func (s *Server) guard(next http.Handler) http.Handler {
	const name = "lockstep-fleet"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		extend(w)
		inAddress := r.URL.Query().Get("token")
		given := inAddress
		if c, err := r.Cookie(name); err == nil && given == "" {
			given = c.Value
		}
		if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && given == "" {
			given = bearer
		}
		switch {
		case !same(given, s.ViewToken):
			http.Error(w, "This fleet wants its view token: open the address that lockstep fleet serve prints.",
				http.StatusUnauthorized)
		case inAddress != "":
			http.SetCookie(
				w,
				&http.Cookie{
					Name:     name,
					Value:    s.ViewToken,
					Path:     "/",
					HttpOnly: true,
					SameSite: http.SameSiteStrictMode,
				},
			)
			forward(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// forward leads to the same address without the token, so that the token stays neither in the address bar nor in the
// history. It sends a redirect. A browser that comes from another site would not send a strict cookie after a redirect.
// To such a browser, or to one that does not report its origin, forward sends a page.
func forward(w http.ResponseWriter, r *http.Request) {
	path := "/" + strings.TrimLeft(r.URL.EscapedPath(), "/")
	w.Header().Set("Cache-Control", "no-store")
	if from := r.Header.Get("Sec-Fetch-Site"); from == "none" || from == "same-origin" {
		http.Redirect(w, r, path, http.StatusSeeOther)
		return
	}
	path = html.EscapeString(path)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = fmt.Fprintf(
		w,
		"<!doctype html><title>Lockstep fleet</title><meta http-equiv=\"refresh\" content=\"0; url=%s\"><a "+
			"href=\"%s\">The page of the fleet</a>\n",
		path,
		path,
	)
}

// extend gives a client time to read the next write. The server cuts off a client that stops reading.
func extend(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute)) // a writer without a deadline waits
}

// events sends the changing part of the page after each change, at most once a second.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	var last []byte
	for r.Context().Err() == nil {
		extend(w)
		var b bytes.Buffer
		if campaign.FleetLive(&b, s.ledgers.snapshot()) != nil {
			return
		}
		text, err := json.Marshal(b.String())
		if err != nil {
			return
		}
		if !bytes.Equal(text, last) {
			if _, err := fmt.Fprintf(w, "data: %s\n\n", text); err != nil {
				return
			}
			last = text
		} else if _, err := io.WriteString(w, ": nothing new\n\n"); err != nil {
			return
		}
		if http.NewResponseController(w).Flush() != nil {
			return
		}
		pause(r.Context(), time.Second)
	}
}

// writeJSON writes a value for programs.
func writeJSON[T any](w io.Writer, v *T) error { return json.NewEncoder(w).Encode(v) }

// finding reads the trace of the requested finding, or answers that there is none.
func (s *Server) finding(w http.ResponseWriter, r *http.Request) (*batch.Trace, *trace.Trace, bool) {
	run, err := strconv.Atoi(r.PathValue("run"))
	id := r.PathValue("id")
	if err != nil || !s.ledgers.has(id, run) {
		http.NotFound(w, r)
		return nil, nil, false
	}
	packed, err := s.store.getTrace(r.Context(), id, run)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return nil, nil, false
	}
	t, err := packed.Read()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return nil, nil, false
	}
	return &packed, t, true
}

// findingPage writes the page of a finding.
func (s *Server) findingPage(w http.ResponseWriter, r *http.Request) {
	_, t, ok := s.finding(w, r)
	if !ok {
		return
	}
	options := report.PageOptions{
		Replay: "lockstep replay " + traceFile(r, t),
		Note:   "The trace is at " + r.URL.Path + "/trace.",
	}
	answer(w, "text/html", func(w io.Writer, v report.Views) error { return report.Page(w, v, options) },
		report.Views{Found: t})
}

// findingTrace writes the trace of a finding as a file.
func (s *Server) findingTrace(w http.ResponseWriter, r *http.Request) {
	packed, t, ok := s.finding(w, r)
	if !ok {
		return
	}
	w.Header().
		Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": traceFile(r, t)}))
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(packed.Text)
}

// traceFile returns the file name of the requested trace.
func traceFile(r *http.Request, t *trace.Trace) string {
	run, _ := strconv.Atoi(r.PathValue("run")) // the run was parsed before
	return words.Clean(artifact.NameOfRun(t, run)) + ".trace"
}

// has reports whether a campaign has a finding.
func (b *ledgers) has(id string, run int) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	l := b.ledgers[id]
	return l != nil && slices.ContainsFunc(l.Findings, func(f Finding) bool { return f.Run == run })
}

// status returns the current status.
func (b *ledgers) status() *status {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return statusOf(b.sorted(), slices.Collect(maps.Values(b.staff)))
}

// findings returns the current findings of a campaign or plan.
func (b *ledgers) findings(name string) ([]Finding, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return findingsOf(b.sorted(), name)
}

// snapshot returns a copy of the fleet's current state.
func (b *ledgers) snapshot() *campaign.Fleet {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	f := &campaign.Fleet{Refused: b.refused}
	for _, l := range b.sorted() {
		line := campaign.FleetCampaign{
			ID:       l.Job.ID,
			Name:     l.Job.Name,
			State:    cmp.Or(l.Job.Ended, "running"),
			Why:      l.Why,
			Campaign: l.copied(),
			Of:       l.Job.Hello.Runs,
		}
		if l.Job.For > 0 {
			line.Of = 0
		}
		f.Campaigns = append(f.Campaigns, line)
		for _, q := range l.Quarantine {
			f.Quarantine = append(f.Quarantine,
				campaign.FleetQuarantined{Campaign: q.Campaign, Worker: q.Worker, Why: q.Why, First: q.First})
		}
		for _, x := range l.Findings {
			f.Findings = append(
				f.Findings,
				campaign.FleetFinding{
					Campaign: l.Job.ID,
					Property: x.Property,
					Shape:    x.Shape,
					Text:     x.Text,
					Run:      x.Run,
					After:    x.After.Round(time.Millisecond),
				},
			)
		}
	}
	slices.Reverse(f.Campaigns)
	slices.Reverse(f.Findings)
	slices.Reverse(f.Quarantine)
	for _, r := range b.staff {
		f.Workers = append(
			f.Workers,
			campaign.FleetWorker{
				Name:     r.Worker,
				Campaign: r.Campaign,
				Refuses:  r.refusals(),
				Runs:     r.Runs,
				Speed:    r.Speed,
			},
		)
		if r.Campaign != "" {
			f.Speed += r.Speed
		}
	}
	slices.SortFunc(f.Workers, func(x, y campaign.FleetWorker) int { return strings.Compare(x.Name, y.Name) })
	return f
}

// copied returns a copy of the campaign's current state, which no longer changes.
func (l *Ledger) copied() *campaign.Campaign {
	c := l.campaign()
	r := *l.Result
	r.Verdicts, r.Reasons = cloned(r.Verdicts), cloned(r.Reasons)
	r.Events, r.Checked, r.Effects = slices.Clone(r.Events), slices.Clone(r.Checked), slices.Clone(r.Effects)
	r.Novelty = r.Novelty.Clone()
	c.Result, c.Curve = &r, slices.Clone(c.Curve)
	return c
}

func cloned[K comparable](m map[K]int) map[K]int {
	out := make(map[K]int, len(m))
	for k, n := range m {
		out[k] = n
	}
	return out
}

// writeMetrics writes the metrics in the format of Prometheus.
func writeMetrics(w io.Writer, f *campaign.Fleet) error {
	var b strings.Builder
	gauge := func(name, help string, value func(emit func(labels string, v float64))) {
		fmt.Fprintf(&b, "# HELP lockstep_%s %s\n# TYPE lockstep_%s gauge\n", name, help, name)
		value(func(labels string, v float64) { fmt.Fprintf(&b, "lockstep_%s%s %g\n", name, labels, v) })
	}
	gauge("workers", "Workers that have reported lately.",
		func(emit func(string, float64)) { emit("", float64(len(f.Workers))) })
	gauge("runs_per_second", "Runs a second of all workers.", func(emit func(string, float64)) { emit("", f.Speed) })
	gauge("refused_messages", "Messages that were rejected.",
		func(emit func(string, float64)) { emit("", float64(f.Refused)) })
	for _, m := range []struct {
		name, help string
		of         func(campaign.FleetCampaign) float64
	}{
		{
			"campaign_runs",
			"Runs of a campaign that were added up.",
			func(c campaign.FleetCampaign) float64 { return float64(c.Result.Runs) },
		},
		{
			"campaign_findings",
			"Failing runs of a campaign.",
			func(c campaign.FleetCampaign) float64 { return float64(c.Findings()) },
		},
		{
			"campaign_states",
			"Different states of a campaign, estimated.",
			func(c campaign.FleetCampaign) float64 { return float64(c.Result.States) },
		},
		{"campaign_running", "Whether a campaign is running.", func(c campaign.FleetCampaign) float64 {
			if c.State == "running" {
				return 1
			}
			return 0
		}},
	} {
		gauge(m.name, m.help, func(emit func(string, float64)) {
			for _, c := range f.Campaigns {
				emit(
					fmt.Sprintf("{campaign=%s,target=%s,strategy=%s}", label(c.ID), label(c.Result.Target),
						label(c.Result.Strategy)),
					m.of(c),
				)
			}
		})
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// label quotes a value in the format of Prometheus.
func label(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}
