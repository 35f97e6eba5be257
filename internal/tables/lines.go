package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// size is a target, or what targets share, with the lines that it had at two times; 0: it was not there.
type size struct {
	name         string
	first, older int
}

// The targets, and the rooms of the kit, with their lines in commit 433a0e7, when there was no kit, and just before the kit.
var (
	targets = []size{{"etcdraft", 5657, 6372}, {"hashicorpraft", 0, 2284}, {"pbft", 975, 977}, {"register", 501, 501}, {"raft", 563, 577}, {"smr", 388, 376},
		{"maelstrom", 0, 0}, {"memberlist", 0, 0}, {"backup", 0, 0}}
	kit = []string{"raftspec", "mutants", "kv", "storage", "operator", "ticks"}
)

// lineTable writes how long the targets are, by the source in a folder.
func lineTable(w io.Writer, source fs.FS) error {
	fmt.Fprint(w, "| target | 433a0e7 | before the kit | on the kit |\n|---|--:|--:|--:|\n")
	for _, t := range targets {
		now, err := lines(source, "target/"+t.name)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "| `%s` | %s | %s | %d |\n", t.name, orDash(t.first), orDash(t.older), now)
	}
	var parts []string
	sum := 0
	for _, room := range kit {
		n, err := lines(source, "kit/"+room)
		if err != nil {
			return err
		}
		sum += n
		parts = append(parts, fmt.Sprintf("`%s` %d", room, n))
	}
	_, err := fmt.Fprintf(w, "| the kit: %s | - | - | %d |\n", strings.Join(parts, ", "), sum)
	return err
}

// orDash is a number in words, where there is one.
func orDash(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// lines counts the lines of Go in a folder and those below, without tests.
func lines(source fs.FS, folder string) (n int, err error) {
	err = fs.WalkDir(source, folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(source, name)
		n += bytes.Count(text, []byte("\n"))
		return err
	})
	return n, err
}
