// Package textbook is a small Raft as a programmer writes it after reading the paper: goroutines, a mutex, tickers,
// net/rpc. It does not depend on Lockstep.
//
// It has a typical bug: a reply to an AppendEntries of an earlier leadership counts in a later one. With Config.Careful
// it does not.
package textbook

import (
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

// Times of the protocol.
const (
	Heartbeat = 50 * time.Millisecond
	Election  = 200 * time.Millisecond // up to twice as long
)

// Entry is an entry of the log. The first one has the index 1.
type Entry struct {
	Term    int
	Command string
}

// State is the durable state of a server.
type State struct {
	Term  int
	Voted int // the candidate, in Term; 0: none
	Log   []Entry
}

// Peer is another server: an *rpc.Client is one.
type Peer interface {
	Call(method string, args, reply any) error
}

// Config is the environment of a server.
type Config struct {
	ID    int   // from 1
	Peers []int // the others
	// Dial connects to a peer.
	Dial func(peer int) (Peer, error)
	// Load and Save read and write the disk. Saved values must not be modified.
	Load func() State
	Save func(State)
	// Apply receives the committed commands in order.
	Apply func(index int, e Entry)
	// Elected, if set, is called when the server becomes leader.
	Elected func(term int)
	// Rand draws the election timeouts.
	Rand *rand.Rand
	// Careful fixes the bug.
	Careful bool
}

type role int

const (
	follower role = iota
	candidate
	leader
)

// Server is a replica. Its methods RequestVote and AppendEntries are for net/rpc.
type Server struct {
	config Config
	quit   chan struct{}
	work   sync.WaitGroup

	mu          sync.Mutex
	state       State
	role        role
	deadline    time.Time // for a message from a leader
	commit      int
	applied     int
	next, match map[int]int
	news        *sync.Cond // an entry was committed, or the server stopped
	over        bool
}

// New creates a server; Start runs it.
func New(c Config) *Server {
	s := &Server{config: c, quit: make(chan struct{}), state: c.Load()}
	s.news = sync.NewCond(&s.mu)
	return s
}

// Start runs the server.
func (s *Server) Start() {
	s.mu.Lock()
	s.postpone()
	s.mu.Unlock()
	s.spawn(s.elections)
	s.spawn(s.applies)
}

// Stop stops the server.
func (s *Server) Stop() {
	s.mu.Lock()
	if !s.over {
		s.over = true
		close(s.quit)
	}
	s.news.Broadcast()
	s.mu.Unlock()
	s.work.Wait()
}

func (s *Server) spawn(f func()) {
	s.work.Add(1)
	go func() {
		defer s.work.Done()
		f()
	}()
}

// Propose appends a command, if the server is a leader.
func (s *Server) Propose(command string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.role != leader || s.over {
		return errors.New("not the leader")
	}
	s.state.Log = append(s.state.Log[:len(s.state.Log):len(s.state.Log)], Entry{s.state.Term, command})
	s.save()
	return nil
}

// Status returns the role, the term, the last index and the commit index of the server.
func (s *Server) Status() (role string, term, last, commit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return [...]string{"follower", "candidate", "leader"}[s.role], s.state.Term, len(s.state.Log), s.commit
}

func (s *Server) save() { s.config.Save(s.state) }

// postpone resets the election deadline.
func (s *Server) postpone() {
	s.deadline = time.Now().Add(Election + time.Duration(s.config.Rand.Int64N(int64(Election))))
}

// follow makes the server a follower in a newer term.
func (s *Server) follow(term int) {
	s.role = follower
	if term > s.state.Term {
		s.state.Term, s.state.Voted = term, 0
		s.save()
	}
	s.postpone()
}

// elections checks periodically whether the election deadline has passed.
func (s *Server) elections() {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-s.quit:
			return
		case <-ticker.C:
		}
		s.mu.Lock()
		if s.role != leader && time.Now().After(s.deadline) {
			s.campaign()
		}
		s.mu.Unlock()
	}
}

// VoteArgs are the arguments of RequestVote.
type VoteArgs struct{ Term, Candidate, LastIndex, LastTerm int }

// VoteReply is the reply.
type VoteReply struct {
	Term    int
	Granted bool
}

// campaign requests votes from all peers.
func (s *Server) campaign() {
	s.role = candidate
	s.state.Term++
	s.state.Voted = s.config.ID
	s.save()
	s.postpone()
	last := len(s.state.Log)
	args := VoteArgs{s.state.Term, s.config.ID, last, s.termAt(last)}
	votes := 1
	for _, peer := range s.config.Peers {
		s.spawn(func() {
			p, err := s.config.Dial(peer)
			if err != nil {
				return
			}
			var reply VoteReply
			if p.Call("Server.RequestVote", args, &reply) != nil {
				return
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if reply.Term > s.state.Term {
				s.follow(reply.Term)
			}
			if s.role != candidate || s.state.Term != args.Term || !reply.Granted {
				return
			}
			if votes++; 2*votes > len(s.config.Peers)+1 {
				s.lead()
			}
		})
	}
}

// lead begins a leadership.
func (s *Server) lead() {
	if s.over {
		return
	}
	s.role = leader
	s.next, s.match = map[int]int{}, map[int]int{}
	if s.config.Elected != nil {
		s.config.Elected(s.state.Term)
	}
	for _, peer := range s.config.Peers {
		s.next[peer] = len(s.state.Log) + 1
		term := s.state.Term
		s.spawn(func() { s.replicate(peer, term) })
	}
}

func (s *Server) termAt(index int) int {
	if index == 0 {
		return 0
	}
	return s.state.Log[index-1].Term
}

// AppendArgs are the arguments of AppendEntries.
type AppendArgs struct {
	Term, Leader, PrevIndex, PrevTerm, Commit int
	Entries                                   []Entry
}

// AppendReply is the reply.
type AppendReply struct {
	Term    int
	Success bool
}

// replicate sends a peer its missing entries, and heartbeats, as long as the leadership lasts.
func (s *Server) replicate(peer, term int) {
	ticker := time.NewTicker(Heartbeat)
	defer ticker.Stop()
	for {
		s.mu.Lock()
		if s.role != leader || s.state.Term != term || s.over {
			s.mu.Unlock()
			return
		}
		prev := s.next[peer] - 1
		args := AppendArgs{
			Term:      term,
			Leader:    s.config.ID,
			PrevIndex: prev,
			PrevTerm:  s.termAt(prev),
			Commit:    s.commit,
			Entries:   s.state.Log[prev:],
		}
		s.mu.Unlock()
		var reply AppendReply
		if p, err := s.config.Dial(peer); err == nil && p.Call("Server.AppendEntries", args, &reply) == nil {
			s.replied(peer, args, reply)
		}
		select {
		case <-ticker.C:
		case <-s.quit:
			return
		}
	}
}

// replied processes the reply to an AppendEntries.
func (s *Server) replied(peer int, args AppendArgs, reply AppendReply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case reply.Term > s.state.Term:
		s.follow(reply.Term)
	case s.role != leader:
	case s.config.Careful && s.state.Term != args.Term: // a reply to an earlier leadership
	case !reply.Success:
		s.next[peer] = max(1, s.next[peer]-1)
	default:
		s.next[peer] = min(s.next[peer]+len(args.Entries), len(s.state.Log)+1)
		s.match[peer] = s.next[peer] - 1
		s.advance()
	}
}

// advance commits the entries that a majority has.
func (s *Server) advance() {
	for index := len(s.state.Log); index > s.commit && s.termAt(index) == s.state.Term; index-- {
		have := 1
		for _, peer := range s.config.Peers {
			if s.match[peer] >= index {
				have++
			}
		}
		if 2*have > len(s.config.Peers)+1 {
			s.commit = index
			s.news.Broadcast()
			return
		}
	}
}

// applies applies committed commands.
func (s *Server) applies() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.over {
		for s.applied < s.commit {
			s.applied++
			s.config.Apply(s.applied, s.state.Log[s.applied-1])
		}
		s.news.Wait()
	}
}

// RequestVote handles a candidate's request.
func (s *Server) RequestVote(args VoteArgs, reply *VoteReply) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if args.Term > s.state.Term {
		s.follow(args.Term)
	}
	last := len(s.state.Log)
	complete := args.LastTerm > s.termAt(last) || args.LastTerm == s.termAt(last) && args.LastIndex >= last
	if args.Term == s.state.Term && complete && (s.state.Voted == 0 || s.state.Voted == args.Candidate) {
		s.state.Voted = args.Candidate
		s.save()
		s.postpone()
		reply.Granted = true
	}
	reply.Term = s.state.Term
	return nil
}

// AppendEntries handles entries from a leader.
func (s *Server) AppendEntries(args AppendArgs, reply *AppendReply) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	reply.Term = max(args.Term, s.state.Term)
	if args.Term < s.state.Term {
		return nil
	}
	s.follow(args.Term)
	if args.PrevIndex > len(s.state.Log) || s.termAt(args.PrevIndex) != args.PrevTerm {
		return nil
	}
	for i, e := range args.Entries {
		index := args.PrevIndex + i + 1
		if index <= len(s.state.Log) && s.termAt(index) == e.Term {
			continue
		}
		s.state.Log = append(s.state.Log[:index-1:index-1], e)
	}
	s.save()
	if commit := min(args.Commit, args.PrevIndex+len(args.Entries)); commit > s.commit {
		s.commit = commit
		s.news.Broadcast()
	}
	reply.Success = true
	return nil
}
