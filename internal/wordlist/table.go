package wordlist

import (
	"path"
	"strings"
)

// A word is a group of phrases that must not come back, and what is written instead.
type word struct{ name, want, phrases string }

// words are found in documentation, comments, strings and the parts of identifiers. Phrases are separated by bars.
var words = []word{
	{"mistake, mend", "bug (or defect), fix, fixed", "mistake|mistakes|mistaken|mend|mends|mended|mending"},
	{"tell, told", "report, notify, print, deliver, reconstruct",
		"tell|tells|telling|told|retell|retells|retelling|retold"},
	{"judge", "check, checker", "judge|judges|judged|judging|judgement|judgements|judgment|judgments"},
	{"alarm, ring", "timer (or timeout), fire", "alarm|alarms|ring|rings|rang|ringing"},
	{"made again, anew", "rerun, reproduced, again",
		"made again|make again|makes again|come again|comes again|came again|anew"},
	{"stands still", "is paused, is stalled, blocks", "stand still|stands still|stood still|standing still"},
	{"for ever, goes on", "indefinitely, continues", "for ever|forever|goes on|went on"},
	{"by itself", "automatically; single-node; on its own thread", "by itself"},
	{"nobody, who", "the node, the client, the caller", "nobody|somebody|someone|who|whom|whoever"},
	{"house, room", "the project, package; space", "house|houses|room|rooms"},
	{"folder", "directory", "folder|folders"},
	{"patience", "timeout", "patience|patient|patiently"},
	{"tries", "attempts", "tries"},
	{"life, lives", "incarnation(s)", "life|lives"},
	{"leader of all servers", "meta leader", "leader of all servers"},
	{"worthless, spoilt", "inconclusive (discarded)", "worthless|spoil|spoils|spoilt|spoiled"},
	{"roughly repeating", "nondeterministic (best effort), deterministic", "roughly|exactly repeating|repeats exactly"},
	{"stray", "divergence", "stray|strays|strayed|straying"},
	{"suspects", "sources of nondeterminism", "suspect|suspects"},
	{"quiet", "quiescent (system), idle (run), unloaded (machine)", "quiet|quietly|quieter|quieten|quietens"},
	{"stretch, crew", "batch, batch runner", "stretch|stretches|crew|crews"},
	{"liar, lie", "Byzantine node, forged message", "liar|liars|lie|lies|lied|lying"},
	{"suffer", "fault model; is affected by", "suffer|suffers|suffered|suffering"},
	{"careless, hasty", `the behavior ("without the safety check")`, "careless|carelessly|hasty|hastily|contrary"},
	{"story", "partition sequence", "story|stories"},
	{"notion", "coverage criterion", "notion|notions"},
	{"of the processor", "CPU time", "of the processor"},
	{"at a load of", "measure again, unloaded", "at a load of"},
	{"in words", "as text", "in words"},
	{"desk, duty", "request queue, task", "desk|desks|duty|duties"},
	{"books", "bookkeeping, state", "book|books"},
	{"British spelling", "American spelling", british()},
}

// fine are phrases that begin like a banned word and mean something else.
const fine = "tries to|tries again|ring buffer|ring buffers|lives in|lives on|lives at|lives under|life cycle|" +
	"lie in|lie on|lie at|lie between|lie below|lie above|lie within|lie outside|" +
	"lies in|lies on|lies at|lies between|lies below|lies above|lies within|lies outside"

// british lists words in British spelling.
func british() string {
	list := "centre|centres|defence|licence|artefact|artefacts|whilst|amongst|towards"
	for stem := range strings.FieldsSeq("behavi col fav hon neighb") {
		for end := range strings.FieldsSeq("our ours oured ouring ourable oural ourhood") {
			list += "|" + stem + end
		}
	}
	for stem := range strings.FieldsSeq(`general normal recogn synchron initial organ minim maxim serial optim real final
		random summar util special character visual parallel priorit equal linear token emphas custom categor stabil
		local central formal memo`) {
		for end := range strings.FieldsSeq("ise ised iser isers ises ising isation isations isable isability") {
			list += "|" + stem + end
		}
	}
	return list
}

// A phrase is some words in a row; banned is nil if they are fine.
type phrase struct {
	words  []string
	banned *word
}

// phrases has all phrases, good and bad, by their first words.
var phrases = func() map[string][]phrase {
	all := map[string][]phrase{}
	add := func(list string, banned *word) {
		for text := range strings.SplitSeq(list, "|") {
			parts := strings.Fields(text)
			all[parts[0]] = append(all[parts[0]], phrase{parts, banned})
		}
	}
	for i := range words {
		add(words[i].phrases, &words[i])
	}
	add(fine, nil)
	return all
}()

// A name is an exported identifier that was replaced.
type name struct{ pkg, old, want, dir string }

// names are the replaced identifiers: package, old name, new name.
var names = func() []name {
	var all []name
	for _, p := range []struct{ dir, pairs string }{
		{".", `Abilities=Capabilities Account=SchedulerStats Seen=RunStats Bench=Runner Crew=BatchRunner Chance=Source
			Found=Failure Hand=Control Place=Env Repeats=Determinism Exactly=Deterministic Roughly=BestEffort
			EventJudge=EventChecker`},
		{"spec", "Judge=Checker Ender=FinalChecker Most=MaxOps"},
		{"bubble", "Bury=CrashGrace"},
		{"strategy", "Apart=Isolation Means=IsolationMethod Lates=LateBounds DelayBounds=LateBounds Shadow=Queues"},
		{"scenario", "Chance=WithProbability Retell=FromTrace Minimise=Minimize"},
		{"cover", "Aim=Goal Deaf=OneWayCut Around=IndirectPath Chance=Probability ChanceOf=ProbabilityOf"},
		{"process", "Insist=Retry Order=Command Pass=Advance Whole=NoCuts Quiet=Quiesce"},
		{"kit/raftspec", "Led=HasLeader Stable=LeaderStable"},
	} {
		pkg := path.Base(p.dir)
		if p.dir == "." {
			pkg = "lockstep"
		}
		for pair := range strings.FieldsSeq(p.pairs) {
			old, want, _ := strings.Cut(pair, "=")
			all = append(all, name{pkg, old, want, p.dir})
		}
	}
	return all
}()

// An exemption lets a file or directory use a word in another meaning, which why says.
type exemption struct{ path, rule, why string }

var allow = []exemption{
	{"bubble/overlay/std/syscall.lockstep_calls_linux_amd64.go.txt", "alarm, ring", "a system call of Linux"},
	{"Makefile", "quiet", "a flag of pip"},
	{"examples/netrix/electors.py", "for ever, goes on", "a method of Python's servers"},
	{"target/memberlist", "suspects", "a state of SWIM"},
	{"target/bftsmart/agent/Agent.java", "British spelling", "the name of a method of BFT-SMaRt"},
	{"target/cassandra", "alarm, ring", "a cluster of Cassandra"},
	{"docs/reference/targets/maelstrom.md", "alarm, ring", "a function of Python"},
	{"report/campaign/reached.go", "in words", "the name of a package"},
	{"docs/reference/targets/cassandra.md", "alarm, ring", "a cluster of Cassandra"},
	{"target/etcdserver", "alarm, ring", "a request and a state of etcd"},
	{"docs/evidence/etcdserver.md", "alarm, ring", "a request and a state of etcd"},
	{"docs/reference/targets/etcdserver.md", "alarm, ring", "a request and a state of etcd"},
	{"reports/etcd-hash-without-keys/README.md", "alarm, ring", "a state of etcd"},
	{"docs/evidence/tendermint.md", "for ever, goes on", "the name of a published scenario"},
	{"docs/reference/targets/tendermint.md", "for ever, goes on", "the name of a published scenario"},
	{"target/tendermint/bftscenarios", "for ever, goes on", "the name of a published scenario"},
	{"trace/trace_test.go", "alarm, ring", "a step of the format before version 4"},
	{"distal/conform/sound_internal_test.go", "nobody, who", "a variable of programs in Distal"},
	{"distal/defects_test.go", "nobody, who", "a variable of programs in Distal"},
	{"distal/example_test.go", "nobody, who", "a field that sequential forms have"},
	{"distal/internal/generate", "nobody, who", "a variable of programs in Distal"},
	{"distal/internal/generate", "tell, told", "an action of programs in Distal"},
	{"distal/defects_test.go", "long line", "the text of programs"},
	{"distal/promela", "long line", "the text of models in Promela and C"},
	{"distal/internal/fixes", "long line", "the text of the source"},
	{"distal/internal/generate", "long line", "the text of programs"},
	{"distal/internal/generate", "quiet", "a property of programs in Distal"},
	{"distal/defects_test.go", "tell, told", "an action of programs in Distal"},
	{"distal/sequential/build.go", "nobody, who", "a field that sequential forms have"},
	{"distal/symmetry/symmetry_test.go", "nobody, who", "a variable of programs in Distal"},
	{"distal/unparse/unparse_test.go", "nobody, who", "a field that sequential forms have"},
}

func allowed(file, rule string) bool {
	for _, a := range allow {
		if a.rule == rule && within(file, a.path) {
			return true
		}
	}
	return false
}

// within reports whether a file is a path or is below it.
func within(file, dir string) bool { return file == dir || strings.HasPrefix(file, dir+"/") }
