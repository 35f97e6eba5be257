package hashicorpraft

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/bubble/rpc"
)

// messageTypes are the types of messages: requests, their responses, and the chunks of a snapshot.
var messageTypes = []string{"AppendEntries", "AppendEntriesResponse", "Heartbeat", "HeartbeatResponse", "RequestVote",
	"RequestVoteResponse",
	"RequestPreVote", "RequestPreVoteResponse", "TimeoutNow", "TimeoutNowResponse", "InstallSnapshot",
	"InstallSnapshotResponse", "SnapshotChunk"}

// packet is the content of one message of the engine.
type packet struct {
	rpc.Message        // a request or a response; for a chunk without a body
	stream      uint64 // the message's pipeline or snapshot; 0: none
	seq         int    // its place there, from 0
	chunk       []byte
}

// String is the content of the message.
func (p *packet) String() string {
	t := newText("")
	switch b := p.Body.(type) {
	case *raft.AppendEntriesRequest:
		t.number("term", b.Term).pair("prev", b.PrevLogTerm, b.PrevLogEntry).number("commit", b.LeaderCommitIndex)
		for _, e := range b.Entries {
			t.entry(e)
		}
	case *raft.AppendEntriesResponse:
		t.number("term", b.Term).number("last", b.LastLog).flag("success", b.Success)
	case *raft.RequestVoteRequest:
		t.number("term", b.Term).pair("last", b.LastLogTerm, b.LastLogIndex).flag("transfer", b.LeadershipTransfer)
	case *raft.RequestVoteResponse:
		t.number("term", b.Term).flag("granted", b.Granted)
	case *raft.InstallSnapshotRequest:
		t.number("term", b.Term).pair("snapshot", b.LastLogTerm, b.LastLogIndex).number("size", uint64(b.Size))
	case *raft.InstallSnapshotResponse:
		t.number("term", b.Term).flag("success", b.Success)
	case nil:
		t.number("chunk", uint64(p.seq)).number("bytes", uint64(len(p.chunk)))
	default:
		t.preVote(p.Body)
	}
	if p.Err != "" {
		t.word("error").b = strconv.AppendQuote(t.b, p.Err)
	}
	return string(t.b)
}

// transport is the network of one incarnation of a node.
type transport struct {
	node     *bubble.Node
	replica  *replica
	calls    *rpc.Calls
	timeout  time.Duration // of a call
	inFlight int
	consume  chan raft.RPC
	busy     atomic.Int64 // requests being served
	served   atomic.Int64 // and all so far

	mutex     sync.Mutex
	heartbeat func(raft.RPC)
	streams   uint64 // begun
	incoming  map[streamID]*stream
	answered  []*serving // to be used again
}

func newTransport(n *bubble.Node, r *replica, c Cluster) *transport {
	return &transport{node: n, replica: r, calls: rpc.New(n, c.Timeout), timeout: c.Timeout, inFlight: c.InFlight,
		consume: make(chan raft.RPC, 64), incoming: map[streamID]*stream{}}
}

// Consumer is the channel from which the library takes requests.
func (t *transport) Consumer() <-chan raft.RPC { return t.consume }

// LocalAddr is the node's address.
func (t *transport) LocalAddr() raft.ServerAddress { return address(t.node.Self()) }

// EncodePeer encodes an address.
func (t *transport) EncodePeer(_ raft.ServerID, a raft.ServerAddress) []byte {
	return names[nodeOf(a)].bytes
}

// DecodePeer decodes an address.
func (t *transport) DecodePeer(b []byte) raft.ServerAddress {
	return names[nodeOf(raft.ServerAddress(b))].address
}

// SetHeartbeatHandler sets the function that handles heartbeats instead of the queue.
func (t *transport) SetHeartbeatHandler(f func(raft.RPC)) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.heartbeat = f
}

// handler is that function.
func (t *transport) handler() func(raft.RPC) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.heartbeat
}

// Close ends all calls.
func (t *transport) Close() error {
	t.calls.Close()
	return nil
}

// AppendEntries replicates entries.
func (t *transport) AppendEntries(_ raft.ServerID, to raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse) error {
	kind := "AppendEntries"
	if isHeartbeat(args) {
		kind = "Heartbeat"
	}
	return do(t, to, kind, args, resp)
}

// RequestVote requests a vote.
func (t *transport) RequestVote(_ raft.ServerID, to raft.ServerAddress, args *raft.RequestVoteRequest,
	resp *raft.RequestVoteResponse) error {
	return do(t, to, "RequestVote", args, resp)
}

// TimeoutNow asks a node to campaign at once.
func (t *transport) TimeoutNow(_ raft.ServerID, to raft.ServerAddress, args *raft.TimeoutNowRequest,
	resp *raft.TimeoutNowResponse) error {
	return do(t, to, "TimeoutNow", args, resp)
}

// isHeartbeat recognizes heartbeats as the library's TCP transport does.
func isHeartbeat(a *raft.AppendEntriesRequest) bool {
	return a.Term != 0 && a.PrevLogEntry == 0 && a.PrevLogTerm == 0 && len(a.Entries) == 0 && a.LeaderCommitIndex == 0
}

// do makes a call and returns its response.
func do[Q, R any](t *transport, to raft.ServerAddress, kind string, args *Q, resp *R) error {
	sent := &struct {
		packet packet
		args   Q
	}{args: *args}
	sent.packet.Body = &sent.args
	answer, err := t.calls.Ask(nodeOf(to), kind, &sent.packet)
	return into(resp, answer, err)
}

// into passes a response to the caller.
func into[R any](resp *R, answer *rpc.Message, err error) error {
	if err != nil {
		return err
	}
	if r, ok := answer.Body.(*R); ok && r != nil {
		*resp = *r
	}
	if answer.Err != "" {
		return errors.New(answer.Err)
	}
	return nil
}

// newStream is the number of a new stream.
func (t *transport) newStream() uint64 {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.streams++
	return t.streams
}

// chunkSize is the size of a snapshot's chunks.
const chunkSize = 64

// InstallSnapshot sends a snapshot: the request and then the data in chunks.
func (t *transport) InstallSnapshot(_ raft.ServerID, to raft.ServerAddress, args *raft.InstallSnapshotRequest,
	resp *raft.InstallSnapshotResponse, data io.Reader) error {
	all, err := io.ReadAll(data)
	if err != nil {
		return err
	}
	copied := *args
	stream := t.newStream()
	call := t.calls.Begin(nodeOf(to), "InstallSnapshot", &packet{Message: rpc.Message{Body: &copied}, stream: stream})
	for seq := 1; len(all) > 0; seq++ {
		size := min(chunkSize, len(all))
		t.calls.Send(nodeOf(to), "SnapshotChunk", &packet{stream: stream, seq: seq, chunk: all[:size]}, nil)
		all = all[size:]
	}
	answer, err := call.Wait()
	return into(resp, answer, err)
}

// chunks is the reader of an incoming snapshot.
type chunks struct {
	transport *transport
	more      chan []byte
	rest      bytes.Buffer
}

func newChunks(t *transport) *chunks { return &chunks{transport: t, more: make(chan []byte, 1000)} }

func (c *chunks) add(data []byte) {
	select {
	case c.more <- data:
	case <-c.transport.calls.Closed():
	}
}

// Read waits for the next chunk, up to the timeout of a call.
func (c *chunks) Read(p []byte) (int, error) {
	if c.rest.Len() == 0 {
		timer := time.NewTimer(c.transport.timeout)
		defer timer.Stop()
		select {
		case data := <-c.more:
			c.rest.Write(data)
		case <-timer.C:
			return 0, rpc.ErrTimeout
		case <-c.transport.calls.Closed():
			return 0, rpc.ErrClosed
		}
	}
	return c.rest.Read(p)
}
