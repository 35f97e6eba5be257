// Package mutants lists known bugs to plant in hashicorp/raft, each of which breaks one sentence of the Raft paper.
// Package kit/mutants plants them and measures which strategies find them.
package mutants

import (
	"slices"

	"github.com/lockstep-go/lockstep/kit/mutants"
)

// Set is the mutants of hashicorp/raft, grouped by area. Its first strategy is the target's default, repeated here so
// that this package does not link the library.
var Set = mutants.Set{Target: "hashicorpraft", Module: "github.com/hashicorp/raft", Version: "v1.7.3", Exact: true,
	List:       slices.Concat(votes(), terms(), replication(), others()),
	Strategies: []string{"walk:deliver=20,drop=1,wait=10,request=3,crash=1,restart=2,cut=1,heal=2", "pos", "delay"}}

// The workloads. Each enables only the options that reach its mutants.
var (
	plain = mutants.Load{Name: "plain", Why: "three nodes, two clients with four operations each"}
	five  = mutants.Load{
		Name: "five",
		Set:  []string{"nodes=5", "requests=8"},
		Why:  "five nodes, of which three can continue without the others",
	}
	open = mutants.Load{
		Name: "no pre-vote",
		Set:  []string{"no-pre-vote=true"},
		Why:  "elections without a pre-vote, which hides what votes do wrong",
	}
	reading = mutants.Load{
		Name: "reads",
		Set:  []string{"clients=4", "requests=8", "keys=1", "no-pre-vote=true"},
		Why:  "more clients and operations on one key, so that a stale read shows",
	}
	change = mutants.Load{
		Name: "change",
		Set:  []string{"nodes=5", "changes=6", "requests=8", "no-pre-vote=true"},
		Why:  "voters that are demoted and promoted",
	}
	compact = mutants.Load{
		Name: "compact",
		Set:  []string{"compact=3", "requests=10"},
		Why:  "a snapshot after every third entry",
	}
)

func votes() []mutants.Mutant {
	return []mutants.Mutant{
		{Name: "vote-twice", Area: mutants.Votes, File: "raft.go", Func: "Raft.requestVote", Load: open,
			Expr: "lastVoteTerm == req.Term && lastVoteCandBytes != nil", By: "false",
			Does:   "a node votes for every candidate, also if it voted for another in this term",
			Breaks: "one vote a node and term (§5.2; Fig. 2, RequestVote receiver 2)"},
		{Name: "own-vote-free", Area: mutants.Votes, File: "raft.go", Func: "Raft.electSelf", Load: open,
			Stmt:   `if err := r.persistVote(req.Term, req.RPCHeader.Addr); err != nil { r.logger.Error("failed to persist vote", "error", err) return nil }`,
			Does:   "a candidate counts its own vote and gives it away once more",
			Breaks: "a candidate votes for itself (§5.2; Fig. 2, Candidates)"},
		{Name: "vote-term-lost", Area: mutants.Votes, File: "raft.go", Func: "Raft.persistVote", Load: open,
			Stmt:   "if err := r.stable.SetUint64(keyLastVoteTerm, term); err != nil { return err }",
			Does:   "a node stores its vote without the term, so that the vote does not bind it",
			Breaks: "votedFor belongs to the current term and is on disk before the answer (Fig. 2, persistent state)"},
		{Name: "vote-older-log", Area: mutants.Votes, File: "raft.go", Func: "Raft.requestVote", Load: open,
			Expr: "lastTerm > req.LastLogTerm", By: "false",
			Does:   "a node votes for a candidate whose last entry is of an older term",
			Breaks: "the later last term decides which log is more up to date (§5.4.1)"},
		{Name: "vote-shorter-log", Area: mutants.Votes, File: "raft.go", Func: "Raft.requestVote", Load: open,
			Expr: "lastTerm == req.LastLogTerm && lastIdx > req.LastLogIndex", By: "false",
			Does:   "where the last terms are equal, the length of the log does not count",
			Breaks: "of two logs with the same last term the longer one is more up to date (§5.4.1)"},
		{Name: "refusal-counts", Area: mutants.Votes, File: "raft.go", Func: "Raft.runCandidate", Load: open,
			Expr: "vote.Granted", By: "true",
			Does:   "a refused vote, or none at all, counts as a vote",
			Breaks: "only votes that were granted count (§5.2; Fig. 2, RequestVote results)"},
		{Name: "minority-elects", Area: mutants.Votes, File: "raft.go", Func: "Raft.quorumSize", Load: plain,
			Expr: "voters/2 + 1", By: "voters / 2",
			Does:   "half of the votes, rounded down, win an election and verify a leader",
			Breaks: "a majority of the votes wins (§5.2; Fig. 2, Candidates)"},
	}
}

func terms() []mutants.Mutant {
	return []mutants.Mutant{
		{Name: "stale-append", Area: mutants.Terms, File: "raft.go", Func: "Raft.appendEntries", Load: plain,
			Expr: "a.Term < r.getCurrentTerm()", By: "false",
			Does:   "a follower takes entries from the leader of an earlier term",
			Breaks: "AppendEntries of an earlier term is refused (§5.1; Fig. 2, AppendEntries receiver 1)"},
		{Name: "stale-vote", Area: mutants.Terms, File: "raft.go", Func: "Raft.requestVote", Load: open,
			Expr: "req.Term < r.getCurrentTerm()", By: "false",
			Does:   "a node votes in an election of an earlier term",
			Breaks: "RequestVote of an earlier term is refused (Fig. 2, RequestVote receiver 1)"},
		{Name: "leads-on", Area: mutants.Terms, File: "raft.go", Func: "Raft.appendEntries", Load: plain,
			Stmt:   "r.setState(Follower)",
			Does:   "a leader or candidate that hears of a later leader takes over its term and stays what it is",
			Breaks: "a node that sees a later term follows (§5.1; Fig. 2, All Servers)"},
		{Name: "term-lost", Area: mutants.Terms, File: "raft.go", Func: "Raft.setCurrentTerm", Load: open,
			Stmt:   `if err := r.stable.SetUint64(keyCurrentTerm, t); err != nil { panic(fmt.Errorf("failed to save current term: %v", err)) }`,
			Does:   "a node forgets its term when it restarts",
			Breaks: "currentTerm survives a restart (Fig. 2, persistent state)"},
	}
}

func replication() []mutants.Mutant {
	return []mutants.Mutant{
		{Name: "prev-unchecked", Area: mutants.Matching, File: "raft.go", Func: "Raft.appendEntries", Load: plain,
			Expr: "a.PrevLogTerm != prevLogTerm", By: "false",
			Does:   "entries are appended to a log that differs before them",
			Breaks: "AppendEntries is refused where the entry before has another term (§5.3; Fig. 2, AppendEntries receiver 2)"},
		{Name: "conflict-kept", Area: mutants.Matching, File: "raft.go", Func: "Raft.appendEntries", Load: plain,
			Expr: "entry.Term != storeEntry.Term", By: "false",
			Does:   "an entry of another term at the same index stays",
			Breaks: "an entry that conflicts with a new one goes, and all that follow it (Fig. 2, AppendEntries receiver 3)"},
		{Name: "refusal-matches", Area: mutants.Matching, File: "replication.go", Func: "Raft.replicateTo", Load: plain,
			Expr: "resp.Success", By: "true",
			Does:   "a leader takes entries that a follower refused for stored",
			Breaks: "matchIndex moves when AppendEntries succeeds (Fig. 2, Leaders)"},
		{Name: "minority-commits", Area: mutants.Commits, File: "commitment.go", Func: "commitment.recalculate",
			Load: plain,
			Expr: "matched[(len(matched)-1)/2]", By: "matched[len(matched)-1]",
			Does:   "what one node has, the leader, is committed",
			Breaks: "an entry is committed once it is on a majority (§5.3; Fig. 2, Leaders)"},
		{Name: "commit-old-term", Area: mutants.Commits, File: "commitment.go", Func: "commitment.recalculate",
			Load: five,
			Expr: "quorumMatchIndex >= c.startIndex", By: "true",
			Does:   "a leader counts copies of entries of earlier terms",
			Breaks: "only entries of the leader's own term are committed by counting (§5.4.2)",
			Needs: "the run of Figure 8 of the paper: a leader that copies an old entry to a majority, crashes before " +
				"one of its own is there, and another that overwrites it"},
		{Name: "commit-too-far", Area: mutants.Commits, File: "raft.go", Func: "Raft.appendEntries", Load: plain,
			Expr: "min(a.LeaderCommitIndex, r.getLastIndex())", By: "a.LeaderCommitIndex",
			Does:   "a follower takes more for committed than it has",
			Breaks: "commitIndex is at most the index of the last new entry (Fig. 2, AppendEntries receiver 5)"},
	}
}

func others() []mutants.Mutant {
	return []mutants.Mutant{
		{Name: "learner-counts", Area: mutants.Members, File: "commitment.go", Func: "commitment.setConfiguration",
			Load: change,
			Expr: "server.Suffrage == Voter", By: "true",
			Does:   "what a non-voter has counts for the majority",
			Breaks: "servers that do not vote do not count toward majorities (dissertation §4.2.1)"},
		{Name: "verify-unasked", Area: mutants.Reads, File: "raft.go", Func: "Raft.verifyLeader", Load: reading,
			Expr: "v.quorumSize == 1", By: "true",
			Does:   "a leader believes that it is one without asking anybody",
			Breaks: "a leader exchanges heartbeats with a majority before it answers a read (§8)"},
		{Name: "snapshot-stale", Area: mutants.Snapshots, File: "raft.go", Func: "Raft.installSnapshot", Load: compact,
			Expr: "req.Term < r.getCurrentTerm()", By: "false",
			Does:   "a follower takes a snapshot from the leader of an earlier term",
			Breaks: "InstallSnapshot of an earlier term is refused (Fig. 13, receiver 1)",
			Needs: "a snapshot of a deposed leader that arrives after the next has been elected and is behind what the " +
				"follower has applied"},
		{Name: "snapshot-replayed", Area: mutants.Snapshots, File: "raft.go", Func: "Raft.installSnapshot",
			Load:   compact,
			Stmt:   "r.setLastApplied(req.LastLogIndex)",
			Does:   "what a snapshot holds is applied on top of it once more",
			Breaks: "the state machine is reset to the snapshot, and continues from there (Fig. 13, receiver 8)"},
		{Name: "restore-replayed", Area: mutants.Snapshots, File: "api.go", Func: "Raft.restoreSnapshot", Load: compact,
			Stmt:   "r.setLastApplied(snapshot.Index)",
			Does:   "a node that restarts applies what its snapshot holds on top of it",
			Breaks: "a snapshot stands for the entries up to its index (§7)"},
	}
}
