package nats

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/kit/script"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// Script is a draft of a shell script that does with real servers what a run does: it starts servers, makes the stream,
// sends the requests of clients and of the operator, and kills, pauses and restarts servers. What a script cannot do,
// such as a power failure, the loss of a message or a cut, it says in a comment. Time is real there, so that a race may
// need many attempts. A trace is untrusted: each of its texts becomes one quoted argument, or part of a comment.
func Script(t *trace.Trace) string {
	w := &scriptWriter{numbers: map[string]string{}}
	w.head(t)
	answered := script.Answered(t)
	for i := range t.Records {
		r := &t.Records[i]
		if r.Settle {
			break
		}
		switch r.Step.Kind {
		case trace.Crash:
			w.Line(r.Now, "kill -9 \"$(cat server%d.pid)\"", r.Step.Node)
		case trace.Restart:
			w.Line(r.Now, "start %d", r.Step.Node)
		case trace.Cut, trace.Heal, trace.Jump:
			w.Line(r.Now, "# %s", r.Step)
		}
		for _, e := range r.Events {
			w.event(r, e, answered[i])
		}
		for _, l := range r.Logs {
			if l.Source == trace.LogOperator {
				w.Line(cmp.Or(l.At, r.Now), "%s", operatorRequest(l))
			}
		}
	}
	w.End(t)
	return w.String()
}

// scriptWriter writes the script of a run.
type scriptWriter struct {
	script.Writer
	numbers map[string]string // of acknowledged messages, by their data
}

// head writes the functions that start servers and send requests, and makes the stream.
func (s *scriptWriter) head(t *trace.Trace) {
	var routes []string
	for n := 1; n <= t.Header.Nodes; n++ {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:622%d", n))
	}
	always := ""
	if t.Header.Options["sync-always"] == "true" {
		always = ", sync_interval: always"
	}
	cluster := ""
	if t.Header.Nodes > 1 {
		cluster = "cluster { name: lockstep, listen: 127.0.0.1:622$1, routes: [" + strings.Join(routes, ", ") + "] }"
	}
	s.Text(fmt.Sprintf(`#!/bin/sh
# A draft, made from a run of Lockstep: %s, seed %d, run %d. Check it before you publish it.
set -u
SERVER=${SERVER:-nats-server}; NATS=${NATS:-nats}
cd "$(mktemp -d)"
start() { # starts server $1, from its files if it has some
	cat > server$1.conf <<END
server_name: n$1
listen: 127.0.0.1:422$1
jetstream { store_dir: "server$1"%s }
%s
END
	"$SERVER" -c server$1.conf 2>> server$1.log &
	echo $! > server$1.pid
}
req() { # sends a request to server $1
	server=$1; shift
	"$NATS" --server nats://127.0.0.1:422${server} --timeout 5s request "$@"
}
`, words.Clean(t.Header.Target+" "+t.Header.Build), t.Header.Seed, t.Header.Run, always, cluster))
	for n := 1; n <= t.Header.Nodes; n++ {
		s.Text(fmt.Sprintf("start %d\n", n))
	}
	s.Text("sleep 5\n")
	for _, c := range streamsOf(t).configs() {
		if body, err := json.Marshal(c); err == nil {
			s.Line(0, "req 1 %s %s", script.Argument("$JS.API.STREAM.CREATE."+c.Name),
				script.Argument(string(body)))
		}
	}
}

// streamsOf is the cluster of a run, as far as its streams go.
func streamsOf(t *trace.Trace) Cluster {
	number := func(key string) int {
		n, _ := strconv.Atoi(t.Header.Options[key]) // an option that is not set is 0
		return n
	}
	is := func(key string) bool { return t.Header.Options[key] == "true" }
	return Cluster{Nodes: t.Header.Nodes, Replicas: number("replicas"), Keys: number("keys"), Erasures: number("erasures"),
		Direct: is("direct"), Mirror: is("mirror"), Sources: is("sources")}.filled()
}

// event writes what an event of a run is in a script.
func (s *scriptWriter) event(r *trace.Record, e trace.Event, answered bool) {
	switch e.Type {
	case EventAcknowledged:
		if data, number, ok := strings.Cut(e.Text, " is message "); ok {
			s.numbers[data] = number
		}
	case "power-failure":
		s.Line(r.Now, "# the kill above is a power failure, which a script cannot cause: %s", e.Text)
	case bubble.Paused:
		s.Line(r.Now, "kill -STOP \"$(cat server%d.pid)\" # for %s", e.Node, e.Text)
	case bubble.Thawed:
		s.Line(r.Now, "kill -CONT \"$(cat server%d.pid)\"", e.Node)
	case EventMetaStepDown:
		s.Line(r.Now, "# server %d steps down as the meta leader, as $JS.API.META.LEADER.STEPDOWN of the system account asks",
			e.Node)
	case spec.EventCall:
		s.Line(r.Now, "%s", s.operation(e.Text, cmp.Or(r.Step.Node, 1), answered))
	}
}

// operation is a client's operation as a command: "c1 put a=3" at a server. A client writes a message to the subject of
// the key, and the message may depend on the number of the last one there.
func (s *scriptWriter) operation(text string, at trace.Node, answered bool) string {
	client, what, _ := strings.Cut(text, " ")
	verb, about, _ := strings.Cut(what, " ")
	key, value, _ := strings.Cut(about, "=")
	tail := " # " + client
	if !answered {
		tail = " & # " + client + ", is not answered"
	}
	if script.IsFlag(key) || script.IsFlag(value) { // the command would take it for an option
		return fmt.Sprintf("# at server %d: %s", at, text)
	}
	to := script.Argument("$KV." + bucket + "." + key)
	switch verb {
	case "put":
		return fmt.Sprintf("req %d %s %s%s", at, to, script.Argument(value), tail)
	case "delete":
		return fmt.Sprintf("req %d -H KV-Operation:DEL %s ''%s", at, to, tail)
	case "get":
		body, err := json.Marshal(map[string]string{"last_by_subj": "$KV." + bucket + "." + key})
		if err == nil {
			return fmt.Sprintf("req %d '$JS.API.STREAM.MSG.GET.%s' %s%s", at, streamName, script.Argument(string(body)), tail)
		}
	case "cas":
		old, value, ok := strings.Cut(value, "->")
		number := cmp.Or(s.numbers[old], "0") // a message that does not exist has this number
		if ok && (old == "0" || s.numbers[old] != "") && !script.IsFlag(value) {
			return fmt.Sprintf("req %d -H %s %s %s%s", at,
				script.Argument("Nats-Expected-Last-Subject-Sequence:"+number), to, script.Argument(value), tail)
		}
	}
	return fmt.Sprintf("# at server %d: %s", at, text)
}

// apiLine is a request of the operator as the log has it: subject, body and answer.
var apiLine = regexp.MustCompile(`^(\$JS\.API\.(?:STREAM|CONSUMER)\.[A-Za-z0-9_.-]+)(?: (\{.*\}))? -> `)

// operatorRequest is a request of the operator as a command.
func operatorRequest(l trace.Log) string {
	m := apiLine.FindStringSubmatch(l.Text)
	if m == nil {
		return fmt.Sprintf("# at server %d, the operator: %s", l.Node, l.Text)
	}
	return fmt.Sprintf("req %d '%s' %s", max(l.Node, 1), m[1], script.Argument(m[2]))
}
