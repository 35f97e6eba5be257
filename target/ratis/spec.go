package ratis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/spec"
)

// The types of the events that report the client's observations and the final states of servers, with their values.
const (
	EventSend   = "send"   // a Send
	EventAnswer = "answer" // an *Answer
	EventWaits  = "waits"  // a Waits
	EventEnd    = "end"    // an *End
)

// Send is the number of a request that was sent.
type Send int

// Answer is the client's result of a request: a number, or an error.
type Answer struct {
	Request int
	Text    string
}

// String returns the answer as text.
func (a *Answer) String() string { return fmt.Sprintf("request %d: %s", a.Request, a.Text) }

// refused reports whether the answer is an error that the library may report, and broken whether it is one that it may
// not.
func (a *Answer) refused() bool { return strings.HasPrefix(a.Text, "no") }
func (a *Answer) broken() bool  { return strings.HasPrefix(a.Text, "broken") }

// Waits is where in the client's library overdue requests are.
type Waits string

// The roles of servers.
const (
	roleLeader   = "leader"
	roleFollower = "follower"
)

// State is the state of a server.
type State struct {
	Leads   bool
	Term    int64
	Commit  int64 // the commit index
	Applied int64 // the index that the counter applied last
	First   int64 // the first index of the log
	// Log has the term and kind of each entry: s for a request, c for a configuration, m for commit metadata, and a hash
	Log []string
}

// parseState parses a server's report of its state.
func parseState(text string) (s State, err error) {
	words := strings.Fields(text)
	if len(words) < 5 || words[0] != roleLeader && words[0] != roleFollower {
		return s, fmt.Errorf("ratis: %q is no state of a server", text)
	}
	s.Leads, s.Log = words[0] == roleLeader, words[5:]
	for i, to := range []*int64{&s.Term, &s.Commit, &s.Applied, &s.First} {
		if *to, err = strconv.ParseInt(words[i+1], 10, 64); err != nil {
			return s, fmt.Errorf("ratis: %q is no state of a server", text)
		}
	}
	return s, nil
}

// String returns the state as text.
func (s State) String() string {
	role := roleFollower
	if s.Leads {
		role = roleLeader
	}
	return fmt.Sprintf("%s term=%d commit=%d applied=%d log from %d: %s", role, s.Term, s.Commit, s.Applied, s.First,
		strings.Join(s.Log, " "))
}

// End contains the final states of servers, by node-1.
type End struct{ States []State }

// String returns the states as text.
func (e *End) String() string {
	var parts []string
	for i, s := range e.States {
		parts = append(parts, fmt.Sprintf("%d: %s", i+1, s))
	}
	return strings.Join(parts, "; ")
}

// within selects the states of some servers.
func within(states []State, nodes lockstep.Nodes) (some []State) {
	for i, s := range states {
		if nodes.Has(lockstep.Node(i + 1)) {
			some = append(some, s)
		}
	}
	return some
}

// leader returns the position, from 1, of the server that leads in the highest term, or 0.
func leader(states []State) int {
	term := int64(0)
	for _, s := range states {
		term = max(term, s.Term)
	}
	return 1 + slices.IndexFunc(states, func(s State) bool { return s.Leads && s.Term == term })
}

// differ describes how logs differ, or returns nothing.
func differ(states []State) string {
	for i, s := range states[1:] {
		first := states[0]
		if s.First != first.First || len(s.Log) != len(first.Log) {
			return fmt.Sprintf("server 1 has entries %d to %d, server %d has %d to %d", first.First,
				first.First+int64(len(first.Log))-1, i+2, s.First, s.First+int64(len(s.Log))-1)
		}
		for k := range s.Log {
			if s.Log[k] != first.Log[k] {
				return fmt.Sprintf("at index %d server 1 has %s and server %d has %s", first.First+int64(k),
					first.Log[k], i+2, s.Log[k])
			}
		}
	}
	return ""
}

// conflict describes different entries that two servers have both applied at one index, or returns nothing.
func conflict(states []State) string {
	for i, a := range states {
		for j, b := range states[:i] {
			for at := max(a.First, b.First); at <= min(a.Applied, b.Applied, a.last(), b.last()); at++ {
				if x, y := a.Log[at-a.First], b.Log[at-b.First]; x != y {
					return fmt.Sprintf("at index %d server %d has applied %s and server %d has applied %s", at, j+1, y,
						i+1, x)
				}
			}
		}
	}
	return ""
}

// last returns the last index of the log.
func (s State) last() int64 { return s.First + int64(len(s.Log)) - 1 }

// Properties are Raft's own, and those that the paper checks.
var Properties = spec.All(Applied, Leader, Logs, Answers, Library)

// Applied is the state machine safety of Raft: no two servers have applied different entries at the same index.
var Applied = spec.New("applied-agree", func(lockstep.Info) *checker { return &checker{find: conflicting} })

// conflicting describes the applied entries that differ.
func conflicting(h *history) string {
	if how := conflict(h.end.States); how != "" {
		return fmt.Sprintf("%s; %s", how, h.end)
	}
	return ""
}

// Leader is P1: after all cuts have healed, a leader exists within a time limit.
var Leader = spec.New("leader", func(lockstep.Info) *checker { return &checker{find: leaderless} })

// Logs is P2: all logs are equal within a time limit.
var Logs = spec.New("logs-agree", func(lockstep.Info) *checker { return &checker{find: disagreeing} })

// Answers is P3: every request is answered within a time limit. A library that gives up does not answer; Library checks
// that it does not break.
var Answers = spec.New("answers", func(lockstep.Info) *checker { return &checker{find: unanswered} })

// Library is the property that the client's library throws only the exceptions that its methods declare. It does not
// concern servers, so that it is separate from Answers.
var Library = spec.New("library", func(lockstep.Info) *checker { return &checker{find: breaking} })

// leaderless reports that no server leads.
func leaderless(h *history) string {
	if leader(h.end.States) != 0 {
		return ""
	}
	return "after all servers came back, no server leads: " + h.end.String()
}

// disagreeing describes how logs differ.
func disagreeing(h *history) string {
	if how := differ(h.end.States); how != "" {
		return fmt.Sprintf("after all servers came back, %s; %s", how, h.end)
	}
	return ""
}

// unanswered lists the requests without an answer.
func unanswered(h *history) string {
	var without, refused []string
	for n := 1; n <= h.sent; n++ {
		switch a := h.answers[n]; {
		case a == nil:
			without = append(without, strconv.Itoa(n))
		case a.refused():
			refused = append(refused, a.String())
		}
	}
	switch {
	case len(without) > 0:
		return fmt.Sprintf(
			"after all servers came back, there is no answer to request %s of %d; the client waits in %s",
			strings.Join(without, ", "), h.sent, h.waits)
	case len(refused) > 0:
		return "the client gave up: " + strings.Join(refused, "; ")
	}
	return ""
}

// breaking describes how the library broke.
func breaking(h *history) string {
	var broken []string
	for n := 1; n <= h.sent; n++ {
		if a := h.answers[n]; a != nil && a.broken() {
			broken = append(broken, a.String())
		}
	}
	if len(broken) == 0 {
		return ""
	}
	return "the client's library broke: " + strings.Join(broken, "; ")
}

// history is the input of the properties.
type history struct {
	sent    int
	answers map[int]*Answer
	waits   Waits
	end     *End
}

// note records an event.
func (h *history) note(e *lockstep.Event) {
	switch v := e.Value.(type) {
	case Send:
		h.sent = max(h.sent, int(v))
	case *Answer:
		h.answers[v.Request] = v
	case Waits:
		h.waits = v
	case *End:
		h.end = v
	}
}

// checker checks one property.
type checker struct {
	history
	find    func(*history) string
	checked int
}

// Reset begins a new run.
func (c *checker) Reset() { c.history, c.checked = history{answers: map[int]*Answer{}}, 0 }

// Checked returns the number of runs that ended.
func (c *checker) Checked() int { return c.checked }

// Event records an event.
func (c *checker) Event(_ *lockstep.Run, e *lockstep.Event) *lockstep.Finding {
	c.note(e)
	return nil
}

// End checks the final state.
func (c *checker) End(run *lockstep.Run) *lockstep.Finding {
	if !run.Settled() || c.end == nil {
		return nil
	}
	c.checked++
	if text := c.find(&c.history); text != "" {
		return &lockstep.Finding{Text: text}
	}
	return nil
}
