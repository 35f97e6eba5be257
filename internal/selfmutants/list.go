package main

import "github.com/lockstep-go/lockstep/kit/mutants"

// control is a mutant that changes nothing. Tests pass with it, so that they fail because of the other mutants alone.
const control = "control"

// expr is a mutant that replaces an expression, and skip is one that omits a statement.
func expr(name, file, function, was, by, does string) mutants.Mutant {
	return mutants.Mutant{Name: name, File: file, Func: function, Expr: was, By: by, Does: does}
}

func skip(name, file, function, stmt, does string) mutants.Mutant {
	return mutants.Mutant{Name: name, File: file, Func: function, Stmt: stmt, Does: does}
}

// list is the seeded faults.
var list = []mutants.Mutant{
	expr(control, "budget.go", "exceeds", "n > limit", "n > limit", "changes nothing"),

	// the engine
	expr("budget-one-more", "budget.go", "exceeds", "limit != Unlimited && n > limit", "limit != Unlimited && n > limit+1",
		"a run may have one fault more than its budget"),
	expr("byzantine-costs-crash", "budget.go", "Budget.exceeded", "f.crashed &^ f.byzantine", "f.crashed",
		"the crash of a Byzantine node costs a crash of the budget"),
	skip("lost-to-down-node", "budget.go", "Run.lose", "if !r.up.Has(to) { return }",
		"a message to a crashed node counts as lost"),
	skip("timer-survives-crash", "perform.go", "Run.enter", "r.timers = r.timers.Without(s.Node)",
		"the timer of a crashed node is armed when the node restarts"),
	skip("digest-without-wait", "perform.go", "Run.enter", "r.mix(uint64(s.For))",
		"the digest does not contain how long the run waits"),
	skip("digest-without-event", "outbox.go", "Outbox.Event", "r.mix(uint64(e.Node))",
		"the digest does not contain the node of an event"),
	expr("cut-from-itself", "trace/links.go", "Links.set", "to.Without(n)", "to",
		"a cut loses the messages of a node to itself"),
	expr("fifo-overtakes", "possible.go", "Run.undeliverable", "r.Head(id) != id", "false",
		"a message overtakes others on a FIFO link"),
	expr("timer-before-its-time", "possible.go", "Run.silent", "r.info.OneClock", "false",
		"a timer fires before the timers that are due earlier"),
	expr("other-text-confirms", "confirm.go", "worker.confirm", "again.Text != f.Finding.Text", "false",
		"a rerun that violates the property otherwise confirms the finding"),
	expr("recheck-is-content", "confirm.go", "worker.recheck",
		"w.run.digest == one.digest && outcome.Verdict == one.outcome.Verdict", "true",
		"a passing run that diverges when it is rerun goes unnoticed"),
	expr("recheck-never", "explore.go", "campaign.doubts", "one.number%every == every-1", "false",
		"no passing run is rerun"),
	expr("first-finding-ends-nothing", "explore.go", "campaign.accept", "c.result.Findings() > 0 && !c.KeepGoing", "false",
		"a campaign continues after its first finding"),
	skip("inconclusive-uncounted", "merge.go", "Result.Add", "r.Inconclusive += next.Inconclusive",
		"inconclusive runs are not added up"),
	expr("broken-environment", "merge.go", "Result.EnvironmentError", "r.InconclusiveTail > limit", "false",
		"a campaign continues though the last runs were all inconclusive"),
	expr("settle-one-node", "settle.go", "settler.request", "s.given % to.Len()", "0",
		"the settling stage gives all requests to one node"),
	expr("settle-without-heal", "settle.go", "settler.Next", "turn.anyCut()", "false",
		"the settling stage does not heal cuts"),
	expr("player-takes-oldest", "player.go", "Player.find", "turn.lines.order != nil", "true",
		"a replay takes the oldest message in the place of one that is missing, not the newest"),
	expr("player-settles-early", "player.go", "Player.Next", "a.Settle && !turn.settling", "false",
		"a replay takes steps of the settling stage before it"),
	expr("draws-forgotten", "draw.go", "draws.begin", "d.given == nil", "false",
		"a replay draws other numbers than the trace has"),
	expr("too-few-runs", "guarantee.go", "Guarantee.Runs", "math.Ceil(math.Log1p(-want) / math.Log1p(-g.PerRun))",
		"math.Floor(math.Log1p(-want) / math.Log1p(-g.PerRun))", "a guarantee names a run too few"),
	skip("times-leak", "run.go", "Run.reset", "clear(r.timerAt)", "a run sees the times of the timers of the run before"),

	// strategies
	expr("broken-a-round-late", "strategy/space.go", "breakage.broken",
		"int(b.starts[phase*b.sites+site]) <= round", "int(b.starts[phase*b.sites+site]) < round",
		"a link breaks one round later than drawn"),
	expr("isolations-biased", "strategy/space.go", "space.drawCount", "s.smallAtMost[p][left]",
		"s.smallAtMost[p][left]/2+1", "executions with many isolations are not drawn"),
	expr("sites-not-shuffled", "strategy/space.go", "space.breakFrom", "r.IntN(s.sites - k)", "0",
		"the same nodes are isolated in each run"),
	expr("unrank-twice", "strategy/space.go", "space.unrankPhase", "subset >= with", "subset > with",
		"the enumeration makes one execution twice and leaves another one out"),
	expr("loses-less", "strategy/lossy.go", "loser.Loses", "l.rand.Float64() < l.loss", "l.rand.Float64() < l.loss/2",
		"half as many messages are lost as asked for"),
	expr("majority-down", "strategy/walk.go", "Walk.New", "(info.Nodes - 1) / 2", "info.Nodes / 2",
		"half of an even number of nodes may be down"),
	expr("weights-shifted", "strategy/walk.go", "walker.kind", "at < 0", "at <= 0",
		"the kinds of steps are not drawn by their weights"),
	expr("change-points-idle", "strategy/pctcp.go", "pctcp.came", "e.change > 0", "false",
		"a change point does not lower the priority of its chain"),
	expr("chains-of-concurrent", "strategy/chains.go", "partition.insert", "after(p.last[c])", "true",
		"a chain has concurrent events"),
	skip("races-keep-priority", "strategy/pos.go", "pos.happened",
		"if e := &p.events[other]; e.node == node { e.key = p.rand.Uint64() }",
		"events that race keep their priorities"),
	expr("swap-too-far", "strategy/queues.go", "queues.possible", "link.network[0].moved < q.distance", "true",
		"a message moves farther than the bound allows"),
	expr("bounds-ignored", "strategy/queues.go", "queues.choices", "q.never[act] || !q.allows(act)", "q.never[act]",
		"more messages are lost and duplicated than the bounds allow"),
	expr("partition-keeps-mail", "strategy/partition.go", "partitioner.cut",
		"m.From != 0 && turn.Cut(m.From).Has(m.To)", "false", "a partition does not lose what is in flight across it"),
	expr("partition-twice", "strategy/partition.go", "partitioner.draw", "p != s.drawn[i-1]", "true",
		"two partitions of a sequence may be the same"),
	expr("too-many-crashes", "strategy/faults.go", "faults.crash", "nodes-turn.Up().Len() >= (nodes-1)/2", "false",
		"a majority of the nodes is down"),
	expr("one-way-is-two-way", "strategy/faults.go", "faults.draw", "kind == cutOneWay", "false",
		"cuts in one direction cut both"),
	skip("overtaken-indefinitely", "strategy/agenda.go", "agenda.overtake", "e.passed++",
		"an event may be overtaken by any number of others"),

	// the shrinker and the replay
	expr("shrunk-beyond-faults", "shrink/shrink.go", "shrinker.fails", "s.made(c).faults.within(s.was.faults)", "true",
		"a shrunk run may have more faults than the original run"),
	expr("shrunk-to-another", "shrink/shrink.go", "shrinker.same", "o.Finding.Property == s.property", "true",
		"a run is shrunk to one that violates another property"),
	expr("one-of-five", "shrink/shrink.go", "shrinker.violates", "math.Ceil(s.options.Share * float64(of))", "1.0",
		"one failure in all repetitions is enough for a best-effort system"),
	skip("cuts-uncounted", "shrink/extent.go", "meter.add", "m.cuts++", "cuts are not part of the extent of a run"),
	expr("roles-stay", "shrink/script.go", "renamed", "(int(n)-1+turn)%nodes + 1", "int(n)",
		"shrinking does not rotate the nodes"),
	expr("draws-stay", "shrink/script.go", "shrinker.simpler", "!s.exhausted()", "false",
		"shrinking does not lower the draws of the system"),
	expr("isolated-receiver", "shrink/schedule.go", "phase.isolates",
		"p.isolated(m.From, round) || p.isolated(m.To, round)", "p.isolated(m.From, round)",
		"a message that an isolation of its receiver loses counts as a loss of its own"),
	expr("other-message-lost", "shrink/schedule.go", "scheduleReader.losses", "nth + 1", "nth",
		"shrinking loses another message of the link"),
	expr("one-replay", "replay/replay.go", "repeat", `r.Difference == ""`, "true",
		"a run that differs in each replay is not reported as flaky"),
}
