package fleet

import (
	"bytes"
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/keep"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/report/campaign"
)

// Page serves the fleet's page until the context ends, and says where it is.
func (s *Server) Page(ctx context.Context, listen string) (url string, err error) {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return "", fmt.Errorf("--page %s: %w", listen, err)
	}
	web := &http.Server{Handler: s.guard(s.pages()), ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 1 << 14,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	context.AfterFunc(ctx, func() { _ = web.Close() })
	go func() { _ = web.Serve(l) }() // it ends with the context
	host, _ := os.Hostname()
	return fmt.Sprintf("http://%s/?token=%s", reachable(l.Addr(), host), s.Token), nil
}

// pages are the pages by their addresses.
func (s *Server) pages() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, "text/html", campaign.FleetPage, s.books.look())
	})
	mux.HandleFunc("GET /events", s.events)
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, "text/plain; version=0.0.4", writeMetrics, s.books.look())
	})
	mux.HandleFunc("GET /campaign/{id}", func(w http.ResponseWriter, r *http.Request) {
		for _, c := range s.books.look().Campaigns {
			if c.ID == r.PathValue("id") {
				answer(w, "text/html", campaign.Page, c.Campaign)
				return
			}
		}
		http.NotFound(w, r)
	})
	mux.HandleFunc("GET /finding/{id}/{run}", func(w http.ResponseWriter, r *http.Request) { s.finding(w, r, false) })
	mux.HandleFunc("GET /finding/{id}/{run}/trace", func(w http.ResponseWriter, r *http.Request) { s.finding(w, r, true) })
	return mux
}

// answer writes a page only when all of it could be made.
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

// guard lets in who knows the token: from the address once, which makes a cookie, or from a header.
func (s *Server) guard(next http.Handler) http.Handler {
	const name = "lockstep-fleet"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := r.URL.Query().Get("token")
		if given != "" && same(given, s.Token) {
			http.SetCookie(w, &http.Cookie{Name: name, Value: s.Token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			next.ServeHTTP(w, r)
			return
		}
		if c, err := r.Cookie(name); err == nil {
			given = c.Value
		}
		if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
			given = bearer
		}
		if !same(given, s.Token) {
			http.Error(w, "This fleet wants its token: open the address that lockstep fleet serve prints.", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// same compares in a time that does not depend on where texts differ.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// events sends the part of the page that changes, whenever it has, once a second at most.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	var last []byte
	for r.Context().Err() == nil {
		var b bytes.Buffer
		if campaign.FleetLive(&b, s.books.look()) != nil {
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

// finding writes the page of a finding, or its trace.
func (s *Server) finding(w http.ResponseWriter, r *http.Request, file bool) {
	run, err := strconv.Atoi(r.PathValue("run"))
	id := r.PathValue("id")
	if err != nil || !s.books.has(id, run) {
		http.NotFound(w, r)
		return
	}
	packed, err := s.store.getTrace(r.Context(), id, run)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	t, err := packed.Read()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	name := keep.NameOfRun(t, run) + ".trace"
	if file {
		w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(packed.Text)
		return
	}
	options := report.PageOptions{Replay: "lockstep replay " + name, Note: "The trace is at " + r.URL.Path + "/trace."}
	answer(w, "text/html", func(w io.Writer, v report.Views) error { return report.Page(w, v, options) }, report.Views{Found: t})
}

// has reports whether a campaign has a finding.
func (b *books) has(id string, run int) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	l := b.ledgers[id]
	return l != nil && slices.ContainsFunc(l.Findings, func(f Finding) bool { return f.Run == run })
}

// look is the fleet as it is now, in a copy.
func (b *books) look() *campaign.Fleet {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	f := &campaign.Fleet{Refused: b.refused}
	for _, l := range b.sorted() {
		line := campaign.FleetCampaign{ID: l.Job.ID, Name: l.Job.Name, State: cmp.Or(l.Job.Ended, "running"), Why: l.Why, Campaign: l.copied(), Of: l.Job.Hello.Runs}
		if l.Job.For > 0 {
			line.Of = 0
		}
		f.Campaigns = append(f.Campaigns, line)
		for _, x := range l.Findings {
			f.Findings = append(f.Findings, campaign.FleetFinding{Campaign: l.Job.ID, Property: x.Property, Shape: x.Shape, Text: x.Text, Run: x.Run, After: x.After.Round(time.Millisecond)})
		}
	}
	slices.Reverse(f.Campaigns)
	slices.Reverse(f.Findings)
	for _, r := range b.staff {
		f.Workers = append(f.Workers, campaign.FleetWorker{Name: r.Worker, Campaign: r.Campaign, Refuses: r.refusals(), Runs: r.Runs, Speed: r.Speed})
		if r.Campaign != "" {
			f.Speed += r.Speed
		}
	}
	slices.SortFunc(f.Workers, func(x, y campaign.FleetWorker) int { return strings.Compare(x.Name, y.Name) })
	return f
}

// copied is the campaign as it is now, of which nothing changes any more.
func (l *Ledger) copied() *campaign.Campaign {
	c := l.campaign()
	r := *l.Result
	r.Verdicts, r.Reasons = cloned(r.Verdicts), cloned(r.Reasons)
	r.Events, r.Judged, r.Effects = slices.Clone(r.Events), slices.Clone(r.Judged), slices.Clone(r.Effects)
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

// writeMetrics writes what Prometheus reads.
func writeMetrics(w io.Writer, f *campaign.Fleet) error {
	var b strings.Builder
	gauge := func(name, help string, value func(emit func(labels string, v float64))) {
		fmt.Fprintf(&b, "# HELP lockstep_%s %s\n# TYPE lockstep_%s gauge\n", name, help, name)
		value(func(labels string, v float64) { fmt.Fprintf(&b, "lockstep_%s%s %g\n", name, labels, v) })
	}
	gauge("workers", "Workers that have reported lately.", func(emit func(string, float64)) { emit("", float64(len(f.Workers))) })
	gauge("runs_per_second", "Runs a second of all workers.", func(emit func(string, float64)) { emit("", f.Speed) })
	gauge("refused_messages", "Messages that did not fit.", func(emit func(string, float64)) { emit("", float64(f.Refused)) })
	for _, m := range []struct {
		name, help string
		of         func(campaign.FleetCampaign) float64
	}{
		{"campaign_runs", "Runs of a campaign that were added up.", func(c campaign.FleetCampaign) float64 { return float64(c.Result.Runs) }},
		{"campaign_findings", "Failing runs of a campaign.", func(c campaign.FleetCampaign) float64 { return float64(c.Findings()) }},
		{"campaign_states", "Different states of a campaign, estimated.", func(c campaign.FleetCampaign) float64 { return float64(c.Result.States) }},
		{"campaign_running", "Whether a campaign goes on.", func(c campaign.FleetCampaign) float64 {
			if c.State == "running" {
				return 1
			}
			return 0
		}},
	} {
		gauge(m.name, m.help, func(emit func(string, float64)) {
			for _, c := range f.Campaigns {
				emit(fmt.Sprintf("{campaign=%s,target=%s,strategy=%s}", label(c.ID), label(c.Result.Target), label(c.Result.Strategy)), m.of(c))
			}
		})
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// label is a value as Prometheus reads it.
func label(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}
