package etcdserver

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/kit/watch"
)

// rewritten is a key after all others, so that it is the only key in the range that it begins.
const rewritten = "rewritten"

// rewrite reads a key, and then deletes all keys from it on and puts it again, in one transaction.
func (s *clients) rewrite(ctx context.Context, n *bubble.Node, client *clientv3.Client) {
	value := fmt.Sprint(n.Source().IntN(1_000_000_000))
	if _, err := client.Get(ctx, rewritten); err != nil {
		return
	}
	done, err := client.Txn(ctx).
		Then(clientv3.OpDelete(rewritten, clientv3.WithFromKey()), clientv3.OpPut(rewritten, value)).
		Commit()
	if err != nil {
		return
	}
	s.mutex.Lock()
	s.wrote(n, []watch.Change{{Revision: done.Header.Revision, Key: rewritten, Value: value}})
	s.mutex.Unlock()
}

// beside is the key that is put beside a read at an earlier revision.
const beside = "beside"

// readEarlier reads a key at an earlier revision and puts another key, in one transaction. If the revision was
// compacted, the transaction fails, and no member may have put the key.
func (s *clients) readEarlier(ctx context.Context, n *bubble.Node, client *clientv3.Client) {
	value, back := fmt.Sprint(n.Source().IntN(1_000_000_000)), int64(n.Source().IntN(1<<20))
	s.mutex.Lock()
	at := s.newest
	s.mutex.Unlock()
	if at < 2 {
		return
	}
	at -= back % (at - 1)
	done, err := client.Txn(ctx).
		Then(clientv3.OpGet(kv.KeyName(0), clientv3.WithRev(at)), clientv3.OpPut(beside, value)).
		Commit()
	if err != nil {
		return
	}
	s.mutex.Lock()
	s.wrote(n, []watch.Change{{Revision: done.Header.Revision, Key: beside, Value: value}})
	s.mutex.Unlock()
}

// follow adds a change to those of a revision. If a key is deleted and put again in one transaction, the last change
// counts.
func follow(list []watch.Change, c watch.Change) []watch.Change {
	for i := range list {
		if was := &list[i]; was.Revision == c.Revision && was.Key == c.Key && was.Deleted && !c.Deleted {
			*was = c
			return list
		}
	}
	return append(list, c)
}
