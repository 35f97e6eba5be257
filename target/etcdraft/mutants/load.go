package mutants

import "github.com/lockstep-go/lockstep/kit/mutants"

// settle is enough for three nodes and the default workload, as the specs require; messages of one entry need more.
const settle = 3000

// The workloads. Each enables only the options that reach its mutants.
var (
	plain = mutants.Load{Name: "plain", Why: "three nodes, two clients with four operations each"}
	live  = mutants.Load{
		Name:   "live",
		Settle: settle,
		Why:    "the same with a settling stage, after which liveness is checked",
	}
	small = mutants.Load{
		Name: "small",
		Set:  []string{"max-size-per-msg=1"},
		Why:  "one entry in a message, so that old and new entries travel apart",
	}
	five = mutants.Load{
		Name: "five",
		Set:  []string{"nodes=5"},
		Why:  "five nodes: with three, whatever one follower has acknowledged is on a majority",
	}
	async = mutants.Load{
		Name: "async",
		Set:  []string{"async=true", "hold-votes=true"},
		Why:  "storage that writes while the library continues",
	}
	pre = mutants.Load{
		Name:   "prevote",
		Set:    []string{"pre-vote=true"},
		Settle: settle,
		Why:    "elections with a pre-vote; liveness is checked",
	}

	change = mutants.Load{
		Name: "change",
		Set:  []string{"nodes=5", "voters=3", "changes=8", "atomic=true"},
		Why:  "two nodes outside, eight membership changes, simple and joint",
	}
	changeAsync = mutants.Load{
		Name: "change-async",
		Set:  []string{"nodes=5", "voters=3", "changes=8", "async=true", "hold-votes=true", "atomic=true"},
		Why:  "the same with entries that are applied later than they are committed",
	}
	reading = mutants.Load{
		Name: "reads",
		Set:  []string{"clients=4", "requests=8", "keys=1"},
		Why:  "more clients and operations on one key, so that a stale read shows",
	}

	compact = mutants.Load{
		Name: "compact",
		Set:  []string{"compact=2", "requests=8"},
		Why:  "a snapshot after every second entry",
	}
	grow = mutants.Load{
		Name:   "grow",
		Set:    []string{"voters=1", "changes=4", "compact=2"},
		Settle: settle,
		Why:    "one voter; nodes that join need a snapshot and soon count for the majority; liveness is checked",
	}
	compactAsync = mutants.Load{
		Name: "compact-async",
		Set:  []string{"compact=2", "requests=8", "async=true", "hold-votes=true"},
		Why:  "snapshots and storage that writes later",
	}
	window = mutants.Load{
		Name:   "window",
		Set:    []string{"max-inflight=2", "max-size-per-msg=1"},
		Settle: 10000,
		Why:    "two messages of one entry on their way to a follower; liveness is checked",
	}
	transfer = mutants.Load{
		Name:   "transfer",
		Set:    []string{"transfers=2"},
		Settle: settle,
		Why:    "two leadership transfers; liveness is checked",
	}
)
