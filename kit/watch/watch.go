// Package watch checks what clients see that watch a store with revisions: every write has a revision, and a watch
// delivers the changes from a revision on.
//
// [Guarantees] is the spec of the guarantees that etcd documents. A watch delivers changes in order, once, without
// gaps, and all changes of a revision together, from the revision that it asks for. After a progress notification, no
// change up to its revision follows. All reports of a revision agree.
//
// A system reports by events that a watch was opened, what a watch delivered, and what an acknowledged write changed. A
// change that one watch delivered, or that was acknowledged, must reach every watch that got beyond its revision.
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
func (d *Delivered) String() string {
	if d.Progress > 0 {
		return fmt.Sprintf("watch %d: all up to revision %d", d.Watch, d.Progress)
	}
	return fmt.Sprintf("watch %d: %s", d.Watch, list(d.Changes))
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
