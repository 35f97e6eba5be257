package nats

import (
	"bytes"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	_ "unsafe" // for linkname

	"github.com/nats-io/nats-server/v2/server"
	_ "github.com/nats-io/nats-server/v2/server/ats" // see accessTime
	_ "github.com/nats-io/nats-server/v2/server/pse" // see procStatFile
	"github.com/nats-io/nuid"
)

// Access to internals of the server through the linker. Tests need its replica of a stream, because no API identifies
// the server that answers. They also need its process-wide state, because one process holds several servers, and many
// runs.

// stream is the server's type of that name.
type stream struct{}

//go:linkname lookupStream github.com/nats-io/nats-server/v2/server.(*Account).lookupStream
func lookupStream(a *server.Account, name string) (*stream, error)

//go:linkname streamStore github.com/nats-io/nats-server/v2/server.(*stream).Store
func streamStore(s *stream) server.StreamStore

//go:linkname streamRaft github.com/nats-io/nats-server/v2/server.(*stream).raftNode
func streamRaft(s *stream) server.RaftNode

// inner is the server's type named consumer.
type inner struct{}

//go:linkname lookupConsumer github.com/nats-io/nats-server/v2/server.(*stream).lookupConsumer
func lookupConsumer(s *stream, name string) *inner

//go:linkname consumerInfo github.com/nats-io/nats-server/v2/server.(*consumer).info
func consumerInfo(c *inner) *server.ConsumerInfo

// progress is the progress of a server's replica of a consumer, or nil.
func progress(s *server.Server, stream, name string) *Progress {
	in, err := lookupStream(s.GlobalAccount(), stream)
	if err != nil {
		return nil
	}
	c := lookupConsumer(in, name)
	if c == nil {
		return nil
	}
	i := consumerInfo(c)
	if i == nil {
		return nil
	}
	return &Progress{
		Delivered: Place{i.Delivered.Consumer, i.Delivered.Stream},
		Floor:     Place{i.AckFloor.Consumer, i.AckFloor.Stream},
		Open:      i.NumAckPending,
	}
}

// jetStream is the server's type of that name.
type jetStream struct{}

//go:linkname serverJetStream github.com/nats-io/nats-server/v2/server.(*Server).getJetStream
func serverJetStream(s *server.Server) *jetStream

//go:linkname metaGroup github.com/nats-io/nats-server/v2/server.(*jetStream).getMetaGroup
func metaGroup(js *jetStream) server.RaftNode

// meta is a server's node in the meta group, which places streams, or nil.
func meta(s *server.Server) server.RaftNode {
	js := serverJetStream(s)
	if js == nil {
		return nil
	}
	return metaGroup(js)
}

// procStatFile is the file from which the server reads the CPU time and memory of the process. They differ between
// two runs, and the reading would continue in real time.
//
//go:linkname procStatFile github.com/nats-io/nats-server/v2/server/pse.procStatFile
var procStatFile string

func init() { procStatFile = "" } // there is no such file: the server reports 0

// ids generates the IDs of requests and inboxes.
//
//go:linkname ids github.com/nats-io/nuid.globalNUID
var ids *lockedNUID

type lockedNUID struct {
	_ [8]byte // a lock
	*nuid.NUID
}

// The service that caches the access time for the caches of all stores of the process: the number of its users, and
// the time.
//
//go:linkname accessUsers github.com/nats-io/nats-server/v2/server/ats.refs
var accessUsers atomic.Int64

//go:linkname accessTime github.com/nats-io/nats-server/v2/server/ats.utime
var accessTime atomic.Int64

// manyUsers exceeds every possible number of users, so that the service assumes that it runs.
const manyUsers = 1 << 40

// resetProcess resets the process-wide state of servers to that of a new process. The service would otherwise be a
// goroutine of the first server, and the time would stop with it; see [tick].
func resetProcess() {
	ids.NUID = nuid.New()
	accessUsers.Store(manyUsers)
	tick()
}

// tick does the work of the service: every server calls it regularly.
func tick() { accessTime.Store(time.Now().UnixNano()) }

// raftOf is a server's node in the raft group of a stream, or nil.
func raftOf(s *server.Server, name string) server.RaftNode {
	in, err := lookupStream(s.GlobalAccount(), name)
	if err != nil {
		return nil
	}
	return streamRaft(in)
}

// isLeader reports whether a server leads a stream.
func isLeader(s *server.Server, name string) bool {
	node := raftOf(s, name)
	return node != nil && node.State() == server.Leader
}

// content reads a server's replica of a stream, and reports whether it has one.
func content(s *server.Server, name string) (state server.StreamState, list Messages, ok bool) {
	return stored(s, name, func(seq uint64, _ []byte) uint64 { return seq })
}

// sourced reads a server's replica of a stream with sources. Its messages have the numbers of their source.
func sourced(s *server.Server, name string) (state server.StreamState, list Messages, ok bool) {
	return stored(s, name, func(_ uint64, header []byte) uint64 { return originOf(header) })
}

// originOf is the number of a message at its source, from its header, or 0.
func originOf(header []byte) uint64 {
	_, rest, _ := bytes.Cut(header, []byte(server.JSStreamSource+": "))
	line, _, _ := bytes.Cut(rest, []byte("\r\n"))
	words := strings.Fields(string(line)) // the source, the number, filters
	if len(words) < 2 {
		return 0
	}
	seq, err := strconv.ParseUint(words[1], 10, 64)
	if err != nil {
		return 0
	}
	return seq
}

// stored reads a server's replica of a stream. The caller's function derives each message's number from its number in
// the replica and its header.
func stored(s *server.Server, name string, number func(seq uint64, header []byte) uint64) (state server.StreamState,
	list Messages, ok bool) {
	in, err := lookupStream(s.GlobalAccount(), name)
	if err != nil {
		return state, nil, false
	}
	store := streamStore(in)
	store.FastState(&state)
	var space server.StoreMsg
	for seq := state.FirstSeq; seq != 0 && seq <= state.LastSeq; seq++ {
		m, err := store.LoadMsg(seq, &space)
		if err != nil {
			continue // deleted, or lost: other specs compare
		}
		fields := reflect.ValueOf(m).Elem()
		list = append(
			list,
			Message{
				Seq:     number(seq, fields.FieldByName("hdr").Bytes()),
				Subject: fields.FieldByName("subj").String(),
				Data:    string(fields.FieldByName("msg").Bytes()),
			},
		)
	}
	return state, list, true
}
