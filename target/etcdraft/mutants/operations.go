package mutants

import "github.com/lockstep-go/lockstep/kit/mutants"

func members() []mutants.Mutant {
	return []mutants.Mutant{
		{Name: "two-changes-at-once", Area: mutants.Members, File: "raft.go", Func: "stepLeader", Load: change,
			Expr: "r.pendingConfIndex > r.raftLog.applied", By: "false",
			Does:   "a leader starts a membership change before the last one is done",
			Breaks: "one change at a time (§6; dissertation §4.1)"},
		{Name: "pending-change-forgotten", Area: mutants.Members, File: "raft.go", Func: "raft.becomeLeader",
			Load:   change,
			Stmt:   "r.pendingConfIndex = r.raftLog.lastIndex()",
			Does:   "a new leader does not wait for a change that it found in its log",
			Breaks: "a leader starts no change before it knows its predecessors' to be done (§6; dissertation §4.1)"},
		{Name: "joint-commit-new-only", Area: mutants.Members, File: "quorum/joint.go",
			Func: "JointConfig.CommittedIndex", Load: change,
			Expr: "idx0 < idx1", By: "true",
			Does:   "during a joint change the new majority alone commits",
			Breaks: "agreement takes majorities of both configurations (§6)"},
		{Name: "joint-vote-new-only", Area: mutants.Members, File: "quorum/joint.go", Func: "JointConfig.VoteResult",
			Load: change,
			Expr: "r1 == r2", By: "true",
			Does:   "during a joint change the new majority alone elects",
			Breaks: "an election takes majorities of both configurations (§6)"},
		{Name: "campaign-unapplied", Area: mutants.Members, File: "raft.go", Func: "raft.hup", Load: changeAsync,
			Expr: "r.hasUnappliedConfChanges()", By: "false",
			Does:   "a node campaigns among the members before a committed change",
			Breaks: "a node goes by the latest configuration in its log (§6)"},
	}
}

func reads() []mutants.Mutant {
	return []mutants.Mutant{
		{Name: "read-unconfirmed", Area: mutants.Reads, File: "raft.go", Func: "sendMsgReadIndexResponse",
			Load: reading,
			Expr: "r.readOnly.option", By: "ReadOnlyLeaseBased",
			Does:   "a leader answers a read without asking whether it still leads",
			Breaks: "a leader hears from a majority before it answers a read (§8)"},
		{Name: "read-early", Area: mutants.Reads, File: "raft.go", Func: "stepLeader", Load: reading,
			Expr: "!r.committedEntryInCurrentTerm()", By: "false",
			Does:   "a new leader answers reads before it knows what is committed",
			Breaks: "a leader commits an entry of its own term before it answers reads (§8)"},
		{Name: "read-behind", Area: mutants.Reads, File: "read_only.go", Func: "readOnly.addRequest", Load: reading,
			Expr:   "&readIndexRequest{req: req, index: commitIndex}",
			By:     "&readIndexRequest{req: req, index: commitIndex - 1}",
			Does:   "a read does not wait for the last committed entry",
			Breaks: "a read sees all that was committed when it began (§8; dissertation §6.4)"},
		{Name: "read-old-ack", Area: mutants.Reads, File: "read_only.go", Func: "readOnly.recvAck", Load: reading,
			Expr: "binary.LittleEndian.Uint64(ctx)", By: "ro.confirmedReads + uint64(len(ro.unconfirmedReads))",
			Does:   "an answer to an earlier heartbeat confirms a later read",
			Breaks: "the majority is heard after the read has come in (§8; dissertation §6.4)"},
	}
}

func snapshots() []mutants.Mutant {
	return []mutants.Mutant{
		{Name: "snapshot-old", Area: mutants.Snapshots, File: "raft.go", Func: "raft.restore", Load: compact,
			Expr: "s.GetMetadata().GetIndex() <= r.raftLog.committed", By: "false",
			Does:   "a late snapshot takes a follower back",
			Breaks: "a snapshot of what a follower has does not replace its state (§7)"},
		{Name: "snapshot-unmatched", Area: mutants.Snapshots, File: "raft.go", Func: "raft.restore", Load: compact,
			Expr: "r.raftLog.matchTerm(id)", By: "id.index <= r.raftLog.lastIndex()",
			Does:   "a follower keeps a log that is long enough, whatever its terms",
			Breaks: "the log is kept only where index and term of the snapshot's last entry agree (§7; Fig. 13, receiver 6)"},
		{Name: "snapshot-acks-log", Area: mutants.Snapshots, File: "raft.go", Func: "raft.handleSnapshot",
			Load: compact,
			Expr: "new(r.raftLog.committed)", By: "new(r.raftLog.lastIndex())",
			Does:   "the answer to a snapshot that is not needed acknowledges the whole log",
			Breaks: "matchIndex is what is known to be replicated (Fig. 2, State of leaders)",
			Needs: "a follower whose log differs from the leader's only beyond a snapshot that it is sent: the library " +
				"sends one only where the common log ends before it; as far as we can see masked under every schedule"},
		{Name: "snapshot-keeps-tail", Area: mutants.Snapshots, File: "log_unstable.go", Func: "unstable.restore",
			Load:   compactAsync,
			Stmt:   "u.entries = nil",
			Does:   "entries that are not written yet stay behind a snapshot",
			Breaks: "a snapshot that is new to the log replaces all of it (§7; Fig. 13, receiver 7)"},
		{Name: "snapshot-not-retried", Area: mutants.Snapshots, File: "raft.go", Func: "stepLeader", Load: grow,
			Expr: "pr.State != tracker.StateSnapshot", By: "true",
			Does:   "a leader does not hear that a snapshot was lost",
			Breaks: "a follower that lags behind is brought up to date by a snapshot (§7)"},
	}
}
