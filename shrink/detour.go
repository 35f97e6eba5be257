package shrink

import (
	"math/rand/v2"
	"slices"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/trace"
)

// A detour has one of two shapes. A spread detour adds at most often steps of its own for each step of the script, up
// to longest times its length. A chain has at most chain steps: the first is any possible step, and the others deliver
// the messages that it causes.
const (
	often   = 0.7
	longest = 4
	chain   = 6
)

// detour is the scheduler that replays a script and adds steps of its own.
type detour struct {
	*lockstep.Player
	script script
	others []trace.Action // actions to consider besides messages, timers and requests
	random *rand.Rand
	share  float64 // spread: share of its own steps
	at     int     // chain: number of steps before it
	left   int     // chain: steps left to take
	since  int     // chain: number of messages sent before it; -1: it has not begun
	made   script
	names  trace.Namer
}

// detour runs a script with additional steps. If the run fails, it returns the steps taken, otherwise nil.
func (s *shrinker) detour(now script, others []trace.Action, random *rand.Rand) script {
	d := &detour{
		Player: lockstep.NewPlayer(trace.Script(now), nil),
		script: now,
		others: others,
		random: random,
		since:  -1,
		made:   slices.Clone(now[:now.head()]),
	}
	if random.IntN(2) == 0 {
		d.share = random.Float64() * often
	} else {
		d.at, d.left = now.head()+random.IntN(len(now)-now.head()+1), 1+random.IntN(chain)
	}
	if !s.fails(d) || !s.fails(d.made) { // the draws of the detour may differ from those of its script
		return nil
	}
	return s.tidy(d.made)
}

func (d *detour) scheduler(*shrinker) lockstep.Scheduler { return d }
func (d *detour) size() string                           { return d.made.size() }

// Next takes the script's next action, or a step of the detour.
func (d *detour) Next(turn *lockstep.Turn, next *lockstep.Step) bool {
	for all := turn.Messages(); d.names.Named() < len(all); {
		d.names.Add(&all[d.names.Named()])
	}
	if !turn.Settling() && d.onDetour(turn, next) {
		return true
	}
	if !d.Player.Next(turn, next) {
		return false
	}
	took := d.Took()
	d.made = append(d.made, d.script[took[len(took)-1]])
	return true
}

// onDetour takes a step of the detour, if one is scheduled now and possible.
func (d *detour) onDetour(turn *lockstep.Turn, next *lockstep.Step) bool {
	var a trace.Action
	ok := false
	switch {
	case d.share > 0:
		ok = d.random.Float64() < d.share && len(d.made) < longest*len(d.script)
		if ok {
			a, ok = d.any(turn)
		}
	case d.left > 0 && len(d.made) >= d.at:
		d.left--
		if d.since < 0 {
			d.since = len(turn.Messages())
			a, ok = d.any(turn)
		} else {
			a, ok = d.newest(turn)
		}
	}
	if !ok || !turn.Possible(a.Step) {
		return false
	}
	*next = a.Step
	turn.SetDraws(a.Draws)
	if a.Msg.Nth > 0 {
		a.Step.Msg = 0 // identified by its name from now on
	}
	d.made = append(d.made, a)
	return true
}

// deliver returns the action that delivers a message.
func (d *detour) deliver(id trace.ID) trace.Action {
	return trace.Action{Step: lockstep.Step{Kind: trace.Deliver, Msg: id}, Msg: d.names.Name(id)}
}

// newest delivers one of the two latest messages caused by the chain.
func (d *detour) newest(turn *lockstep.Turn) (trace.Action, bool) {
	flying := turn.FreeMessages()
	k := len(flying)
	for k > 0 && len(flying)-k < 2 && int(flying[k-1]) > d.since {
		k--
	}
	if k == len(flying) {
		return trace.Action{}, false
	}
	return d.deliver(flying[k+d.random.IntN(len(flying)-k)]), true
}

// any returns an action of any kind that may be possible.
func (d *detour) any(turn *lockstep.Turn) (trace.Action, bool) {
	flying, timers, waiting := turn.FreeMessages(), turn.Timers(), turn.Pending()
	switch d.random.IntN(8) {
	case 0, 1:
		if timers != 0 {
			return trace.Action{
				Step: lockstep.Step{Kind: trace.Timer, Node: timers.Nth(d.random.IntN(timers.Len()))},
			}, true
		}
	case 2:
		if len(waiting) > 0 {
			p := waiting[d.random.IntN(len(waiting))]
			if to := p.To & turn.Up(); to != 0 {
				return trace.Action{
					Step: lockstep.Step{Kind: trace.Request, Request: p.ID, Node: to.Nth(d.random.IntN(to.Len()))},
				}, true
			}
		}
	case 3:
		if len(d.others) > 0 {
			return d.others[d.random.IntN(len(d.others))], true
		}
	default:
		if len(flying) > 0 {
			return d.deliver(flying[d.random.IntN(len(flying))]), true
		}
	}
	return trace.Action{}, false
}
