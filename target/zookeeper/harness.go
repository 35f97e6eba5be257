package zookeeper

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
)

// Harness is the client workload of a run, step by step.
type Harness []Act

// Act is a step: nothing, or a write of a value to a key at a server, possibly if a key has a given value. The client
// checks the condition with a read before the write: the two are no transaction.
type Act struct {
	// Node is the server; 0 means that there is no request.
	Node int
	// Key receives Value.
	Key, Value int
	// If is set if Other must have the value Has.
	If         bool
	Other, Has int
}

// Keys is the number of keys that a harness can use: k0 and k1.
const Keys = 2

// The harnesses of the paper, with servers counted from 1, and a third one.
const (
	// Div is the harness of ZOOKEEPER-2832.
	Div = "2:k0=101; ; 3:k1=302"
	// Sc is the harness of ZOOKEEPER-3875.
	Sc = "2:k1=0?k1=101; ; 1:k1=101?k0=200; 2:k1=0?k1=301; 1:k1=0?k0=400"
	// Seen is a harness in which clients only read, because their conditions do not hold.
	Seen = "3:k0=1?k0=2; 2:k0=1?k0=2"
)

var actForm = regexp.MustCompile(
	`^([1-9][0-9]?)\s*:\s*(?:k([01])\s*=\s*([0-9]{1,6})\s*\?\s*)?k([01])\s*=\s*([0-9]{1,6})$`,
)

// Parse parses a harness: steps separated by semicolons. Each is empty, or like "2:k0=101" (server 2 sets k0), or
// "2:k1=0?k0=101" (if k1 is 0). The names div and sc denote the harnesses of the paper.
func Parse(text string) (Harness, error) {
	switch text {
	case "div":
		text = Div
	case "sc":
		text = Sc
	}
	var h Harness
	for part := range strings.SplitSeq(text, ";") {
		part = strings.TrimSpace(part)
		m := actForm.FindStringSubmatch(part)
		switch {
		case part == "" || part == "empty":
			h = append(h, Act{})
			continue
		case m == nil:
			return nil, fmt.Errorf("%q is no step of a harness: it is empty, or like 2:k0=101, or like 2:k1=0?k0=101",
				part)
		}
		number := func(i int) int { n, _ := strconv.Atoi(m[i]); return n }
		h = append(h,
			Act{Node: number(1), Key: number(4), Value: number(5), If: m[2] != "", Other: number(2), Has: number(3)})
	}
	return h, nil
}

// String returns the format that Parse reads.
func (h Harness) String() string {
	var parts []string
	for _, a := range h {
		parts = append(parts, a.String())
	}
	return strings.Join(parts, "; ")
}

// String returns the step in the format that Parse reads.
func (a Act) String() string {
	switch {
	case a.Node == 0:
		return "empty"
	case a.If:
		return fmt.Sprintf("%d:k%d=%d?k%d=%d", a.Node, a.Other, a.Has, a.Key, a.Value)
	default:
		return fmt.Sprintf("%d:k%d=%d", a.Node, a.Key, a.Value)
	}
}

// draw draws a harness with the given number of steps, some of which are requests. As in the paper, it draws any steps,
// servers and keys. Half of the requests have a condition, on a value that the key may have.
func draw(r *rand.Rand, nodes, steps, requests int) Harness {
	h := make(Harness, steps)
	at := r.Perm(steps)[:requests]
	may := [Keys][]int{{0}, {0}} // values that keys may have, in any order of execution
	for i := range h {
		for _, k := range at {
			if k == i {
				h[i] = Act{Node: 1 + r.IntN(nodes), Key: r.IntN(Keys), Value: (i+1)*100 + i}
				may[h[i].Key] = append(may[h[i].Key], h[i].Value)
			}
		}
	}
	for i := range h {
		if a := &h[i]; a.Node != 0 && r.IntN(2) == 0 {
			a.If, a.Other = true, r.IntN(Keys)
			a.Has = may[a.Other][r.IntN(len(may[a.Other]))]
		}
	}
	return h
}
