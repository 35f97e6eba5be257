package raftlib

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/raftspec"
	"github.com/lockstep-go/lockstep/trace"
)

// Type is the type of a message. The numbers are those of the library.
type Type uint8

// The types that travel between nodes.
const (
	MsgProp           Type = 2
	MsgApp            Type = 3
	MsgAppResp        Type = 4
	MsgVote           Type = 5
	MsgVoteResp       Type = 6
	MsgSnap           Type = 7
	MsgHeartbeat      Type = 8
	MsgHeartbeatResp  Type = 9
	MsgTransferLeader Type = 13
	MsgTimeoutNow     Type = 14
	MsgReadIndex      Type = 15
	MsgReadIndexResp  Type = 16
	MsgPreVote        Type = 17
	MsgPreVoteResp    Type = 18
)

// Types is the number of types, including those that do not travel.
const Types = int(MsgPreVoteResp) + 1

// The names of the types that the transport reports on.
const (
	NameApp  = "MsgApp"
	NameSnap = "MsgSnap"
)

var typeNames = [Types]string{MsgProp: "MsgProp", MsgApp: NameApp, MsgAppResp: "MsgAppResp", MsgVote: "MsgVote",
	MsgVoteResp: "MsgVoteResp", MsgSnap: NameSnap, MsgHeartbeat: "MsgHeartbeat", MsgHeartbeatResp: "MsgHeartbeatResp",
	MsgTransferLeader: "MsgTransferLeader", MsgTimeoutNow: "MsgTimeoutNow", MsgReadIndex: "MsgReadIndex",
	MsgReadIndexResp: "MsgReadIndexResp", MsgPreVote: "MsgPreVote", MsgPreVoteResp: "MsgPreVoteResp"}

// String is the library's name of the type.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return t.unknown()
}

func (t Type) unknown() string { return fmt.Sprintf("Msg%d", uint8(t)) }

func init() {
	for t := range typeNames {
		if typeNames[t] == "" {
			typeNames[t] = Type(t).unknown()
		}
	}
}

// Content is the content of a message.
type Content struct {
	From                         lockstep.Node
	Type                         Type
	Term, LogTerm, Index, Commit uint64
	Reject                       bool
	Hint                         uint64
	Entries                      []raftspec.Entry
	Snapshot                     Snapshot
}

// Text is the content in the format of the library's own logs. Data formats the data of an entry.
func (c Content) Text(data func(raftspec.Entry) string) string {
	var b strings.Builder
	if c.Term != 0 {
		fmt.Fprintf(&b, "term=%d", c.Term)
	}
	if c.LogTerm != 0 || c.Index != 0 {
		fmt.Fprintf(&b, " log=%d/%d", c.LogTerm, c.Index)
	}
	if c.Commit != 0 {
		fmt.Fprintf(&b, " commit=%d", c.Commit)
	}
	if c.Reject {
		fmt.Fprintf(&b, " rejected hint=%d", c.Hint)
	}
	for _, e := range c.Entries {
		if e.Index == 0 {
			fmt.Fprintf(&b, " [%s]", data(e))
		} else {
			fmt.Fprintf(&b, " [%d/%d %s]", e.Term, e.Index, data(e))
		}
	}
	if c.Snapshot.Index != 0 {
		fmt.Fprintf(&b, " snapshot=%d/%d members=%s", c.Snapshot.Term, c.Snapshot.Index, c.Snapshot.Conf)
	}
	return strings.TrimSpace(b.String())
}

// String is the content, with the sizes of entries in place of their data.
func (c Content) String() string {
	return c.Text(func(e raftspec.Entry) string { return fmt.Sprintf("%d bytes", len(e.Data)) })
}

// Nodes converts a list of the library's IDs to a set.
func Nodes(ids []uint64) lockstep.Nodes {
	var s lockstep.Nodes
	for _, id := range ids {
		s = s.With(lockstep.Node(id))
	}
	return s
}

// IDs converts a set to a list of the library's IDs.
func IDs(s lockstep.Nodes) []uint64 {
	if s == 0 {
		return nil
	}
	ids := make([]uint64, 0, s.Len())
	for n := range s.All() {
		ids = append(ids, uint64(n))
	}
	return ids
}

// Bodies stores the messages of a run by number.
type Bodies[M any] struct{ list []M }

// Reset forgets all messages.
func (b *Bodies[M]) Reset() {
	clear(b.list)
	b.list = b.list[:0]
}

// Put stores the next message; the engine numbers them in this order.
func (b *Bodies[M]) Put(m M) { b.list = append(b.list, m) }

// Get is the message stored under a number.
func (b *Bodies[M]) Get(body trace.ID) M { return b.list[body-1] }
