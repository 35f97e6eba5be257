package etcdserver

import (
	"context"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/embed"
)

// unasked stands for the unknown number of keys of a store.
const unasked = -1

// count counts the keys of a member's store at its revision, without a message. It reports false if the revision has
// been compacted since. The server's hash of a store without keys covers everything left in its file. It therefore
// depends on the progress of a compaction: the hash omits entries to be compacted only if some entry is to be kept.
func (s *Store) count(ctx context.Context, server *embed.Etcd) bool {
	all, ctx := []byte{0}, server.Server.AuthStore().WithRoot(ctx)
	found, err := server.Server.Range(ctx,
		&etcdserverpb.RangeRequest{Key: all, RangeEnd: all, Revision: s.Revision, Serializable: true, CountOnly: true})
	if err != nil {
		return false
	}
	s.Keys = found.Count
	return true
}
