// Package watch is what clients see that watch a store with a history: every write has a
// revision, and a watch delivers the changes from a revision on. [Guarantees] are those that etcd gives:
// changes come in order, once, complete, in whole revisions, from where they were asked for, and
// a progress notification means that nothing before it is to come; and all that report a
// revision report the same.
//
// A system reports by events that a watch was opened, what it delivered, and what a write that was
// acknowledged changed. What was seen by one watch, or was acknowledged, must have been seen by all
// that reached beyond it.
package watch

import (
	"fmt"
	"strings"
)

// The types of event.
const (
	EventOpened    = "watch"        // a watch was opened: *Opened
	EventDelivered = "watched"      // a watch delivered something: *Delivered
	EventWrote     = "acknowledged" // a write was acknowledged: *Wrote
)

// Opened is the value of an event in which a watch is opened.
type Opened struct {
	Watch int    // its number, unique in the run
	From  int64  // the first revision that it asks for; 0: what comes from now on
	Key   string // the key watched; empty: all keys
}

// String is the watch as text.
func (o *Opened) String() string {
	what, from := "key "+o.Key, "now"
	if o.Key == "" {
		what = "all keys"
	}
	if o.From > 0 {
		from = fmt.Sprint("revision ", o.From)
	}
	return fmt.Sprintf("watch %d: %s from %s on", o.Watch, what, from)
}

// Change is what a write did to a key.
type Change struct {
	Revision   int64
	Key, Value string
	Deleted    bool
}

// String is the change as text.
func (c Change) String() string {
	if c.Deleted {
		return fmt.Sprintf("%d: %s deleted", c.Revision, c.Key)
	}
	return fmt.Sprintf("%d: %s=%s", c.Revision, c.Key, c.Value)
}

// Delivered is the value of an event in which a watch delivers something: changes, or, where there are
// none, that all up to a revision have been delivered.
type Delivered struct {
	Watch    int
	Changes  []Change
	Progress int64 // the revision of a progress notification; 0: it is none
}

// String is what was delivered, as text.
func (t *Delivered) String() string {
	if t.Progress > 0 {
		return fmt.Sprintf("watch %d: all up to revision %d", t.Watch, t.Progress)
	}
	return fmt.Sprintf("watch %d: %s", t.Watch, list(t.Changes))
}

// Wrote is the value of an event in which a write is acknowledged.
type Wrote struct{ Changes []Change }

// String is the write as text.
func (w *Wrote) String() string { return list(w.Changes) }

func list(changes []Change) string {
	var parts []string
	for _, c := range changes {
		parts = append(parts, c.String())
	}
	return strings.Join(parts, ", ")
}
