package hashicorpraft

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// pipeline is a stream of AppendEntries whose answers are taken in order. As many are under
// way as the transport allows; then AppendEntries waits.
type pipeline struct {
	transport *transport
	to        raft.ServerAddress
	stream    uint64
	seq       int
	progress  chan *appended
	done      chan raft.AppendFuture
	closed    chan struct{}
	close     sync.Once
}

// AppendEntriesPipeline opens a pipeline.
func (t *transport) AppendEntriesPipeline(_ raft.ServerID, to raft.ServerAddress) (raft.AppendPipeline, error) {
	if t.inFlight < 2 {
		return nil, raft.ErrPipelineReplicationNotSupported
	}
	t.mutex.Lock()
	t.streams++
	p := &pipeline{transport: t, to: to, stream: t.streams, progress: make(chan *appended, t.inFlight-2),
		done: make(chan raft.AppendFuture, t.inFlight-2), closed: make(chan struct{})}
	t.mutex.Unlock()
	t.node.Go(p.answers)
	return p, nil
}

// AppendEntries sends a request.
func (p *pipeline) AppendEntries(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	copied := *args
	f := &appended{start: time.Now(), args: args, resp: resp}
	f.ready.Add(1)
	f.call = p.transport.send(p.to, "AppendEntries", &packet{body: &copied, stream: p.stream, seq: p.seq})
	p.seq++
	select {
	case p.progress <- f:
		return f, nil
	case <-p.closed:
	case <-p.transport.closed:
	}
	return nil, raft.ErrPipelineShutdown
}

// answers waits for one answer after the other. When one fails, the connection is gone, and
// so are all behind it.
func (p *pipeline) answers() {
	var broken error
	for {
		select {
		case f := <-p.progress:
			if f.err = broken; broken == nil {
				f.err = take(p.transport, f.call, f.resp)
				broken = f.err
			}
			f.ready.Done()
			select {
			case p.done <- f:
			case <-p.closed:
				return
			case <-p.transport.closed:
				return
			}
		case <-p.closed:
			return
		case <-p.transport.closed:
			return
		}
	}
}

// Consumer is where the answers come out.
func (p *pipeline) Consumer() <-chan raft.AppendFuture { return p.done }

// Close ends the pipeline.
func (p *pipeline) Close() error {
	p.close.Do(func() { close(p.closed) })
	return nil
}

// appended is a request of a pipeline.
type appended struct {
	start time.Time
	args  *raft.AppendEntriesRequest
	resp  *raft.AppendEntriesResponse
	call  *call
	ready sync.WaitGroup // for the answer
	err   error
}

// Error waits for the answer.
func (a *appended) Error() error {
	a.ready.Wait()
	return a.err
}

// Start is when it was sent.
func (a *appended) Start() time.Time { return a.start }

// Request is the request.
func (a *appended) Request() *raft.AppendEntriesRequest { return a.args }

// Response is the answer.
func (a *appended) Response() *raft.AppendEntriesResponse { return a.resp }
