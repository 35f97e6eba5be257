package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/internal/batch"
	"github.com/lockstep-go/lockstep/internal/words"
)

// view reads the state of a fleet: a [Client] does so with the work token, a pageClient with the view token.
type view interface {
	status(ctx context.Context) (*status, error)
	// findings returns the findings of a campaign or a plan; all findings if the name is empty.
	findings(ctx context.Context, name string) ([]Finding, error)
	trace(ctx context.Context, id string, run int) (batch.Trace, error)
	Close()
}

// status is the JSON output of the command status.
type status struct {
	Campaigns []line   `json:"campaigns"`
	Workers   []Report `json:"workers"`
	// Quarantine has the last rejected parts of all campaigns.
	Quarantine []Quarantined `json:"quarantine"`
}

// statusOf returns the status of campaigns and workers.
func statusOf(ledgers []*Ledger, workers []Report) *status {
	s := &status{Campaigns: []line{}, Workers: append([]Report{}, workers...), Quarantine: []Quarantined{}}
	for _, l := range ledgers {
		s.Campaigns = append(s.Campaigns, lineOf(l))
		s.Quarantine = append(s.Quarantine, l.Quarantine...)
	}
	slices.SortFunc(s.Campaigns, func(a, b line) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(s.Workers, func(a, b Report) int { return strings.Compare(a.Worker, b.Worker) })
	slices.SortStableFunc(s.Quarantine, func(a, b Quarantined) int { return strings.Compare(a.Campaign, b.Campaign) })
	return s
}

// findingsOf returns the findings of a campaign or plan, or all findings.
func findingsOf(ledgers []*Ledger, name string) ([]Finding, error) {
	known, found := name == "", []Finding{}
	for _, l := range ledgers {
		if name == "" || l.Job.ID == name || l.Job.Plan == name {
			known, found = true, append(found, l.Findings...)
		}
	}
	if !known {
		return nil, fmt.Errorf("the fleet has no campaign %.50q", name)
	}
	return found, nil
}

func (c *Client) status(ctx context.Context) (*status, error) {
	ledgers, err := c.Ledgers(ctx)
	workers, failed := c.Workers(ctx)
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	return statusOf(ledgers, workers), nil
}

func (c *Client) findings(ctx context.Context, name string) ([]Finding, error) {
	ledgers, err := c.Ledgers(ctx)
	if err != nil {
		return nil, err
	}
	return findingsOf(ledgers, name)
}

func (c *Client) trace(ctx context.Context, id string, run int) (batch.Trace, error) {
	return c.store.getTrace(ctx, id, run)
}

// pageClient reads the JSON of a fleet's page.
type pageClient struct {
	root  string
	token string
	http  http.Client
}

// dialPage returns a client of the page at an address.
func dialPage(address, token string) (*pageClient, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "":
		return nil, errors.New("the address of the fleet's page is like http://HOST:4280")
	case u.User != nil || u.RawQuery != "":
		return nil, errTokenInAddress
	case token == "":
		return nil, fmt.Errorf(
			"the page of a fleet wants the view token: give it by --token-file FILE or by the variable %s",
			TokenVariable)
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &pageClient{
		root:  strings.TrimSuffix(u.String(), "/"),
		token: token,
		http:  http.Client{Timeout: time.Minute, CheckRedirect: stay},
	}, nil
}

// Close closes the connections.
func (p *pageClient) Close() { p.http.CloseIdleConnections() }

// get reads a value.
func (p *pageClient) get(ctx context.Context, path string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.root+path, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	answer, err := p.http.Do(r)
	if err != nil {
		return fmt.Errorf("no page of a fleet at %s: %w", p.root, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxTrace))
	switch {
	case err != nil:
		return err
	case answer.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("the fleet at %s does not know this view token", p.root)
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %s: %.500s", p.root, answer.Status, words.Clean(strings.TrimSpace(string(body))))
	}
	return json.Unmarshal(body, into)
}

func (p *pageClient) status(ctx context.Context) (*status, error) {
	s := &status{}
	return s, p.get(ctx, "/status", s)
}

func (p *pageClient) findings(ctx context.Context, name string) ([]Finding, error) {
	var list foundList
	err := p.get(ctx, "/findings?campaign="+url.QueryEscape(name), &list)
	return list.Findings, err
}

func (p *pageClient) trace(ctx context.Context, id string, run int) (t batch.Trace, err error) {
	if err = p.get(ctx, fmt.Sprintf("/finding/%s/%d/stored", url.PathEscape(id), run), &t); err == nil {
		_, err = openTrace(&t)
	}
	return t, err
}

// foundList is the JSON output of the command findings.
type foundList struct {
	Findings []Finding `json:"findings"`
}
