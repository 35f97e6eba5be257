package sim

import "github.com/lockstep-go/lockstep"

// timer is a timer of a node. Its alarm is the one without a name.
type timer struct {
	name string
	at   lockstep.Time
	set  bool
}

// SetAlarm arms the node's alarm to fire after the given virtual time; an alarm that
// was armed before is replaced.
func (c *Context[M]) SetAlarm(after lockstep.Time) {
	c.alarm = timer{at: c.Now() + after, set: true}
	c.arm()
}

// StopAlarm disarms the node's alarm.
func (c *Context[M]) StopAlarm() {
	c.alarm.set = false
	c.arm()
}

// SetTimer sets the timer of that name, of which a node may have any number beside its alarm,
// to fire after the given virtual time; if it is set it is set anew. Of the timers of a node
// the one fires first that is due first.
func (c *Context[M]) SetTimer(name string, after lockstep.Time) {
	if name == "" {
		c.SetAlarm(after)
		return
	}
	c.takeTimer(name)
	c.timers = append(c.timers, timer{name, c.Now() + after, true})
	c.arm()
}

// StopTimer stops the timer of that name.
func (c *Context[M]) StopTimer(name string) {
	if name == "" {
		c.alarm.set = false
	}
	c.takeTimer(name)
	c.arm()
}

func (c *Context[M]) takeTimer(name string) {
	for i := range c.timers {
		if c.timers[i].name == name {
			c.timers = append(c.timers[:i], c.timers[i+1:]...)
			return
		}
	}
}

// arm arms the one alarm that the engine knows of a node for the timer that is due first.
func (c *Context[M]) arm() {
	first := c.first()
	switch d := c.deployment; {
	case d.out == nil && first.set: // no engine: see Bare
		d.alarms = d.alarms.With(c.self)
	case d.out == nil:
		d.alarms = d.alarms.Without(c.self)
	case first.set:
		d.out.SetAlarm(c.self, first.at)
	default:
		d.out.StopAlarm(c.self)
	}
}

// first is the timer that is due first, of several the one that was set first, and the alarm
// before all others.
func (c *Context[M]) first() timer {
	first := c.alarm
	for _, t := range c.timers {
		if !first.set || t.at < first.at {
			first = t
		}
	}
	return first
}

// fire fires the timer that is due first.
func (c *Context[M]) fire() {
	if len(c.timers) == 0 {
		c.alarm.set = false
		c.node.Alarm(c)
		return
	}
	first := c.first()
	if first.name == "" {
		c.alarm.set = false
	} else {
		c.takeTimer(first.name)
	}
	c.arm()
	if out := c.deployment.out; out != nil && first.name != "" {
		out.Tell(first.name)
	}
	if node, ok := c.node.(interface{ Timer(*Context[M], string) }); ok && first.name != "" {
		node.Timer(c, first.name)
	} else {
		c.node.Alarm(c)
	}
}
