package mutants

import "github.com/lockstep-go/lockstep/kit/mutants"

// needsLowStart is why a follower never has entries after those that it compared, except from the same leader.
const needsLowStart = "a leader that sends entries from before the end of the common log: the library's probing ends " +
	"exactly there, so that the first entry sent replaces whatever else the follower has; as far as we can see masked " +
	"under every schedule"

func matching() []mutants.Mutant {
	return []mutants.Mutant{
		{Name: "append-anywhere", Area: mutants.Matching, File: "log.go", Func: "raftLog.maybeAppend", Load: plain,
			Expr: "!l.matchTerm(a.prev)", By: "a.prev.index > l.lastIndex()",
			Does: "a follower appends after an entry of whatever term",
			Breaks: "the entry before the new ones must have the term that the leader says " +
				"(§5.3; Fig. 2, AppendEntries receiver 2)"},
		{Name: "conflict-kept", Area: mutants.Matching, File: "log.go", Func: "raftLog.findConflict", Load: plain,
			Expr: "!l.matchTerm(id)", By: "id.index > l.lastIndex()",
			Does:   "a follower keeps its entries where the leader has others",
			Breaks: "conflicting entries are deleted with all that follow (§5.3; Fig. 2, AppendEntries receiver 3)"},
		{Name: "truncate-always", Area: mutants.Matching, File: "log.go", Func: "raftLog.maybeAppend", Load: plain,
			Expr: "l.findConflict(a.entries)", By: "(a.prev.index+1)*min(1, uint64(len(a.entries)))",
			Does:   "a late message cuts off the entries that came after it",
			Breaks: "entries are deleted only where they conflict (Fig. 2, AppendEntries receiver 3 and 4)"},
		{Name: "ack-own-log", Area: mutants.Matching, File: "raft.go", Func: "raft.handleAppendEntries", Load: small,
			Expr: "new(mlastIndex)", By: "new(r.raftLog.lastIndex())",
			Does:   "a follower acknowledges all of its log, not only what it compared",
			Breaks: "the leader learns what is replicated from a successful AppendEntries (§5.3; Fig. 2, Leaders, matchIndex)",
			Needs:  needsLowStart},
	}
}

func commits() []mutants.Mutant {
	return []mutants.Mutant{
		{Name: "commit-old-term", Area: mutants.Commits, File: "log.go", Func: "raftLog.maybeCommit", Load: small,
			Expr: "l.matchTerm(at)", By: "true",
			Does:   "a leader counts copies of entries of earlier terms",
			Breaks: "only entries of the current term are committed by counting (§5.4.2; Fig. 8)"},
		{Name: "minority-commits", Area: mutants.Commits, File: "quorum/majority.go",
			Func: "MajorityConfig.CommittedIndex", Load: plain,
			Expr: "n - (n/2 + 1)", By: "n - 1",
			Does:   "one copy commits an entry",
			Breaks: "an entry is committed once a majority has it (§5.3; Fig. 2, Leaders)"},
		{Name: "match-assumed", Area: mutants.Commits, File: "raft.go", Func: "raft.reset", Load: plain,
			Expr: "id == r.id", By: "true",
			Does:   "a new leader takes it that everyone has its log",
			Breaks: "matchIndex is 0 after an election (Fig. 2, State of leaders)"},
		{Name: "heartbeat-commits", Area: mutants.Commits, File: "raft.go", Func: "raft.sendHeartbeat", Load: plain,
			Expr: "min(pr.Match, r.raftLog.committed)", By: "r.raftLog.committed",
			Does:   "a heartbeat commits what the follower may not have",
			Breaks: "a follower commits no further than the leader's entries reach (Fig. 2, AppendEntries receiver 5)"},
		{Name: "commit-past-append", Area: mutants.Commits, File: "log.go", Func: "raftLog.maybeAppend", Load: small,
			Expr: "min(committed, lastnewi)", By: "min(committed, l.lastIndex())",
			Does:   "a follower commits entries beyond those that it compared",
			Breaks: "commitIndex goes up to the last new entry at most (Fig. 2, AppendEntries receiver 5)",
			Needs:  needsLowStart},
		{Name: "ack-before-write", Area: mutants.Commits, File: "raft.go", Func: "raft.send", Load: async,
			Expr: "m.GetType() == pb.MsgAppResp", By: "m.GetType() == pb.MsgAppResp && m.GetTo() == r.id",
			Does:   "a follower acknowledges entries that are not on its disk",
			Breaks: "log entries are stored before the answer (Fig. 2, persistent state)"},
		{Name: "vote-before-write", Area: mutants.Commits, File: "raft.go", Func: "raft.send", Load: async,
			Expr:   "m.GetType() == pb.MsgAppResp || m.GetType() == pb.MsgVoteResp",
			By:     "m.GetType() == pb.MsgAppResp || m.GetType() == pb.MsgVoteResp && m.GetTo() == r.id",
			Does:   "a vote is sent that is not on the disk",
			Breaks: "votedFor is stored before the answer (Fig. 2, persistent state)"},
	}
}

func flow() []mutants.Mutant {
	return []mutants.Mutant{
		{Name: "window-never-freed", Area: mutants.Flow, File: "raft.go", Func: "stepLeader", Load: window,
			Stmt:   "pr.Inflights.FreeLE(m.GetIndex())",
			Does:   "acknowledged messages still count as being on their way",
			Breaks: "a leader sends entries to a follower as long as it lacks some (§5.3; Fig. 2, Leaders)"},
		{Name: "window-overrun", Area: mutants.Flow, File: "raft.go", Func: "raft.maybeSendAppend", Load: window,
			Expr: "pr.State != tracker.StateReplicate || !pr.Inflights.Full()", By: "true",
			Does:   "entries are sent when the window is full",
			Breaks: "a leader pipelines only entries that it can send again (dissertation §10.2.2)"},
		{Name: "probe-not-resumed", Area: mutants.Flow, File: "raft.go", Func: "stepLeader", Load: live,
			Stmt:   "pr.MsgAppFlowPaused = false",
			Does:   "a lost probe is not sent again",
			Breaks: "AppendEntries is tried again until the follower has it (§5.3)"},
		{Name: "rejection-unheeded", Area: mutants.Flow, File: "tracker/progress.go", Func: "Progress.MaybeDecrTo",
			Load:   live,
			Stmt:   "pr.Next = max(min(rejected, matchHint+1), pr.Match+1)",
			Does:   "after a refusal the leader sends the same entry again",
			Breaks: "nextIndex goes back after a refusal (§5.3; Fig. 2, Leaders)"},
		{Name: "transfer-never-given-up", Area: mutants.Flow, File: "raft.go", Func: "raft.tickHeartbeat",
			Load:   transfer,
			Stmt:   "r.abortLeaderTransfer()",
			Does:   "a leader refuses proposals indefinitely once a transfer has failed",
			Breaks: "a transfer is given up after an election time-out (dissertation §3.10)"},
	}
}
