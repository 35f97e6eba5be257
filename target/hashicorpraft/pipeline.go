package hashicorpraft

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/lockstep-go/lockstep/bubble/calls"
)

// pipeline is a stream of AppendEntries whose answers are taken in order. As many are under
// way as the transport allows; then AppendEntries waits. The library's transport has a goroutine that
// takes answers; here whoever brings an answer does what that would, which wakes nobody.
type pipeline struct {
	transport *transport
	to        raft.ServerAddress
	stream    uint64
	seq       int
	done      chan raft.AppendFuture
	room      chan struct{} // there is some again, for the one who waits
	closed    chan struct{}
	close     sync.Once

	mutex    sync.Mutex
	underway []*appended // the oldest first, whose answer is the next to be taken
	stuck    bool        // the oldest has its answer, which nobody takes
	broken   error       // an answer failed: the connection is gone, and so are all behind it
}

// AppendEntriesPipeline opens a pipeline.
func (t *transport) AppendEntriesPipeline(_ raft.ServerID, to raft.ServerAddress) (raft.AppendPipeline, error) {
	if t.inFlight < 2 {
		return nil, raft.ErrPipelineReplicationNotSupported
	}
	return &pipeline{transport: t, to: to, stream: t.newStream(), done: make(chan raft.AppendFuture, t.inFlight-2),
		room: make(chan struct{}, 1), closed: make(chan struct{})}, nil
}

// AppendEntries sends a request.
func (p *pipeline) AppendEntries(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	f := &appended{pipeline: p, start: time.Now(), args: args, resp: resp, sent: *args}
	f.call.Told = f.told
	f.packet = packet{Message: calls.Message{Body: &f.sent}, stream: p.stream, seq: p.seq}
	p.seq++
	p.transport.calls.Send(nodeOf(p.to), "AppendEntries", &f.packet, &f.call)
	if p.begin(f) {
		return f, nil
	}
	select {
	case <-p.room:
		return f, nil
	case <-p.closed:
	case <-p.transport.calls.Closed():
	}
	return nil, raft.ErrPipelineShutdown
}

// begin notes that a request is under way, and reports whether there was room for it. All but the
// oldest wait in a queue with the library, which has room for two less than may be under way.
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

// first begins to wait for the answer to the oldest. The caller has the lock.
func (p *pipeline) first() {
	if p.broken == nil {
		p.transport.calls.Await(&p.underway[0].call)
	}
	p.goOn()
}

// goOn hands out what is answered, in order. The caller has the lock.
func (p *pipeline) goOn() {
	if p.stuck || len(p.underway) == 0 || p.over() {
		return
	}
	f := p.underway[0]
	if !f.finish(p) {
		return
	}
	select {
	case p.done <- f:
		p.out()
	default: // the library is not at it: somebody waits until it is
		p.stuck = true
		p.transport.node.Go(p.handOut)
	}
}

// over reports whether the transport was closed.
func (p *pipeline) over() bool {
	select {
	case <-p.transport.calls.Closed():
		return true
	default:
		return false
	}
}

// out takes the oldest out, which makes room. The caller has the lock.
func (p *pipeline) out() {
	if len(p.underway) == p.transport.inFlight {
		select {
		case p.room <- struct{}{}:
		default: // he who waited for the last one has left
		}
	}
	p.underway = append(p.underway[:0], p.underway[1:]...)
	if len(p.underway) > 0 {
		p.first()
	}
}

// handOut waits until the library takes the oldest.
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

// Consumer is where the answers come out.
func (p *pipeline) Consumer() <-chan raft.AppendFuture { return p.done }

// Close ends the pipeline.
func (p *pipeline) Close() error {
	p.close.Do(func() { close(p.closed) })
	return nil
}

// appended is a request of a pipeline, with all that belongs to it.
type appended struct {
	pipeline *pipeline
	start    time.Time
	args     *raft.AppendEntriesRequest
	resp     *raft.AppendEntriesResponse
	sent     raft.AppendEntriesRequest
	packet   packet
	call     calls.Call

	// The pipeline has the lock of these.
	answer *calls.Message // that has come, before its turn perhaps
	failed error          // that none comes
	over   bool           // it is answered, or will never be
	err    error          // then
	ready  chan struct{}  // closed then, for those who wait; nil: nobody does
}

// told notes the answer, and lets the pipeline go on.
func (a *appended) told(answer *calls.Message, err error) {
	a.pipeline.mutex.Lock()
	defer a.pipeline.mutex.Unlock()
	a.answer, a.failed = answer, err
	a.pipeline.goOn()
}

// finish takes the answer, and reports whether there is one. The caller has the lock.
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

// Error waits for the answer.
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
		return calls.ErrClosed
	}
}

// Start is when it was sent.
func (a *appended) Start() time.Time { return a.start }

// Request is the request.
func (a *appended) Request() *raft.AppendEntriesRequest { return a.args }

// Response is the answer.
func (a *appended) Response() *raft.AppendEntriesResponse { return a.resp }
