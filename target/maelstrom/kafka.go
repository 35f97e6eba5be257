package maelstrom

import (
	"fmt"
	"maps"
	"slices"
)

// place is an offset of a log.
type place struct{ key, offset int }

// checkKafka requires that an offset holds one record and a record has one offset. A poll returns records in the order
// of their offsets and skips no known record. Each committed offset that is listed was committed by a client.
func checkKafka(h *history) verdict {
	logs, v := h.logs()
	if v.text != "" {
		return v
	}
	for _, c := range h.answered() {
		switch c.Kind {
		case "poll":
			if text := c.skips(logs); text != "" {
				return broken(v.checked, text, c)
			}
		case "list_committed_offsets":
			v.checked++
			if text := h.committed(c); text != "" {
				return broken(v.checked, text, c)
			}
		}
	}
	return v
}

// logs returns the known content of the logs: from the answers to sends and polls.
func (h *history) logs() (map[place]int, verdict) {
	logs, places, v := map[place]int{}, map[int]place{}, verdict{}
	first := map[place]*call{}
	note := func(c *call, at place, value int) string {
		v.checked++
		if was, known := logs[at]; known && was != value {
			return fmt.Sprintf("offset %d of log %d holds %d and %d", at.offset, at.key, was, value)
		}
		if other, known := places[value]; known && other != at {
			return fmt.Sprintf("%d is at offset %d of log %d and at offset %d of log %d", value, other.offset,
				other.key, at.offset, at.key)
		}
		logs[at], places[value] = value, at
		if first[at] == nil {
			first[at] = c
		}
		return ""
	}
	for _, c := range h.answered() {
		switch c.Kind {
		case "send":
			var offset int
			if err := c.get("offset", &offset); err != nil {
				return logs, broken(v.checked, err.Error(), c)
			}
			if text := note(c, place{c.Key, offset}, c.Value); text != "" {
				return logs, broken(v.checked, text, c)
			}
		case "poll":
			polled := c.polled()
			for _, key := range slices.Sorted(maps.Keys(polled)) {
				for _, r := range polled[key] {
					if text := note(c, place{key, r.offset}, r.value); text != "" {
						return logs, broken(v.checked, text, c)
					}
				}
			}
		}
	}
	return logs, v
}

// skips describes a record that a poll omitted, or that is out of order.
func (c *call) skips(logs map[place]int) string {
	from, _ := c.sent["offsets"].(map[string]int)
	polled := c.polled()
	for _, key := range slices.Sorted(maps.Keys(polled)) {
		next := from[fmt.Sprint(key)]
		for _, r := range polled[key] {
			if r.offset < next {
				return fmt.Sprintf("node %d polls offset %d of log %d where %d or more was due", c.Node, r.offset, key,
					next)
			}
			next = r.offset + 1
		}
		next = from[fmt.Sprint(key)]
		for _, r := range polled[key] {
			for ; next < r.offset; next++ {
				if value, known := logs[place{key, next}]; known {
					return fmt.Sprintf("node %d polls offset %d of log %d but not offset %d, which holds %d", c.Node,
						r.offset, key, next, value)
				}
			}
			next++
		}
	}
	return ""
}

// committed describes errors in the committed offsets that were listed.
func (h *history) committed(c *call) string {
	var listed map[string]int
	if err := c.get("offsets", &listed); err != nil {
		return err.Error()
	}
	for _, key := range slices.Sorted(maps.Keys(listed)) {
		tried := slices.ContainsFunc(h.calls, func(o *call) bool {
			offsets, _ := o.sent["offsets"].(map[string]int)
			at, ok := offsets[key]
			return o.Kind == "commit_offsets" && ok && at == listed[key]
		})
		if !tried && listed[key] != 0 {
			return fmt.Sprintf("node %d lists %d as committed in log %s, which no client committed", c.Node,
				listed[key], key)
		}
	}
	return ""
}
