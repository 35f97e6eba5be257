package etcdserver

import (
	"context"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/embed"
)

// empty reports whether a member's store has no key at a revision, which it may have compacted since. It is asked without a
// message. The server's hash of such a store is that of all that is left in its file, and so depends on how far a compaction has come:
// it leaves out what is to be compacted, unless there is nothing to be kept.
func empty(ctx context.Context, server *embed.Etcd, revision int64) (bool, error) {
	all := []byte{0}
	found, err := server.Server.Range(ctx, &etcdserverpb.RangeRequest{Key: all, RangeEnd: all, Revision: revision, Serializable: true, CountOnly: true})
	if err != nil {
		return false, err
	}
	return found.Count == 0, nil
}
