package sim

import "github.com/lockstep-go/lockstep/trace"

// alarm is a node's alarm, a timer without a name.
type alarm struct {
	at  trace.Time
	set bool
}

// SetAlarm arms the node's alarm to fire after the given virtual time; an alarm that
// was armed before is replaced.
func (c *Context[M]) SetAlarm(after trace.Time) {
	c.alarm = alarm{c.Now() + after, true}
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
func (c *Context[M]) SetTimer(name string, after trace.Time) {
	if name == "" {
		c.SetAlarm(after)
		return
	}
	c.timers.Set(name, c.Now()+after)
	c.arm()
}

// StopTimer stops the timer of that name.
func (c *Context[M]) StopTimer(name string) {
	if name == "" {
		c.alarm.set = false
	}
	c.timers.Stop(name)
	c.arm()
}

// arm arms the one alarm that the engine knows of a node for the timer that is due first.
func (c *Context[M]) arm() {
	_, at, ok := c.first()
	switch d := c.deployment; {
	case d.out == nil && ok: // no engine: see Bare
		d.alarms = d.alarms.With(c.self)
	case d.out == nil:
		d.alarms = d.alarms.Without(c.self)
	case ok:
		d.out.SetAlarm(c.self, at)
	default:
		d.out.StopAlarm(c.self)
	}
}

// first is the timer that is due first, and whether there is one. The alarm, which has no name,
// comes before others that are due at the same time.
func (c *Context[M]) first() (name string, at trace.Time, ok bool) {
	if len(c.timers) == 0 {
		return "", c.alarm.at, c.alarm.set
	}
	name, at, ok = c.timers.First()
	if c.alarm.set && c.alarm.at <= at {
		return "", c.alarm.at, true
	}
	return name, at, ok
}

// fire fires the timer that is due first.
func (c *Context[M]) fire() {
	if len(c.timers) == 0 {
		c.alarm.set = false
		c.node.Alarm(c)
		return
	}
	name, _, _ := c.first()
	if name == "" {
		c.alarm.set = false
	} else {
		c.timers.Stop(name)
	}
	c.arm()
	if out := c.deployment.out; out != nil && name != "" {
		out.Tell(name)
	}
	if node, ok := c.node.(interface{ Timer(*Context[M], string) }); ok && name != "" {
		node.Timer(c, name)
	} else {
		c.node.Alarm(c)
	}
}
