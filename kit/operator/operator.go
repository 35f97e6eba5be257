// Package operator issues the requests of a system's operator, besides those of its clients: membership changes,
// transfers of leadership and the like.
//
// An [Operator] has tasks and single requests. A [Task] is requested a number of times, one request at a time. The
// single requests are offered from the start, each by its text. A request step gives the system the number of a
// request. [Operator.Given] returns its task, and [Operator.Next] offers the next request of the task. [Changes] parses
// membership changes such as "remove 4; add 4".
package operator

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/trace"
)

// Change is a node that becomes a member, or ceases to be one.
type Change struct {
	Node lockstep.Node
	Add  bool
}

// String is "add 4" or "remove 4".
func (c Change) String() string {
	if c.Add {
		return fmt.Sprintf("add %d", c.Node)
	}
	return fmt.Sprintf("remove %d", c.Node)
}

// Of is the members after the change.
func (c Change) Of(members lockstep.Nodes) lockstep.Nodes {
	if c.Add {
		return members.With(c.Node)
	}
	return members.Without(c.Node)
}

// ReadChange reads a change of a system with so many nodes, and reports whether the text is
// one.
func ReadChange(text string, nodes int) (Change, bool) {
	verb, rest, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(rest)
	ok := err == nil && n >= 1 && n <= nodes && (verb == "add" || verb == "remove")
	return Change{Node: lockstep.Node(n), Add: verb == "add"}, ok
}

// Changes reads changes like "remove 4; add 4"; an empty text has none.
func Changes(text string, nodes int) ([]Change, error) {
	if text == "" {
		return nil, nil
	}
	var list []Change
	for part := range strings.SplitSeq(text, "; ") {
		c, ok := ReadChange(part, nodes)
		if !ok {
			return nil, fmt.Errorf("has %q, allowed are 'add N' and 'remove N' with a node of 1..%d, separated by '; '", part,
				nodes)
		}
		list = append(list, c)
	}
	return list, nil
}

// Task is something that the operator asks for a number of times.
type Task struct {
	Name  string // in a few words, like "change members"
	Times int
}

// RequestSink is where requests are offered: a [lockstep.Outbox].
type RequestSink interface{ Offer(trace.Pending) }

// Operator offers its requests beside those of the clients, with numbers that are free
// there.
type Operator struct {
	nodes lockstep.Nodes
	tasks []Task
	asks  []string
	done  []int // by task: offered so far
	sink  RequestSink
}

// New makes the operator of a system with so many nodes.
func New(nodes int, tasks []Task, asks []string) *Operator {
	return &Operator{nodes: trace.AllNodes(nodes), tasks: tasks, asks: asks, done: make([]int, len(tasks))}
}

// Begin begins a run: it offers the first request of every task, and all asks.
func (o *Operator) Begin(sink RequestSink) {
	o.sink = sink
	clear(o.done)
	for task := range o.tasks {
		o.Next(task)
	}
	for i, text := range o.asks {
		o.offer(len(o.tasks), i+1, text)
	}
}

// At sets the sink of the present step, where that is not the one of Begin.
func (o *Operator) At(sink RequestSink) { o.sink = sink }

// Next offers the next request of a task, while there is one.
func (o *Operator) Next(task int) {
	if d := o.tasks[task]; o.done[task] < d.Times {
		o.done[task]++
		o.Retry(task)
	}
}

// Retry offers the current request of a task again, after a node refused it.
func (o *Operator) Retry(task int) {
	k := o.done[task]
	o.offer(task, k, fmt.Sprintf("%s (%d)", o.tasks[task].Name, k))
}

// offer offers a request. The numbers of a task begin where those of the clients, or of the
// task before, end.
func (o *Operator) offer(task, k int, text string) {
	o.sink.Offer(trace.Pending{ID: int32((task+1)*kv.Numbers + k), To: o.nodes, Text: text})
}

// Has reports whether the number of a request is one of the operator's.
func (o *Operator) Has(id int32) bool { return id > kv.Numbers }

// Given is what a request is about: a task, or, where task is the number of them, the ask
// at an index.
func (o *Operator) Given(id int32) (task, ask int) {
	return int(id)/kv.Numbers - 1, int(id)%kv.Numbers - 1
}
