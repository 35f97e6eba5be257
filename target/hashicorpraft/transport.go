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

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
)

// The errors of a transport.
var (
	errTimeout = errors.New("call timed out")
	errClosed  = errors.New("transport closed")
)

// messageTypes are the types of messages: requests, their answers, and the chunks of a
// snapshot.
var messageTypes = []string{"AppendEntries", "AppendEntriesResponse", "Heartbeat", "HeartbeatResponse", "RequestVote", "RequestVoteResponse",
	"RequestPreVote", "RequestPreVoteResponse", "TimeoutNow", "TimeoutNowResponse", "InstallSnapshot", "InstallSnapshotResponse", "SnapshotChunk"}

// packet is what one message of the engine carries.
type packet struct {
	life   int          // of the sender of the request
	caller chan *packet // takes the answer; nil for a chunk
	stream uint64       // the pipeline or snapshot it belongs to; 0: none
	seq    int          // its place there, from 0
	answer bool
	body   any // the request or the response; nil for a chunk
	chunk  []byte
	err    string // of the answer
}

// String is the content of the message.
func (p *packet) String() string {
	t := newText("")
	switch b := p.body.(type) {
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
		t.preVote(p.body)
	}
	if p.err != "" {
		t.word("error").b = strconv.AppendQuote(t.b, p.err)
	}
	return string(t.b)
}

// transport is the network of one life of a node.
type transport struct {
	node     *bubble.Node
	replica  *replica
	timeout  time.Duration
	inFlight int
	consume  chan raft.RPC
	closed   chan struct{}
	close    sync.Once
	busy     atomic.Int64 // requests being served
	served   atomic.Int64 // and all so far

	mutex     sync.Mutex
	heartbeat func(raft.RPC)
	streams   uint64 // begun
	incoming  map[streamID]*stream
	timers    []*time.Timer // of calls that have ended
}

// streamID names a stream that comes in.
type streamID struct {
	from   lockstep.Node
	life   int
	number uint64
}

// stream takes the messages of a stream in their order.
type stream struct {
	next    int
	waiting map[int]*packet
	busy    bool    // a request is being served
	chunks  *chunks // of a snapshot that is coming in
}

func newTransport(n *bubble.Node, r *replica, c Cluster) *transport {
	return &transport{node: n, replica: r, timeout: c.Timeout, inFlight: c.InFlight, consume: make(chan raft.RPC, 64),
		closed: make(chan struct{}), incoming: map[streamID]*stream{}}
}

// Consumer is where the library takes requests from.
func (t *transport) Consumer() <-chan raft.RPC { return t.consume }

// LocalAddr is the node's address.
func (t *transport) LocalAddr() raft.ServerAddress { return address(t.node.Self()) }

// EncodePeer and DecodePeer turn an address into bytes and back.
func (t *transport) EncodePeer(_ raft.ServerID, a raft.ServerAddress) []byte { return []byte(a) }

// DecodePeer is the way back.
func (t *transport) DecodePeer(b []byte) raft.ServerAddress { return raft.ServerAddress(b) }

// SetHeartbeatHandler names the function that heartbeats take instead of the queue.
func (t *transport) SetHeartbeatHandler(f func(raft.RPC)) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.heartbeat = f
}

// Close ends all calls.
func (t *transport) Close() error {
	t.close.Do(func() { close(t.closed) })
	return nil
}

// AppendEntries replicates entries.
func (t *transport) AppendEntries(_ raft.ServerID, to raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	kind := "AppendEntries"
	if isHeartbeat(args) {
		kind = "Heartbeat"
	}
	return call(t, to, kind, args, resp)
}

// RequestVote asks for a vote.
func (t *transport) RequestVote(_ raft.ServerID, to raft.ServerAddress, args *raft.RequestVoteRequest, resp *raft.RequestVoteResponse) error {
	return call(t, to, "RequestVote", args, resp)
}

// TimeoutNow asks a node to campaign at once.
func (t *transport) TimeoutNow(_ raft.ServerID, to raft.ServerAddress, args *raft.TimeoutNowRequest, resp *raft.TimeoutNowResponse) error {
	return call(t, to, "TimeoutNow", args, resp)
}

// isHeartbeat tells heartbeats as the library's TCP transport does.
func isHeartbeat(a *raft.AppendEntriesRequest) bool {
	return a.Term != 0 && a.PrevLogEntry == 0 && a.PrevLogTerm == 0 && len(a.Entries) == 0 && a.LeaderCommitIndex == 0
}

// call makes a call and waits for its answer.
func call[Q, R any](t *transport, to raft.ServerAddress, kind string, args *Q, resp *R) error {
	copied := *args
	return take(t, t.send(to, kind, &packet{body: &copied}), resp)
}

// send sends a request. The answer comes by the channel.
func (t *transport) send(to raft.ServerAddress, kind string, p *packet) chan *packet {
	p.life, p.caller = t.node.Life(), make(chan *packet, 1)
	t.node.Send(nodeOf(to), kind, lockstep.Tag{}, p)
	return p.caller
}

// take waits for the answer to a call.
func take[R any](t *transport, answer chan *packet, resp *R) error {
	timer := t.timer()
	defer t.timed(timer)
	select {
	case p := <-answer:
		if r, ok := p.body.(*R); ok && r != nil {
			*resp = *r
		}
		if p.err != "" {
			return errors.New(p.err)
		}
		return nil
	case <-timer.C:
		return errTimeout
	case <-t.closed:
		return errClosed
	}
}

// timer is a timer for a call, an old one where there is one.
func (t *transport) timer() *time.Timer {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	k := len(t.timers) - 1
	if k < 0 {
		return time.NewTimer(t.timeout)
	}
	timer := t.timers[k]
	t.timers = t.timers[:k]
	timer.Reset(t.timeout)
	return timer
}

// timed takes a timer back.
func (t *transport) timed(timer *time.Timer) {
	timer.Stop()
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.timers = append(t.timers, timer)
}

// receive takes a message that the engine delivers. It does not block.
func (t *transport) receive(from lockstep.Node, body any) {
	p := body.(*packet)
	switch {
	case p.answer:
		if p.life == t.node.Life() {
			select {
			case p.caller <- p:
			default:
			}
		}
	case p.stream == 0:
		t.node.Go(func() { t.serve(from, p, nil) })
	default:
		t.streamed(from, p)
	}
}

// streamed takes a message of a stream when its turn comes.
func (t *transport) streamed(from lockstep.Node, p *packet) {
	t.mutex.Lock()
	id := streamID{from, p.life, p.stream}
	s := t.incoming[id]
	if s == nil {
		s = &stream{waiting: map[int]*packet{}}
		t.incoming[id] = s
	}
	s.waiting[p.seq] = p
	begin := !s.busy
	s.busy = true
	t.mutex.Unlock()
	if begin {
		t.node.Go(func() { t.drain(from, s) })
	}
}

// drain serves what is in order, and ends when something is missing.
func (t *transport) drain(from lockstep.Node, s *stream) {
	for {
		t.mutex.Lock()
		p := s.waiting[s.next]
		if p == nil {
			s.busy = false
			t.mutex.Unlock()
			return
		}
		delete(s.waiting, s.next)
		s.next++
		t.mutex.Unlock()
		switch p.body.(type) {
		case *raft.InstallSnapshotRequest:
			s.chunks = newChunks(t)
			t.node.Go(func() { t.serve(from, p, s.chunks) })
		case nil:
			s.chunks.add(p.chunk)
		default:
			t.serve(from, p, nil)
		}
	}
}

// serve hands a request to the library and sends its answer.
func (t *transport) serve(from lockstep.Node, p *packet, data io.Reader) {
	answers := make(chan raft.RPCResponse, 1)
	rpc := raft.RPC{Command: p.body, Reader: data, RespChan: answers}
	kind := typeOf(p.body)
	t.busy.Add(1)
	defer t.busy.Add(-1)
	done := t.replica.watchPreVote(t.node, p.body)
	t.served.Add(1)
	if request, ok := p.body.(*raft.AppendEntriesRequest); ok && isHeartbeat(request) {
		kind = "Heartbeat"
		t.mutex.Lock()
		handle := t.heartbeat
		t.mutex.Unlock()
		if handle != nil {
			handle(rpc)
		} else {
			t.consume <- rpc
		}
	} else {
		select {
		case t.consume <- rpc:
		case <-t.closed:
			return
		}
	}
	select {
	case a := <-answers:
		if done != nil {
			done(a.Response)
		}
		reply := &packet{life: p.life, caller: p.caller, answer: true, body: a.Response}
		if a.Error != nil {
			reply.err = a.Error.Error()
		}
		t.node.Send(from, kind+"Response", lockstep.Tag{}, reply)
	case <-t.closed:
	}
}

// typeOf is the name of a request's type.
func typeOf(request any) string {
	switch request.(type) {
	case *raft.AppendEntriesRequest:
		return "AppendEntries"
	case *raft.RequestVoteRequest:
		return "RequestVote"
	case *raft.InstallSnapshotRequest:
		return "InstallSnapshot"
	case *raft.TimeoutNowRequest:
		return "TimeoutNow"
	default:
		return "RequestPreVote"
	}
}

// chunkSize is the size of a snapshot's chunks.
const chunkSize = 64

// InstallSnapshot sends a snapshot: the request and then the data in chunks.
func (t *transport) InstallSnapshot(_ raft.ServerID, to raft.ServerAddress, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, data io.Reader) error {
	all, err := io.ReadAll(data)
	if err != nil {
		return err
	}
	copied := *args
	t.mutex.Lock()
	t.streams++
	stream := t.streams
	t.mutex.Unlock()
	answer := t.send(to, "InstallSnapshot", &packet{body: &copied, stream: stream})
	for seq := 1; len(all) > 0; seq++ {
		size := min(chunkSize, len(all))
		t.node.Send(nodeOf(to), "SnapshotChunk", lockstep.Tag{}, &packet{life: t.node.Life(), stream: stream, seq: seq, chunk: all[:size]})
		all = all[size:]
	}
	return take(t, answer, resp)
}

// chunks is the reader of a snapshot that is coming in.
type chunks struct {
	transport *transport
	more      chan []byte
	rest      bytes.Buffer
}

func newChunks(t *transport) *chunks { return &chunks{transport: t, more: make(chan []byte, 1000)} }

func (c *chunks) add(data []byte) {
	select {
	case c.more <- data:
	case <-c.transport.closed:
	}
}

// Read waits for the next chunk, as long as a call may take.
func (c *chunks) Read(p []byte) (int, error) {
	if c.rest.Len() == 0 {
		timer := c.transport.timer()
		defer c.transport.timed(timer)
		select {
		case data := <-c.more:
			c.rest.Write(data)
		case <-timer.C:
			return 0, errTimeout
		case <-c.transport.closed:
			return 0, errClosed
		}
	}
	return c.rest.Read(p)
}
