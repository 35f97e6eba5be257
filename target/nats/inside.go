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

// What the server keeps to itself and is reached by the linker: its copy of a stream, because no API
// tells which server answers; and what it keeps for the whole process, because several servers, and
// many runs, are in one.

// stream is the server's type of that name.
type stream struct{}

//go:linkname lookupStream github.com/nats-io/nats-server/v2/server.(*Account).lookupStream
func lookupStream(a *server.Account, name string) (*stream, error)

//go:linkname streamStore github.com/nats-io/nats-server/v2/server.(*stream).Store
func streamStore(s *stream) server.StreamStore

//go:linkname streamRaft github.com/nats-io/nats-server/v2/server.(*stream).raftNode
func streamRaft(s *stream) server.RaftNode

// inner is the server's type consumer.
type inner struct{}

//go:linkname lookupConsumer github.com/nats-io/nats-server/v2/server.(*stream).lookupConsumer
func lookupConsumer(s *stream, name string) *inner

//go:linkname consumerInfo github.com/nats-io/nats-server/v2/server.(*consumer).info
func consumerInfo(c *inner) *server.ConsumerInfo

// progress is how far a server's copy of a consumer is, or nil.
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
	return &Progress{Delivered: Place{i.Delivered.Consumer, i.Delivered.Stream}, Floor: Place{i.AckFloor.Consumer, i.AckFloor.Stream}, Open: i.NumAckPending}
}

// jetStream is the server's type of that name.
type jetStream struct{}

//go:linkname serverJetStream github.com/nats-io/nats-server/v2/server.(*Server).getJetStream
func serverJetStream(s *server.Server) *jetStream

//go:linkname metaGroup github.com/nats-io/nats-server/v2/server.(*jetStream).getMetaGroup
func metaGroup(js *jetStream) server.RaftNode

// meta is a server's part in the group of all servers, which decides where streams are, or nil.
func meta(s *server.Server) server.RaftNode {
	js := serverJetStream(s)
	if js == nil {
		return nil
	}
	return metaGroup(js)
}

// procStatFile is the file from which the server reads how much processor time and memory the
// process takes, which are not the same in two runs; and it would go on in real time.
//
//go:linkname procStatFile github.com/nats-io/nats-server/v2/server/pse.procStatFile
var procStatFile string

func init() { procStatFile = "" } // there is no such file: the server tells 0

// ids makes the ids of requests and inboxes.
//
//go:linkname ids github.com/nats-io/nuid.globalNUID
var ids *lockedNUID

type lockedNUID struct {
	_ [8]byte // a lock
	*nuid.NUID
}

// The service that tells the time of accesses to caches, to all stores of the process: how many use it, and the
// time.
//
//go:linkname accessUsers github.com/nats-io/nats-server/v2/server/ats.refs
var accessUsers atomic.Int64

//go:linkname accessTime github.com/nats-io/nats-server/v2/server/ats.utime
var accessTime atomic.Int64

// manyUsers is more than will ever be: the service believes that it runs.
const manyUsers = 1 << 40

// anew makes what the process keeps for all servers as it is in a new process. The service would be a
// goroutine of the first server, and the time would stop with it; see [tick].
func anew() {
	ids.NUID = nuid.New()
	accessUsers.Store(manyUsers)
	tick()
}

// tick is what the service does: every server does it now and then.
func tick() { accessTime.Store(time.Now().UnixNano()) }

// raftOf is a server's part in the raft group of a stream, or nil.
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

// content reads a server's copy of a stream, and reports whether it has one.
func content(s *server.Server, name string) (state server.StreamState, list Messages, ok bool) {
	return stored(s, name, func(seq uint64, _ []byte) uint64 { return seq })
}

// sourced reads a server's copy of a stream that has sources. Its messages have the numbers that they have there.
func sourced(s *server.Server, name string) (state server.StreamState, list Messages, ok bool) {
	return stored(s, name, func(_ uint64, header []byte) uint64 { return originOf(header) })
}

// originOf is the number that a message has at its source, by its header, or 0.
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

// stored reads a server's copy of a stream, with the numbers that somebody makes of those in the copy and the headers.
func stored(s *server.Server, name string, number func(seq uint64, header []byte) uint64) (state server.StreamState, list Messages, ok bool) {
	in, err := lookupStream(s.GlobalAccount(), name)
	if err != nil {
		return state, nil, false
	}
	store := streamStore(in)
	store.FastState(&state)
	var room server.StoreMsg
	for seq := state.FirstSeq; seq != 0 && seq <= state.LastSeq; seq++ {
		m, err := store.LoadMsg(seq, &room)
		if err != nil {
			continue // deleted, or lost: others compare
		}
		fields := reflect.ValueOf(m).Elem()
		list = append(list, Message{Seq: number(seq, fields.FieldByName("hdr").Bytes()), Subject: fields.FieldByName("subj").String(), Data: string(fields.FieldByName("msg").Bytes())})
	}
	return state, list, true
}
