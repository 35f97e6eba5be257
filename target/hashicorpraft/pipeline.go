package hashicorpraft

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/lockstep-go/lockstep/bubble/rpc"
)

// pipeline is a stream of AppendEntries whose responses are taken in order. The transport limits the number in
// flight; beyond it AppendEntries waits. The library's transport has a goroutine that takes responses. Here the
// goroutine that delivers a response does that work, which avoids a wake-up.
type pipeline struct {
	transport *transport
	to        raft.ServerAddress
	stream    uint64
	seq       int
	done      chan raft.AppendFuture
	space     chan struct{} // signals free space to the waiting sender
	closed    chan struct{}
	close     sync.Once

	mutex    sync.Mutex
	underway []*appended // the oldest first; its response is the next to be taken
	stuck    bool        // the oldest has its response, which the library has not taken
	broken   error       // an error response: the connection and all later requests are lost
}

// AppendEntriesPipeline opens a pipeline.
func (t *transport) AppendEntriesPipeline(_ raft.ServerID, to raft.ServerAddress) (raft.AppendPipeline, error) {
	if t.inFlight < 2 {
		return nil, raft.ErrPipelineReplicationNotSupported
	}
	return &pipeline{transport: t, to: to, stream: t.newStream(), done: make(chan raft.AppendFuture, t.inFlight-2),
		space: make(chan struct{}, 1), closed: make(chan struct{})}, nil
}

// AppendEntries sends a request.
func (p *pipeline) AppendEntries(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture,
	error) {
	f := &appended{pipeline: p, start: time.Now(), args: args, resp: resp, sent: *args}
	f.call.Delivered = f.respond
	f.packet = packet{Message: rpc.Message{Body: &f.sent}, stream: p.stream, seq: p.seq}
	p.seq++
	p.transport.calls.Send(nodeOf(p.to), "AppendEntries", &f.packet, &f.call)
	if p.begin(f) {
		return f, nil
	}
	select {
	case <-p.space:
		return f, nil
	case <-p.closed:
	case <-p.transport.calls.Closed():
	}
	return nil, raft.ErrPipelineShutdown
}

// begin records a request in flight, and reports whether there was space for it. All but the oldest wait in a queue
// to the library, whose capacity is two less than the limit.
func (p *pipeline) begin(f *appended) (fits bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.underway = append(p.underway, f)
	fits = len(p.underway) < p.transport.inFlight
	if len(p.underway) == 1 {
		p.first()
	}
	return fits
}

// first begins to wait for the response to the oldest request. The caller has the lock.
func (p *pipeline) first() {
	if p.broken == nil {
		p.transport.calls.Await(&p.underway[0].call)
	}
	p.advance()
}

// advance passes on the available responses, in order. The caller has the lock.
func (p *pipeline) advance() {
	if p.stuck || len(p.underway) == 0 || p.disconnected() {
		return
	}
	f := p.underway[0]
	if !f.finish(p) {
		return
	}
	select {
	case p.done <- f:
		p.out()
	default: // the library is not receiving: a goroutine waits until it does
		p.stuck = true
		p.transport.node.Go(p.handOut)
	}
}

// disconnected reports whether the transport was closed.
func (p *pipeline) disconnected() bool {
	select {
	case <-p.transport.calls.Closed():
		return true
	default:
		return false
	}
}

// out removes the oldest request, which frees space. The caller has the lock.
func (p *pipeline) out() {
	if len(p.underway) == p.transport.inFlight {
		select {
		case p.space <- struct{}{}:
		default: // the waiter for the last one has left
		}
	}
	p.underway = append(p.underway[:0], p.underway[1:]...)
	if len(p.underway) > 0 {
		p.first()
	}
}

// handOut waits until the library takes the oldest request.
func (p *pipeline) handOut() {
	p.mutex.Lock()
	f := p.underway[0]
	p.mutex.Unlock()
	select {
	case p.done <- f:
		p.mutex.Lock()
		defer p.mutex.Unlock()
		p.stuck = false
		p.out()
	case <-p.closed:
	case <-p.transport.calls.Closed():
	}
}

// Consumer is the channel of responses.
func (p *pipeline) Consumer() <-chan raft.AppendFuture { return p.done }

// Close ends the pipeline.
func (p *pipeline) Close() error {
	p.close.Do(func() { close(p.closed) })
	return nil
}

// appended is a request of a pipeline, with its response.
type appended struct {
	pipeline *pipeline
	start    time.Time
	args     *raft.AppendEntriesRequest
	resp     *raft.AppendEntriesResponse
	sent     raft.AppendEntriesRequest
	packet   packet
	call     rpc.Call

	// The pipeline's lock protects these.
	answer *rpc.Message  // the response, possibly out of order
	failed error         // no response will come
	over   bool          // it is answered, or will never be
	err    error         // set with over
	ready  chan struct{} // closed with over, for waiters; nil: none
}

// respond records the response, and lets the pipeline continue.
func (a *appended) respond(answer *rpc.Message, err error) {
	a.pipeline.mutex.Lock()
	defer a.pipeline.mutex.Unlock()
	a.answer, a.failed = answer, err
	a.pipeline.advance()
}

// finish takes the response, and reports whether there is one. The caller has the lock.
func (a *appended) finish(p *pipeline) bool {
	if a.answer == nil && a.failed == nil && p.broken == nil {
		return false
	}
	if a.err = p.broken; a.err == nil {
		a.err = into(a.resp, a.answer, a.failed)
		p.broken = a.err
	}
	a.over = true
	if a.ready != nil {
		close(a.ready)
	}
	return true
}

// Error waits for the response.
func (a *appended) Error() error {
	p := a.pipeline
	p.mutex.Lock()
	if a.over {
		p.mutex.Unlock()
		return a.err
	}
	if a.ready == nil {
		a.ready = make(chan struct{})
	}
	p.mutex.Unlock()
	select {
	case <-a.ready:
		return a.err
	case <-p.transport.calls.Closed():
		return rpc.ErrClosed
	}
}

// Start is the time of sending.
func (a *appended) Start() time.Time { return a.start }

// Request is the request.
func (a *appended) Request() *raft.AppendEntriesRequest { return a.args }

// Response is the response.
func (a *appended) Response() *raft.AppendEntriesResponse { return a.resp }
