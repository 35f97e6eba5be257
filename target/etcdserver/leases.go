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

// The types of event that tell of leases.
const (
	EventLease = "lease" // something about a lease: [*Lease]
	EventHeld  = "held"  // which keys that have leases were read: [*Held]
)

// What is told of a lease.
const (
	Holds     = "holds"     // the key was put with a lease, whose grant was asked for at Began, or the lease was kept alive, as was asked for then
	Lost      = "lost"      // the server says that there is no such lease; it was asked at Began
	Ending    = "ending"    // it is no longer kept alive, or asked to be revoked
	Revoked   = "revoked"   // that was acknowledged
	Prolonged = "prolonged" // leadership is given away, after which all leases live on for a while; there is no key
)

// Lease is something about a lease.
type Lease struct {
	Key   string // that lives as long as the lease
	What  string
	Began time.Duration // when it was asked for
	TTL   time.Duration // what the server says that the lease has
}

// String is the lease in words.
func (l *Lease) String() string {
	if l.What == Holds {
		return fmt.Sprintf("%s: %s for %v from %v on", l.Key, l.What, l.TTL, l.Began)
	}
	return l.Key + ": " + l.What
}

// Held is the keys that were read, of those that have leases.
type Held struct {
	Began, Ended time.Duration // when it was asked for, and answered
	Keys         []string
}

// String is the keys in words.
func (h *Held) String() string {
	return fmt.Sprintf("asked at %v: %s", h.Began, strings.Join(h.Keys, " "))
}

// held begins the names of keys that live as long as a lease.
const held = "held"

// hold puts a key with a lease, keeps that alive for a while, and gives it back or lets it expire.
func (s *clients) hold(n *bubble.Node, client *clientv3.Client) {
	ttl, keeps, revoke := 2+n.Chance().IntN(4), n.Chance().IntN(4), n.Chance().IntN(2) == 1
	s.mutex.Lock()
	s.holds++
	key := fmt.Sprint(held, s.holds)
	s.mutex.Unlock()
	tell := func(what string, began time.Duration, ttl int64) {
		n.Emit(EventLease, &Lease{key, what, began, time.Duration(ttl) * time.Second})
	}
	began := s.world.Now()
	granted, err := asking(n, func(ctx context.Context) (*clientv3.LeaseGrantResponse, error) { return client.Grant(ctx, int64(ttl)) })
	if err != nil {
		return
	}
	if _, err := asking(n, func(ctx context.Context) (*clientv3.PutResponse, error) {
		return client.Put(ctx, key, key, clientv3.WithLease(granted.ID))
	}); err != nil {
		return
	}
	tell(Holds, began, granted.TTL)
	s.readHeld(n, client)
	for range keeps {
		time.Sleep(time.Duration(ttl) * time.Second / 3)
		began := s.world.Now()
		kept, err := asking(n, func(ctx context.Context) (*clientv3.LeaseKeepAliveResponse, error) {
			return client.KeepAliveOnce(ctx, granted.ID)
		})
		switch {
		case err == nil:
			tell(Holds, began, kept.TTL)
		case errors.Is(err, rpctypes.ErrLeaseNotFound):
			tell(Lost, began, 0)
			return
		}
		s.readHeld(n, client)
	}
	tell(Ending, s.world.Now(), granted.TTL)
	if !revoke {
		return
	}
	if _, err := asking(n, func(ctx context.Context) (*clientv3.LeaseRevokeResponse, error) {
		return client.Revoke(ctx, granted.ID)
	}); err == nil {
		tell(Revoked, 0, 0)
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

// asking asks with the patience of a client.
func asking[A any](n *bubble.Node, ask func(context.Context) (A, error)) (A, error) {
	ctx, cancel := context.WithTimeout(n.Context(), patience)
	defer cancel()
	return ask(ctx)
}

// prolonged tells that leadership is given away, after which leases live on for a while.
func (s *clients) prolonged(n *bubble.Node) {
	if s.cluster.Holders > 0 {
		n.Emit(EventLease, &Lease{What: Prolonged})
	}
}
