package etcdserver

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockstep-go/lockstep/bubble"
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
