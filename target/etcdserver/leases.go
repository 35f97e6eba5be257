package etcdserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockstep-go/lockstep/bubble"
)

// The types of event about leases.
const (
	EventLease = "lease" // the state of a lease: [*Lease]
	EventHeld  = "held"  // the keys with leases that a read found: [*Held]
)

// The states of a lease.
const (
	// Holds means that a put with a lease succeeded, whose grant was requested at Began, or a keep-alive requested
	// then.
	Holds     = "holds"
	Lost      = "lost"      // the server reports that there is no such lease; it was asked at Began
	Ending    = "ending"    // the client stops keeping it alive, or requests its revocation
	Revoked   = "revoked"   // the server acknowledged the revocation
	Prolonged = "prolonged" // a leadership transfer extends all leases for a while; there is no key
)

// Lease is the value of an event about a lease.
type Lease struct {
	Key   string // attached to the lease
	What  string
	Began time.Duration // of the request
	TTL   time.Duration // the lease's TTL that the server reports
}

// String is the lease as text.
func (l *Lease) String() string {
	if l.What == Holds {
		return fmt.Sprintf("%s: %s for %v from %v on", l.Key, l.What, l.TTL, l.Began)
	}
	return l.Key + ": " + l.What
}

// Held is the keys with leases that a read found.
type Held struct {
	Began, Ended time.Duration // request and answer
	Keys         []string
}

// String is the keys as text.
func (h *Held) String() string {
	return fmt.Sprintf("asked at %v: %s", h.Began, strings.Join(h.Keys, " "))
}

// held is the prefix of the names of keys with a lease.
const held = "held"

// hold puts a key with a lease, keeps the lease alive for a while, and revokes it or lets it expire.
func (s *clients) hold(n *bubble.Node, client *clientv3.Client) {
	ttl, keeps, revoke := 2+n.Source().IntN(4), n.Source().IntN(4), n.Source().IntN(2) == 1
	s.mutex.Lock()
	s.holds++
	key := fmt.Sprint(held, s.holds)
	s.mutex.Unlock()
	report := func(what string, began time.Duration, ttl int64) {
		n.Emit(EventLease, &Lease{key, what, began, time.Duration(ttl) * time.Second})
	}
	began := s.world.Now()
	granted, err := asking(n,
		func(ctx context.Context) (*clientv3.LeaseGrantResponse, error) { return client.Grant(ctx, int64(ttl)) })
	if err != nil {
		return
	}
	if _, err := asking(n, func(ctx context.Context) (*clientv3.PutResponse, error) {
		return client.Put(ctx, key, key, clientv3.WithLease(granted.ID))
	}); err != nil {
		return
	}
	report(Holds, began, granted.TTL)
	s.readHeld(n, client)
	for range keeps {
		time.Sleep(time.Duration(ttl) * time.Second / 3)
		began := s.world.Now()
		kept, err := asking(n, func(ctx context.Context) (*clientv3.LeaseKeepAliveResponse, error) {
			return client.KeepAliveOnce(ctx, granted.ID)
		})
		switch {
		case err == nil:
			report(Holds, began, kept.TTL)
		case errors.Is(err, rpctypes.ErrLeaseNotFound):
			report(Lost, began, 0)
			return
		}
		s.readHeld(n, client)
	}
	report(Ending, s.world.Now(), granted.TTL)
	if !revoke {
		return
	}
	if _, err := asking(n, func(ctx context.Context) (*clientv3.LeaseRevokeResponse, error) {
		return client.Revoke(ctx, granted.ID)
	}); err == nil {
		report(Revoked, 0, 0)
		s.readHeld(n, client)
	}
}

// readHeld reads the keys that have leases.
func (s *clients) readHeld(n *bubble.Node, client *clientv3.Client) {
	h := &Held{Began: s.world.Now()}
	got, err := asking(n, func(ctx context.Context) (*clientv3.GetResponse, error) {
		return client.Get(ctx, held, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	})
	if err != nil {
		return
	}
	h.Ended = s.world.Now()
	for _, kv := range got.Kvs {
		h.Keys = append(h.Keys, string(kv.Key))
	}
	n.Emit(EventHeld, h)
}

// asking sends a request with the timeout of a client.
func asking[A any](n *bubble.Node, ask func(context.Context) (A, error)) (A, error) {
	ctx, cancel := context.WithTimeout(n.Context(), timeout)
	defer cancel()
	return ask(ctx)
}

// prolonged reports a leadership transfer, which extends all leases for a while.
func (s *clients) prolonged(n *bubble.Node) {
	if s.cluster.Holders > 0 {
		n.Emit(EventLease, &Lease{What: Prolonged})
	}
}
