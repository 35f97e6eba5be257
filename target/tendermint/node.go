package tendermint

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
)

// replica is one incarnation of a validator.
type replica struct {
	node    *bubble.Node
	network *network
	disk    *disk
	signer  *signer
	log     logger
	blocks  *blockStore
	state   *consensusState
	reactor *consensusReactor
	proofs  *evidenceReactor
	sw      *p2pSwitch

	orders chan order // about connections
	taking sync.Mutex // of messages
	mutex  sync.Mutex
	peers  map[lockstep.Node]*peer
	seen   view
}

// view is the known state of the validator after its last step.
type view struct {
	height      int64
	round       int32
	step        string
	lockedRound int32
	locked      string
	validRound  int32
	valid       string
	polka       place // the last one seen
}

// start starts a validator.
func start(n *bubble.Node, c Cluster, key privKey, gen *genesisDoc) error {
	r := &replica{
		node:    n,
		network: n.World().Value.(*network),
		orders:  make(chan order, 1000),
		peers:   map[lockstep.Node]*peer{},
	}
	r.seen = view{lockedRound: -1, validRound: -1}
	r.log = &serverLog{replica: r}
	r.disk = &disk{bubble.DiskOf(n, "validator", newDurable, (*durable).clone)}
	r.signer = &signer{newMockPV(key, false, false), n, r.disk}
	conf := consensusConfig()
	if c.Files {
		dir, err := n.Dir()
		if err != nil {
			return err
		}
		conf.RootDir = dir
	}
	app := &application{
		size:   c.Block,
		height: func() (h int64) { r.disk.Read(func(d *durable) { h = d.app }); return h },
		commit: func() { r.disk.locked(func(d *durable) { d.app++ }) },
	}
	chain := database{r.disk, func(d *durable) *memDB { return d.chain }}
	proofs := database{r.disk, func(d *durable) *memDB { return d.proofs }}
	if err := r.assemble(app, chain, proofs, gen, conf); err != nil {
		return err
	}
	r.state.SetPrivValidator(r.signer)
	if !c.Files {
		log, torn := openWAL(r.disk, n.Rand().IntN)
		if torn {
			n.Emit(EventRepair, nil)
		}
		*private[writeAheadLog](r.state, "wal") = logOf(log)
	}
	if err := r.listen(); err != nil {
		return err
	}
	n.Emit(EventStart, &Started{Incarnation: n.Incarnation(), Height: r.blocks.Height()})
	n.Receive(r.receive)
	n.OnLost(func(to lockstep.Node, body any) {
		if m := body.(*Message); c.Loss == Silent {
			r.network.skip(n.Self(), to, m)
		} else {
			r.network.broke(n.Self(), to, m.Conn)
		}
	})
	n.SetState(r.text)
	if err := errors.Join(r.reactor.Start(), r.proofs.Start()); err != nil {
		return err
	}
	n.OnStop(r.stop)
	n.Go(r.connections)
	r.network.join(r)
	return nil
}

// stop ends the library's goroutines.
func (r *replica) stop() {
	r.network.leave(r)
	r.mutex.Lock()
	for _, p := range r.peers { //lockstep:unordered independent
		_ = p.Stop()
	}
	r.mutex.Unlock()
	_, _ = r.reactor.Stop(), r.proofs.Stop()
}

// private is an unexported field of the library that the library's own tests set.
func private[T any](of any, name string) *T {
	f := reflect.ValueOf(of).Elem().FieldByName(name)
	return (*T)(unsafe.Pointer(f.UnsafeAddr()))
}

// connections executes the orders of the network.
func (r *replica) connections() {
	for {
		select {
		case o := <-r.orders:
			if o.up {
				r.connect(o)
			} else {
				r.disconnect(o)
			}
		case <-r.node.Context().Done():
			return
		}
	}
}

// connect adds a peer to the library, as its switch does.
func (r *replica) connect(o order) {
	p := newPeer(r, o)
	r.initPeer(p)
	if err := p.Start(); err != nil {
		panic(err) // it is new
	}
	addToPeerSet(r.sw, p)
	r.mutex.Lock()
	r.peers[o.with] = p
	r.mutex.Unlock()
	r.reactor.AddPeer(p)
	r.proofs.AddPeer(p)
}

// disconnect removes a peer.
func (r *replica) disconnect(o order) {
	p := r.peer(o.with, o.conn)
	if p == nil {
		return
	}
	r.mutex.Lock()
	delete(r.peers, o.with)
	r.mutex.Unlock()
	r.sw.StopPeerGracefully(p)
}

// peer is the other end of a connection, or nil if the connection is gone.
func (r *replica) peer(with lockstep.Node, conn int) *peer {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if p := r.peers[with]; p != nil && p.conn == conn {
		return p
	}
	return nil
}

// receive handles a message. It discards a message in flight on a connection that is gone. A message that cannot be
// decoded breaks the connection.
func (r *replica) receive(from lockstep.Node, body any) {
	m := body.(*Message)
	p := r.peer(from, m.Conn)
	if p == nil && m.IsVote() && m.Raw != nil {
		r.node.Emit(EventMissed, nil)
	}
	if p == nil || m.Raw == nil && m.lane() >= firstUnordered {
		return
	}
	r.taking.Lock()
	defer r.taking.Unlock()
	for _, m := range p.next(m) {
		if err := r.hand(m.Channel, p, m.Raw); err != nil {
			r.sw.StopPeerForError(p, err)
			return
		}
	}
}

// listen observes the state machine: its listeners run on the goroutine that changes the state, in the middle of the
// change.
func (r *replica) listen() error {
	events := *private[eventSwitch](r.state, "evsw")
	listeners := map[string]func(){eventNewRoundStep: r.stepped, eventVote: r.voted, eventValidBlock: r.stepped}
	for kind, f := range listeners { //lockstep:unordered independent
		if err := events.AddListenerForEvent("lockstep", kind, func(eventData) { f() }); err != nil {
			return err
		}
	}
	return nil
}

// voted reports polkas.
func (r *replica) voted() {
	rs := &r.state.RoundState
	for round := rs.Round; rs.Votes != nil && round >= max(0, rs.Round-1); round-- {
		id, ok := rs.Votes.Prevotes(round).TwoThirdsMajority()
		if at := (place{rs.Height, small(round), 1}); ok && r.seen.polka.before(at) {
			r.seen.polka = at
			r.node.Emit(EventPolka, &Vote{Height: rs.Height, Round: small(round), Block: short(id.Hash)})
		}
	}
}

// stepped reports a step, and the changes in it.
func (r *replica) stepped() {
	rs := &r.state.RoundState
	r.mutex.Lock()
	was := r.seen
	now := view{
		height:      rs.Height,
		round:       small(rs.Round),
		step:        stepName(int(rs.Step)),
		lockedRound: small(rs.LockedRound),
		validRound:  small(rs.ValidRound),
		polka:       was.polka,
	}
	if rs.LockedBlock != nil {
		now.locked = short(rs.LockedBlock.Hash())
	}
	if rs.ValidBlock != nil {
		now.valid = short(rs.ValidBlock.Hash())
	}
	r.seen = now
	r.mutex.Unlock()
	n := r.node
	if now.locked != "" && (was.locked != now.locked || was.lockedRound != now.lockedRound ||
		was.height != now.height) {
		n.Emit(EventLock, &Vote{Height: now.height, Round: now.lockedRound, Block: now.locked})
	}
	if was.locked != "" && now.locked == "" && was.height == now.height {
		n.Emit(EventUnlock, &Vote{Height: now.height, Round: now.round, Block: was.locked})
	}
	if now.valid != "" && (was.valid != now.valid || was.validRound != now.validRound || was.height != now.height) {
		n.Emit(EventValid, &Vote{Height: now.height, Round: now.validRound, Block: now.valid})
	}
	if was.height != now.height || was.round != now.round || was.step != now.step {
		n.Emit(EventStep, &Step{Height: now.height, Round: now.round, Step: now.step})
	}
}

// text summarizes the validator's state: its step, and block and round of its lock and of its valid block.
func (r *replica) text() string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.seen.height == 0 {
		return "starting"
	}
	s := fmt.Sprintf("at=%d/%d step=%s", r.seen.height, r.seen.round, strings.ReplaceAll(r.seen.step, " ", "-"))
	if r.seen.locked != "" {
		s += fmt.Sprintf(" locked=%s/%d", r.seen.locked, r.seen.lockedRound)
	}
	if r.seen.valid != "" {
		s += fmt.Sprintf(" valid=%s/%d", r.seen.valid, r.seen.validRound)
	}
	return s
}

// publisher is notified of decisions, in the middle of them.
type publisher struct {
	nopEventBus
	replica *replica
}

// PublishEventNewBlock reports a decision.
func (p *publisher) PublishEventNewBlock(b newBlock) error {
	r := p.replica
	c := &Commit{Height: b.Block.Height, Block: short(b.Block.Hash())}
	if seen := r.blocks.LoadSeenCommit(b.Block.Height); seen != nil {
		c.Round, c.Signers = signers(r.state, seen)
	}
	r.node.Emit(EventCommit, c)
	for _, e := range evidenceOf(b.Block) {
		if d, ok := e.(*duplicateVotes); ok {
			r.node.Emit(EventEvidence,
				&Evidence{Height: b.Block.Height, At: d.VoteA.Height, Against: validator(d.VoteA.ValidatorIndex)})
		}
	}
	return nil
}

// serverLog is the logger of a replica. A recorded run keeps its lines.
type serverLog struct {
	replica *replica
	with    []any
}

// Debug discards its message.
func (*serverLog) Debug(string, ...any) {}

// Info logs a line.
func (s *serverLog) Info(text string, values ...any) { s.line(bubble.Info, text, values) }

// With returns a logger whose lines have more values.
func (s *serverLog) With(values ...any) logger {
	if !s.replica.node.Recorded() {
		return s
	}
	return &serverLog{s.replica, slices.Concat(s.with, values)}
}

func (s *serverLog) line(level, text string, values []any) {
	if s.replica.node.Recorded() {
		s.replica.node.LogPairs(level, text, slices.Concat(s.with, values)...)
	}
}

// Error reports the failure of the state machine, which the library recovers from, and the repair of a log.
func (s *serverLog) Error(text string, values ...any) {
	s.line(bubble.Error, text, values)
	if strings.Contains(text, "WAL file is corrupted") { // each version has the text in a different sentence
		s.replica.node.Emit(EventRepair, nil)
	}
	if !strings.HasPrefix(text, "CONSENSUS FAILURE") {
		return
	}
	f := &Failure{Text: text}
	for i := 0; i+1 < len(values); i += 2 {
		switch values[i] {
		case "err":
			f.Text = fmt.Sprint(values[i+1])
		case "stack":
			f.Stack = fmt.Sprint(values[i+1])
		}
	}
	s.replica.node.Emit(EventFailure, f)
}
