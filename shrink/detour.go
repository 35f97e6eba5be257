package shrink

import (
	"math/rand/v2"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// A detour takes at most often steps of its own for each of the script, and makes the run at
// most longest times as long.
const (
	often   = 0.7
	longest = 4
)

// detour is the scheduler that plays a script and now and then takes a step that the script
// does not have.
type detour struct {
	*lockstep.Player
	script script
	others []trace.Action // what may be done beside what is possible with messages, alarms and requests
	random *rand.Rand
	share  float64 // of steps of its own
	made   script
	names  trace.Namer
}

// detour runs a script with a few more steps and returns what was taken if the run fails, or
// nil.
func (s *shrinker) detour(now script, others []trace.Action, random *rand.Rand) script {
	d := &detour{Player: lockstep.NewPlayer(trace.Script(now), nil), script: now, others: others, random: random,
		share: random.Float64() * often, made: slices.Clone(now[:now.head()])}
	if !s.fails(d) || !s.fails(d.made) { // what it drew on its way may not be what it draws by a script
		return nil
	}
	return s.tidy(d.made)
}

func (d *detour) scheduler(*shrinker) lockstep.Scheduler { return d }
func (d *detour) size() string                           { return d.made.size() }

// Next takes the script's next action, or a step of the detour.
func (d *detour) Next(run *lockstep.Run, next *lockstep.Step) bool {
	for all := run.Messages(); d.names.Named() < len(all); {
		d.names.Add(&all[d.names.Named()])
	}
	if !run.Settling() && d.random.Float64() < d.share && len(d.made) < longest*len(d.script) && d.stray(run, next) {
		return true
	}
	if !d.Player.Next(run, next) {
		return false
	}
	took := d.Took()
	d.made = append(d.made, d.script[took[len(took)-1]])
	return true
}

// stray takes a possible step.
func (d *detour) stray(run *lockstep.Run, next *lockstep.Step) bool {
	flying, alarms, waiting := run.InFlight(), run.Alarms(), run.Pending()
	a := trace.Action{}
	switch i := d.random.IntN(2*len(flying) + alarms.Len() + len(waiting) + len(d.others) + 1); {
	case i < 2*len(flying):
		id := flying[i/2]
		if d.random.IntN(2) == 0 { // one of the latest, to go on from what was done before
			id = flying[len(flying)-1-d.random.IntN(min(4, len(flying)))]
		}
		*next = lockstep.Step{Kind: trace.Deliver, Msg: id}
		a.Msg = d.names.Name(id)
	case i < 2*len(flying)+alarms.Len():
		*next = lockstep.Step{Kind: trace.Alarm, Node: alarms.Nth(i - 2*len(flying))}
	case i < 2*len(flying)+alarms.Len()+len(waiting):
		p := waiting[i-2*len(flying)-alarms.Len()]
		if p.To&run.Up() == 0 {
			return false
		}
		to := p.To & run.Up()
		*next = lockstep.Step{Kind: trace.Request, Request: p.ID, Node: to.Nth(d.random.IntN(to.Len()))}
	case len(d.others) > 0:
		a = d.others[d.random.IntN(len(d.others))]
		*next = a.Step
		run.Recall(a.Draws)
	default:
		return false
	}
	if !run.Possible(*next) {
		*next = lockstep.Step{}
		return false
	}
	if a.Step = *next; a.Msg.Nth > 0 {
		a.Step.Msg = 0
	}
	d.made = append(d.made, a)
	return true
}
