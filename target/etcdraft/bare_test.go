package etcdraft_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"
)

// bare is the loop that one would write without Lockstep: RawNodes on the library's own MemoryStorage and a slice of
// messages in flight. Deliveries, losses, ticks and requests are random, in the proportions of the strategy walk. Two
// clients with four operations each use a replicated map, and retry. The loop draws from one generator, checks
// nothing and records nothing.
type bare struct {
	rand     *rand.Rand
	nodes    []bareNode
	flying   []*pb.Message
	clients  [2]bareClient
	messages int
	steps    int
}

type bareNode struct {
	raw      *raft.RawNode
	storage  *raft.MemoryStorage
	values   [2]int32
	sessions [2]uint16
	applied  uint64
	leader   bool
	reads    []bareRead
}

type bareRead struct{ context, index uint64 }

type bareClient struct {
	seq  uint16 // of the operation in progress
	read bool
}

func (b *bare) run(nodes, steps int) {
	b.flying = b.flying[:0]
	b.nodes = b.nodes[:0]
	conf := &pb.ConfState{AutoLeave: new(false)}
	for i := range nodes {
		conf.Voters = append(conf.Voters, uint64(i+1))
	}
	for i := range nodes {
		s := raft.NewMemoryStorage()
		_ = s.ApplySnapshot(
			&pb.Snapshot{Metadata: &pb.SnapshotMetadata{Index: new(uint64(1)), Term: new(uint64(1)), ConfState: conf}})
		_ = s.SetHardState(&pb.HardState{Term: new(uint64(1)), Vote: new(uint64(0)), Commit: new(uint64(1))})
		raw, err := raft.NewRawNode(&raft.Config{ID: uint64(i + 1), ElectionTick: 3, HeartbeatTick: 1, Storage: s,
			MaxSizePerMsg: math.MaxUint64, MaxInflightMsgs: 256, Logger: raftlib.Logger{}})
		if err != nil {
			panic(err)
		}
		b.nodes = append(b.nodes, bareNode{raw: raw, storage: s})
	}
	for i := range b.clients {
		b.clients[i] = bareClient{seq: 1, read: b.reads()}
	}
	for range steps {
		b.step()
		b.steps++
	}
}

// reads draws whether an operation is a read, with the probability of kv.Mixed.
func (b *bare) reads() bool { return b.rand.IntN(10) < 4 }

// step draws among the possible actions, as walk does. A client that has all its answers sends no more requests.
func (b *bare) step() {
	var asking [len(b.clients)]int
	clients := 0
	for i := range b.clients {
		if b.clients[i].seq <= 4 {
			asking[clients] = i
			clients++
		}
	}
	requests := min(clients, 1)
	total := 1 + requests
	if len(b.flying) > 0 {
		total += 11
	}
	switch k := b.rand.IntN(total); {
	case k == 0:
		b.tick(b.rand.IntN(len(b.nodes)))
	case k <= requests:
		b.request(asking[b.rand.IntN(clients)], b.rand.IntN(len(b.nodes)))
	default:
		at := b.rand.IntN(len(b.flying))
		m := b.flying[at]
		b.flying = append(b.flying[:at], b.flying[at+1:]...)
		if k > requests+1 {
			i := int(m.GetTo()) - 1
			_ = b.nodes[i].raw.Step(m)
			b.drain(i)
		}
	}
}

// tick ticks once while messages are in flight; otherwise it ticks until something happens.
func (b *bare) tick(i int) {
	n := &b.nodes[i]
	n.raw.Tick()
	for len(b.flying) == 0 && !n.raw.HasReady() {
		n.raw.Tick()
	}
	b.drain(i)
}

func (b *bare) request(client, i int) {
	c := &b.clients[client]
	n := &b.nodes[i]
	if c.read {
		context := uint64(client)<<32 | uint64(c.seq)<<16 | uint64(b.rand.IntN(1<<16))
		n.reads = append(n.reads, bareRead{context: context})
		n.raw.ReadIndex(binary.LittleEndian.AppendUint64(nil, context))
	} else {
		data := make([]byte, 13)
		data[0] = byte(client)
		binary.LittleEndian.PutUint16(data[1:], c.seq)
		_ = n.raw.Propose(data)
	}
	b.drain(i)
}

func (b *bare) drain(i int) {
	n := &b.nodes[i]
	for n.raw.HasReady() {
		rd := n.raw.Ready()
		if rd.SoftState != nil {
			n.leader = rd.RaftState == raft.StateLeader
		}
		if len(rd.Entries) > 0 {
			_ = n.storage.Append(rd.Entries)
		}
		if !raft.IsEmptyHardState(rd.HardState) {
			_ = n.storage.SetHardState(rd.HardState)
		}
		b.flying = append(b.flying, rd.Messages...)
		b.messages += len(rd.Messages)
		for _, r := range rd.ReadStates {
			for j := range n.reads {
				if n.reads[j].context == binary.LittleEndian.Uint64(r.RequestCtx) {
					n.reads[j].index = r.Index
				}
			}
		}
		for _, e := range rd.CommittedEntries {
			n.applied = e.GetIndex()
			if len(e.Data) == 0 {
				continue
			}
			client, seq := int(e.Data[0]), binary.LittleEndian.Uint16(e.Data[1:])
			if seq > n.sessions[client] {
				n.sessions[client] = seq
				n.values[seq%2] = int32(seq)
			}
			b.answer(client, seq)
		}
		kept := n.reads[:0]
		for _, r := range n.reads {
			if r.index == 0 || r.index > n.applied {
				kept = append(kept, r)
				continue
			}
			b.answer(int(r.context>>32), uint16(r.context>>16))
		}
		n.reads = kept
		n.raw.Advance(rd)
	}
}

func (b *bare) answer(client int, seq uint16) {
	if c := &b.clients[client]; c.seq == seq {
		c.seq++
		c.read = b.reads()
	}
}
