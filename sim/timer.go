package sim

import "github.com/lockstep-go/lockstep/trace"

// timer is a node's unnamed timer.
type timer struct {
	at  trace.Time
	set bool
}

// SetTimeout arms the node's unnamed timer to fire after the given virtual time, in the
// system's unit. It replaces an armed one.
func (c *Context[M]) SetTimeout(after trace.Time) {
	c.timer = timer{c.Now() + after, true}
	c.arm()
}

// StopTimeout disarms the node's unnamed timer.
func (c *Context[M]) StopTimeout() {
	c.timer.set = false
	c.arm()
}

// SetTimer sets the timer with this name to fire after the given virtual time. A node may have any number of named
// timers besides its unnamed one. Setting an armed timer rearms it. Of a node's timers, the one that is due first fires
// first.
func (c *Context[M]) SetTimer(name string, after trace.Time) {
	if name == "" {
		c.SetTimeout(after)
		return
	}
	c.timers.Set(name, c.Now()+after)
	c.arm()
}

// StopTimer stops the timer with this name.
func (c *Context[M]) StopTimer(name string) {
	if name == "" {
		c.timer.set = false
	}
	c.timers.Stop(name)
	c.arm()
}

// arm arms the engine's single timer of a node for the timer that is due first.
func (c *Context[M]) arm() {
	_, at, ok := c.first()
	switch d := c.deployment; {
	case d.out == nil && ok: // without an engine, see Bare
		d.timers = d.timers.With(c.self)
	case d.out == nil:
		d.timers = d.timers.Without(c.self)
	case ok:
		d.out.SetTimer(c.self, at)
	default:
		d.out.StopTimer(c.self)
	}
}

// first returns the timer that is due first, and whether there is one. The unnamed timer comes before others that are
// due at the same time.
func (c *Context[M]) first() (name string, at trace.Time, ok bool) {
	if len(c.timers) == 0 {
		return "", c.timer.at, c.timer.set
	}
	name, at, ok = c.timers.First()
	if c.timer.set && c.timer.at <= at {
		return "", c.timer.at, true
	}
	return name, at, ok
}

// fire fires the timer that is due first.
func (c *Context[M]) fire() {
	if len(c.timers) == 0 {
		c.timer.set = false
		c.node.Timeout(c)
		return
	}
	name, _, _ := c.first()
	if name == "" {
		c.timer.set = false
	} else {
		c.timers.Stop(name)
	}
	c.arm()
	if out := c.deployment.out; out != nil && name != "" {
		out.Describe(name)
	}
	if c.can.Timer != nil && name != "" {
		c.can.Timer(c, name)
	} else {
		c.node.Timeout(c)
	}
}
