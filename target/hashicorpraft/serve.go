package hashicorpraft

import (
	"github.com/hashicorp/raft"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble/rpc"
)

// serving is an incoming request, until it is answered.
type serving struct {
	transport *transport
	from      lockstep.Node
	packet    *packet
	heartbeat bool
	kind      string  // of the response
	stream    *stream // the message is the next of this stream; nil: none
	rpc       raft.RPC
	answers   chan raft.RPCResponse // one response
	seen      func(response any)    // checks the response; nil: no check
	look      func() bool           // the method lookNow
}

// streamID identifies an incoming stream.
type streamID struct {
	from        lockstep.Node
	incarnation int
	number      uint64
}

// stream processes the messages of a stream in order.
type stream struct {
	rpc.Sequence[*packet]
	busy   bool    // a request is being served
	chunks *chunks // of an incoming snapshot
}

// receive accepts a message that the engine delivers. It does not block.
func (t *transport) receive(from lockstep.Node, body any) {
	p := body.(*packet)
	switch {
	case t.calls.Take(p):
	case p.stream == 0:
		t.accept(t.newServing(from, p, nil))
	default:
		t.streamed(from, p)
	}
}

// streamed processes a message of a stream in its turn.
func (t *transport) streamed(from lockstep.Node, p *packet) {
	t.mutex.Lock()
	id := streamID{from, p.Incarnation(), p.stream}
	s := t.incoming[id]
	if s == nil {
		s = &stream{}
		t.incoming[id] = s
	}
	s.Put(p.seq, p)
	begin := !s.busy
	s.busy = true
	t.mutex.Unlock()
	if !begin {
		return
	}
	if _, ok := p.Body.(*raft.AppendEntriesRequest); ok {
		t.serveNext(from, s)
	} else {
		t.node.Go(func() { t.drain(from, s) })
	}
}

// inTurn is the next message of a stream, or nil if it has not arrived yet.
func (t *transport) inTurn(s *stream) *packet {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	p, arrived := s.Next()
	s.busy = arrived
	return p
}

// serveNext serves the next request of a pipeline, and reports whether it has arrived.
func (t *transport) serveNext(from lockstep.Node, s *stream) bool {
	p := t.inTurn(s)
	if p == nil {
		return false
	}
	t.accept(t.newServing(from, p, s))
	return true
}

// drain takes the messages of a snapshot, up to the first missing one.
func (t *transport) drain(from lockstep.Node, s *stream) {
	for p := t.inTurn(s); p != nil; p = t.inTurn(s) {
		if p.Body == nil {
			s.chunks.add(p.chunk)
			continue
		}
		s.chunks = newChunks(t)
		request := t.newServing(from, p, nil)
		request.rpc.Reader = s.chunks
		t.node.Go(request.serve)
	}
}

// newServing begins to serve a request, and reuses the memory of an old one if possible.
func (t *transport) newServing(from lockstep.Node, p *packet, s *stream) *serving {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	var v *serving
	if k := len(t.answered) - 1; k >= 0 {
		v = t.answered[k]
		t.answered = t.answered[:k]
	} else {
		v = &serving{transport: t, answers: make(chan raft.RPCResponse, 1)}
		v.look = v.lookNow
	}
	v.from, v.packet, v.stream, v.kind = from, p, s, answerTo(p.Body)
	v.heartbeat = v.kind == heartbeatAnswer
	v.rpc = raft.RPC{Command: p.Body, RespChan: v.answers}
	return v
}

// accept hands a request to the library, without waiting. It looks for the response when the system is quiescent,
// which needs no goroutine. The delivering goroutine serves heartbeats itself.
func (t *transport) accept(v *serving) {
	if v.heartbeat && !v.changesNothing() {
		t.node.Go(v.serve)
		return
	}
	v.begin()
	if handle := t.handler(); v.heartbeat && handle != nil {
		handle(v.rpc)
		v.lookNow()
		return
	}
	select {
	case t.consume <- v.rpc:
		t.node.OnQuiescent(v.look)
	default:
		t.node.Go(v.hand)
	}
}

// changesNothing reports whether a heartbeat is old, or comes from the leader that the node follows: then the library
// answers it without waiting for the disk.
func (v *serving) changesNothing() bool {
	r, term := v.transport.replica, v.packet.Body.(*raft.AppendEntriesRequest).Term
	return term < r.term() || term == r.term() && r.raft.State() == raft.Follower
}

// begin records the state before the request is served.
func (v *serving) begin() {
	t := v.transport
	t.busy.Add(1)
	v.seen = t.replica.watchPreVote(t.node, v.packet.Body)
	t.served.Add(1)
}

// serve hands a request to the library and waits for the response.
func (v *serving) serve() {
	v.begin()
	if handle := v.transport.handler(); v.heartbeat && handle != nil {
		handle(v.rpc)
		v.wait()
		return
	}
	v.hand()
}

// hand puts a request into the library's queue and waits for the response.
func (v *serving) hand() {
	select {
	case v.transport.consume <- v.rpc:
		v.wait()
	case <-v.transport.calls.Closed():
		v.transport.busy.Add(-1)
	}
}

// lookNow looks for the response when the system is quiescent. If the response is not there yet, a goroutine waits
// for it.
func (v *serving) lookNow() bool {
	select {
	case a := <-v.answers:
		return v.reply(a)
	default:
		v.transport.node.Go(v.wait)
		return true
	}
}

// wait waits for the response.
func (v *serving) wait() {
	select {
	case a := <-v.answers:
		v.reply(a)
	case <-v.transport.calls.Closed():
		v.transport.busy.Add(-1)
	}
}

// reply sends the response, and continues with the stream. It reports whether the stream has a next request.
func (v *serving) reply(a raft.RPCResponse) bool {
	t, from, s := v.transport, v.from, v.stream
	if v.seen != nil {
		v.seen(a.Response)
	}
	p := &packet{Message: rpc.Message{Body: a.Response}}
	if a.Error != nil {
		p.Err = a.Error.Error()
	}
	t.busy.Add(-1)
	t.calls.Answer(from, v.kind, &v.packet.Message, p)
	t.mutex.Lock()
	t.answered = append(t.answered, v)
	t.mutex.Unlock()
	return s != nil && t.serveNext(from, s)
}

const heartbeatAnswer = "HeartbeatResponse"

// answerTo is the type of the response to a request.
func answerTo(request any) string {
	switch r := request.(type) {
	case *raft.AppendEntriesRequest:
		if isHeartbeat(r) {
			return heartbeatAnswer
		}
		return "AppendEntriesResponse"
	case *raft.RequestVoteRequest:
		return "RequestVoteResponse"
	case *raft.InstallSnapshotRequest:
		return "InstallSnapshotResponse"
	case *raft.TimeoutNowRequest:
		return "TimeoutNowResponse"
	default:
		return "RequestPreVoteResponse"
	}
}
