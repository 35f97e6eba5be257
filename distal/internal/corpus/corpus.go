// Package corpus gives tests the programs to run on: the examples and generated ones.
package corpus

import (
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep/distal/internal/generate"
	examples "github.com/lockstep-go/lockstep/examples/distal"
)

// Program is a program with a name for messages.
type Program struct {
	Name   string
	Source string
}

// Example returns the text of an example program and ends the test when there is none.
func Example(t testing.TB, name string) string {
	t.Helper()
	src, err := examples.Source(name)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// Examples returns all example programs.
func Examples(t testing.TB) []Program {
	t.Helper()
	var out []Program
	for _, name := range examples.Names() {
		out = append(out, Program{name, Example(t, name)})
	}
	return out
}

// Generated returns the programs of the first seeds.
func Generated(count int) []Program {
	var out []Program
	for seed := range uint64(count) {
		out = append(out, Program{fmt.Sprint("generated ", seed), generate.Program(seed)})
	}
	return out
}

// Wild returns those of the wild programs of some seeds that have a sequential form; load says whether a text is
// accepted and has one.
func Wild(from, count int, load func(string) bool) []Program {
	return some("wild ", generate.Wild, from, count, load)
}

// Edge is Wild for programs with numbers at the edge of what can be stored.
func Edge(from, count int, load func(string) bool) []Program {
	return some("edge ", generate.Edge, from, count, load)
}

func some(name string, source func(uint64) string, from, count int, load func(string) bool) (out []Program) {
	for seed := from; seed < from+count; seed++ {
		if src := source(uint64(seed)); load(src) {
			out = append(out, Program{fmt.Sprint(name, seed), src})
		}
	}
	return out
}

// Add gives a fuzz target the examples and a few generated programs as seeds; more are arguments after the text.
func Add(f *testing.F, more ...any) {
	for _, p := range append(Examples(f), Generated(5)...) {
		f.Add(append([]any{p.Source}, more...)...)
	}
}
