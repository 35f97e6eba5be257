package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// earlier has the lines of each target in commit 433a0e7, before the kit existed, and just before the kit; 0: there was
// no such target.
var earlier = map[string][2]int{
	"etcdraft":      {5657, 6372},
	"hashicorpraft": {0, 2284},
	"pbft":          {975, 977},
	"register":      {501, 501},
	"raft":          {563, 577},
	"smr":           {388, 376},
}

// kit are the packages that targets share.
var kit = []string{"raftspec", "mutants", "kv", "storage", "watch", "operator", "ticks", "failpoint"}

// parts are the parts of targets besides the adapter, each with its files and directories.
var parts = []struct {
	name string
	in   []string
}{
	{
		"workload",
		[]string{
			"*/client.go",
			"*/gateway.go",
			"*/broker.go",
			"*/producer.go",
			"*/workload.go",
			"*/harness.go",
			"*/service.go",
			"*/operator.go",
			"*/watcher.go",
			"*/subscriber.go",
			"*/asks.go",
			"zookeeper/refusal.go",
			"etcdserver/members.go",
			"etcdserver/leases.go",
			"etcdserver/users.go",
			"etcdserver/ranges.go",
			"etcdserver/space.go",
			"nats/mirror.go",
		},
	},
	{
		"spec",
		[]string{
			"*/spec.go",
			"*/safety.go",
			"*/stores.go",
			"*/streams.go",
			"*/delivery.go",
			"*/convergence.go",
			"etcdserver/history.go",
			"nats/drop.go",
			"nats/following.go",
			"maelstrom/check.go",
			"maelstrom/kafka.go",
			"maelstrom/model.go",
			"maelstrom/promise.go",
			"netrix/agreement.go",
		},
	},
	{
		"transport",
		[]string{
			"hashicorpraft/transport.go",
			"netrix/server.go",
			"hashicorpraft/serve.go",
			"hashicorpraft/pipeline.go",
			"*/network.go",
			"*/proxied.go",
			"*/proxy.go",
			"*/ports.go",
			"maelstrom/internal/",
		},
	},
	{"messages", []string{"*/message.go", "*/protocol.go", "*/grpc.go", "zookeeper/zab.go"}},
	{"disk", []string{"*/store.go"}},
	{"Byzantine nodes", []string{"*/forger.go", "*/byzantine.go", "*/signer.go"}},
	{"scenarios", []string{"*/scenarios.go", "*/scenario.go", "*/raftscenarios/", "*/bftscenarios/"}},
	{"mutants", []string{"*/mutants/"}},
	{
		"versions",
		[]string{"*/library*.go", "*/v35/", "etcdraft/internal/", "*/versions/", "*/prevote.go", "*/noprevote.go"},
	},
}

// partOf returns the part of a target that a file belongs to, by its name below the targets, or -1 for the adapter.
func partOf(file string) int {
	for i, p := range parts {
		for _, pattern := range p.in {
			dir := strings.HasSuffix(pattern, "/")
			name := file
			if words := strings.Split(file, "/"); dir && len(words) > strings.Count(pattern, "/") {
				name = strings.Join(words[:strings.Count(pattern, "/")], "/") + "/"
			}
			if ok, _ := path.Match(pattern, name); ok {
				return i
			}
		}
	}
	return -1
}

// lineTable writes the number of lines of the targets, by the source in a directory.
func lineTable(w io.Writer, source fs.FS) error {
	fmt.Fprint(w, "| target | 433a0e7 | before the kit | now | adapter |")
	for _, p := range parts {
		fmt.Fprintf(w, " %s |", p.name)
	}
	fmt.Fprintln(w, "\n|---|--:|--:|--:|--:|"+strings.Repeat("--:|", len(parts)))
	dirs, err := fs.ReadDir(source, "target")
	if err != nil {
		return err
	}
	for _, f := range dirs {
		if !f.IsDir() || f.Name() == "programs" { // descriptions, not a target
			continue
		}
		if err := targetRow(w, source, f.Name()); err != nil {
			return err
		}
	}
	var spaces []string
	sum := 0
	for _, space := range kit {
		n, err := lines(source, "kit/"+space)
		if err != nil {
			return err
		}
		sum += n
		spaces = append(spaces, fmt.Sprintf("`%s` %d", space, n))
	}
	_, err = fmt.Fprintf(w, "\nThe kit: %s; together %d.\n", strings.Join(spaces, ", "), sum)
	return err
}

// targetRow writes the row of a target.
func targetRow(w io.Writer, source fs.FS, name string) error {
	all, adapter, of := 0, 0, make([]int, len(parts))
	err := eachFile(source, "target/"+name, func(file string, n int) {
		all += n
		if i := partOf(strings.TrimPrefix(file, "target/")); i >= 0 {
			of[i] += n
		} else {
			adapter += n
		}
	})
	if err != nil || all == 0 {
		return err
	}
	fmt.Fprintf(
		w,
		"| `%s` | %s | %s | %d | %d |",
		name,
		orDash(earlier[name][0]),
		orDash(earlier[name][1]),
		all,
		adapter,
	)
	for _, n := range of {
		fmt.Fprintf(w, " %s |", orDash(n))
	}
	_, err = fmt.Fprintln(w)
	return err
}

// orDash formats a number; 0 becomes a dash.
func orDash(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// lines counts the lines of Go in a directory and those below, without tests.
func lines(source fs.FS, dir string) (n int, err error) {
	err = eachFile(source, dir, func(_ string, m int) { n += m })
	return n, err
}

// eachFile calls a function with every Go file in a directory and those below, without tests, and with its number of
// lines.
func eachFile(source fs.FS, dir string, do func(file string, lines int)) error {
	return fs.WalkDir(source, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(source, name)
		do(name, bytes.Count(text, []byte("\n")))
		return err
	})
}
