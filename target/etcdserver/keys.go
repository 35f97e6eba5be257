package etcdserver

import (
	"context"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/embed"
)

// empty reports whether a member's store has no key at a revision, or might have none: the revision may have been compacted since. It
// is asked without a message. The server's hash of such a store is that of all that is left in its file, and so depends on how far a
// compaction has come: it leaves out what is to be compacted, unless there is nothing to be kept.
func empty(ctx context.Context, server *embed.Etcd, revision int64) bool {
	all := []byte{0}
	found, err := server.Server.Range(ctx, &etcdserverpb.RangeRequest{Key: all, RangeEnd: all, Revision: revision, Serializable: true, CountOnly: true})
	return err != nil || found.Count == 0
}
