package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/internal/batch"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Client gives campaigns to a fleet and reads their results.
type Client struct{ store *store }

// Dial connects to the fleet at a URL, with its work token.
func Dial(ctx context.Context, url, token string) (*Client, error) {
	s, err := connect(url, token, func(string) {})
	if err != nil {
		return nil, err
	}
	if err := s.open(ctx); err != nil {
		s.conn.Close()
		return nil, err
	}
	return &Client{s}, nil
}

// Close ends the connection.
func (c *Client) Close() { c.store.conn.Close() }

// command sends a command to the server.
func (c *Client) command(ctx context.Context, command Command) ([]string, error) {
	text, err := json.Marshal(command)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	m, err := c.store.conn.RequestWithContext(limited, commandSubject, text)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, fmt.Errorf("there is NATS at %s, but no fleet: lockstep fleet serve is not running",
			c.store.conn.ConnectedUrl())
	}
	if err != nil {
		return nil, err
	}
	var answer Answer
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return answer.IDs, errors.New(answer.Error)
	}
	return answer.IDs, nil
}

// Give gives campaigns to the fleet, and returns their names there.
func (c *Client) Give(ctx context.Context, jobs ...Job) ([]string, error) {
	return c.command(ctx, Command{Do: "give", Jobs: jobs})
}

// Stop ends a campaign, or those of a plan, and returns which.
func (c *Client) Stop(ctx context.Context, id string) ([]string, error) {
	return c.command(ctx, Command{Do: "stop", ID: id})
}

// Ledgers returns the states of all campaigns.
func (c *Client) Ledgers(ctx context.Context) ([]*Ledger, error) {
	return all(ctx, c.store.ledgers, readLedger, func(string) {})
}

// Workers returns the workers that have reported lately.
func (c *Client) Workers(ctx context.Context) ([]Report, error) {
	return all(ctx, c.store.workers, readReport, func(string) {})
}

// Traces returns the traces of the findings that a campaign keeps.
func (c *Client) Traces(ctx context.Context, l *Ledger) (list []batch.Trace, err error) {
	for _, f := range l.Findings {
		t, err := c.store.getTrace(ctx, l.Job.ID, f.Run)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

// Wait waits until a campaign has ended, and shows its progress. When the context ends, Wait stops the campaign.
func (c *Client) Wait(ctx context.Context, id string, show func(*Ledger)) (*Ledger, error) {
	lasting := context.WithoutCancel(ctx)
	stop := context.AfterFunc(ctx, func() { _, _ = c.Stop(lasting, id) })
	defer stop()
	for {
		l, err := c.store.ledger(lasting, id)
		if err == nil {
			if show(l); l.Job.Ended != "" {
				return l, nil
			}
		} else if errors.Is(err, jetstream.ErrKeyNotFound) || ctx.Err() != nil {
			return nil, err
		} // otherwise the server is gone temporarily
		pause(lasting, look)
	}
}

// look is the polling interval of a waiting client.
const look = 200 * time.Millisecond
