package etcdserver

import (
	"context"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/embed"
)

// unasked is the number of keys of a store that was not asked for it.
const unasked = -1

// count counts the keys of a member's store at its revision, without a message, and reports whether it could: the revision may have been
// compacted since. The server's hash of a store without keys is that of all that is left in its file, and so depends on how far a
// compaction has come: the hash leaves out what is to be compacted, unless there is nothing to be kept.
func (s *Store) count(ctx context.Context, server *embed.Etcd) bool {
	all, ctx := []byte{0}, server.Server.AuthStore().WithRoot(ctx)
	found, err := server.Server.Range(ctx, &etcdserverpb.RangeRequest{Key: all, RangeEnd: all, Revision: s.Revision, Serializable: true, CountOnly: true})
	if err != nil {
		return false
	}
	s.Keys = found.Count
	return true
}
