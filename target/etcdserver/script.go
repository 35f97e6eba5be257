package etcdserver

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/kit/script"
	"github.com/lockstep-go/lockstep/spec"
	"github.com/lockstep-go/lockstep/trace"
)

// Script is a draft of a shell script that does with real servers what a run does: it starts members, asks what clients
// and the operator ask, kills members and starts them again. What a script cannot do, such as a power failure, the loss
// of a message or a pause within the server, it says in a comment. Time is real there, so that a race may need many
// attempts. A trace is untrusted: each of its texts becomes one quoted argument, or part of a comment of one line.
func Script(t *trace.Trace) string {
	var w script.Writer
	head(&w, t)
	answered := script.Answered(t)
	for i := range t.Records {
		r := &t.Records[i]
		if r.Settle {
			break
		}
		switch r.Step.Kind {
		case trace.Crash:
			w.Line(r.Now, "kill -9 \"$(cat member%d.pid)\"", r.Step.Node)
		case trace.Restart:
			w.Line(r.Now, "start %d", r.Step.Node)
		case trace.Cut, trace.Heal, trace.Pause, trace.Jump:
			w.Line(r.Now, "# %s", r.Step)
		}
		for _, e := range r.Events {
			switch e.Type {
			case "power-failure":
				w.Line(r.Now, "# the kill above is a power failure, which a script cannot cause: %s", e.Text)
			case spec.EventCall:
				w.Line(r.Now, "%s", operation(e.Text, cmp.Or(r.Step.Node, 1), answered[i]))
			}
		}
		for _, l := range r.Logs {
			if text := request(l); text != "" {
				w.Line(l.At, "%s", text)
			}
		}
	}
	w.End(t)
	return w.String()
}

// head writes the functions that start members.
func head(w *script.Writer, t *trace.Trace) {
	members := t.Header.Nodes
	var all []string
	for n := 1; n <= members; n++ {
		all = append(all, fmt.Sprintf("m%d=http://127.0.0.1:%d", n, 10000*n+peerPort))
	}
	w.Text(fmt.Sprintf(`#!/bin/sh
# A draft, made from a run of Lockstep: %s, seed %d, run %d. Check it before you publish it.
set -u
ETCD=${ETCD:-etcd}; ETCDCTL=${ETCDCTL:-etcdctl}
cd "$(mktemp -d)"
start() { # starts member $1, from its files if it has some
	"$ETCD" --name m$1 --data-dir member$1 --listen-client-urls http://127.0.0.1:${1}%d \
		--advertise-client-urls http://127.0.0.1:${1}%d --listen-peer-urls http://127.0.0.1:${1}%d \
		--initial-advertise-peer-urls http://127.0.0.1:${1}%d --initial-cluster %s%s 2>> member$1.log &
	echo $! > member$1.pid
}
ctl() { # asks member $1
	member=$1; shift
	"$ETCDCTL" --endpoints http://127.0.0.1:${member}%d "$@"
}
`, words.Clean(t.Header.Target+" "+t.Header.Build), t.Header.Seed, t.Header.Run, clientPort, clientPort, peerPort,
		peerPort, strings.Join(all, ","), flags(t.Header.Options), clientPort))
	for n := 1; n <= members; n++ {
		w.Text(fmt.Sprintf("start %d\n", n))
	}
	w.Text("sleep 3\n")
}

// flags are the options of a run that are flags of the server.
func flags(options map[string]string) string {
	text := ""
	for _, f := range []struct{ option, flag string }{
		{"snapshots", "snapshot-count"}, {"batch", "experimental-compaction-batch-limit"},
	} {
		if v := options[f.option]; v != "" && v != "0" {
			text += fmt.Sprintf(" --%s=%s", f.flag, script.Argument(v))
		}
	}
	return text
}

// operation is a client's operation as a command: "c1 put a=3" at a member.
func operation(text string, at trace.Node, answered bool) string {
	client, what, _ := strings.Cut(text, " ")
	verb, about, _ := strings.Cut(what, " ")
	key, value, _ := strings.Cut(about, "=")
	tail := " # " + client
	if !answered {
		tail = " & # " + client + ", is not answered"
	}
	switch {
	case strings.Contains(about, " and "), verb == "cas":
		return fmt.Sprintf("# at member %d, a transaction: %s", at, text)
	case script.IsFlag(key), script.IsFlag(value): // etcdctl would take it for an option
	case verb == "put":
		return fmt.Sprintf("ctl %d put %s %s%s", at, script.Argument(key), script.Argument(value), tail)
	case verb == "get":
		return fmt.Sprintf("ctl %d get %s%s", at, script.Argument(key), tail)
	case verb == "delete":
		return fmt.Sprintf("ctl %d del %s%s", at, script.Argument(key), tail)
	}
	return fmt.Sprintf("# at member %d: %s", at, text)
}

// The requests of watchers and of the operator, as the log has them.
var (
	compactionLine = regexp.MustCompile(`^Compact up to revision ([0-9]+)(, waiting)?`)
	watchLine      = regexp.MustCompile(`^Watch asks for a watch of (.*) from (?:revision ([0-9]+) on|now on)$`)
)

// request is a request of a watcher or of the operator as a command; empty: it needs none.
func request(l trace.Log) string {
	if l.Source == trace.LogServer {
		return ""
	}
	switch m := compactionLine.FindStringSubmatch(l.Text); {
	case m != nil && m[2] != "":
		return fmt.Sprintf("ctl %d compact %s --physical", l.Node, m[1])
	case m != nil:
		return fmt.Sprintf("ctl %d compact %s", l.Node, m[1])
	}
	if m := watchLine.FindStringSubmatch(l.Text); m != nil {
		key, from := script.Argument(m[1]), ""
		switch {
		case script.IsFlag(m[1]): // "--" would begin a program that etcdctl runs for each event
			return fmt.Sprintf("# at member %d: %s", l.Node, l.Text)
		case strings.HasPrefix(m[1], "all keys"):
			key = "--prefix ''"
		}
		if m[2] != "" {
			from = " --rev=" + m[2]
		}
		return fmt.Sprintf("ctl %d watch %s%s &", l.Node, key, from)
	}
	kind, _, _ := strings.Cut(l.Text, " ")
	switch {
	case l.Text == "Watch asks for progress":
		return fmt.Sprintf("# the watch at member %d asks for progress: clientv3's RequestProgress", l.Node)
	case kind == "Defragment":
		return fmt.Sprintf("ctl %d defrag", l.Node)
	case kind == "Snapshot":
		return fmt.Sprintf("ctl %d snapshot save backup.db", l.Node)
	case l.Source == trace.LogOperator && kind != "Status" && kind != "MemberList" && kind != "HashKV":
		return fmt.Sprintf("# at member %d, the operator: %s", l.Node, l.Text)
	}
	return ""
}
