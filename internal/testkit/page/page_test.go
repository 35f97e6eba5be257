package page

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/golden"
	"github.com/lockstep-go/lockstep/internal/testkit/tier"
)

// follow follows a page. It returns the resulting page, and whether a test would fail.
func follow(t *testing.T, page string) (after string, failed bool) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(file, []byte(page), 0o666); err != nil {
		t.Fatal(err)
	}
	inner := &complaints{TB: t}
	done := make(chan struct{})
	go func() { // because a fatal failure ends its goroutine
		defer close(done)
		(&Reader{Root: "../../..", Masks: [][2]string{{`took \d+`, "took [time]"}}}).Follow(inner, file)
	}()
	<-done
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), inner.failed
}

// complaints is a test that may fail.
type complaints struct {
	testing.TB
	failed bool
}

func (c *complaints) Errorf(string, ...any) { c.failed = true }
func (c *complaints) Failed() bool          { return c.failed }
func (c *complaints) Fatalf(string, ...any) {
	c.failed = true
	runtime.Goexit()
}

const fences = "```"

// block returns a fenced block.
func block(info, text string) string { return fences + info + "\n" + text + fences + "\n" }

func TestFollow(t *testing.T) {
	tier.NotShort(t)
	if golden.Rewrite() {
		t.Skip("pages are not compared")
	}
	begin := block("sh", "mkdir ~/x && cd ~/x\nexport COLOR=red\n")
	for _, c := range []struct {
		what, page string
		fails      bool
	}{
		{"directory and variables last", begin + block("sh", `[ "$PWD" = "$HOME/x" ] && [ $COLOR = red ]`+"\n"), false},
		{"files", begin + block("go file=a/b.go", "package b\n") + block("sh", "grep -q package a/b.go\n"), false},
		{"no file", begin + block("sh", "grep -q package a/b.go\n"), true},
		{"fixed", begin + block("text file=a", "one\n  if it is long enough, old\nfour\n") +
			block("text fix=a", "new\nif it is long enough, changed\n") +
			block("sh", "printf 'one\\nnew\\nif it is long enough, changed\\nfour\\n' | cmp - a\n"), false},
		{"the first of two fails", begin + block("sh", "false\ntrue\n"), true},
		{"fails as it should", block("sh fails", "false\n"), false},
		{"should fail", block("sh fails", "true\n"), true},
		{"output", block("sh", "echo one two\n") + block("text output", "one\n"), false},
		{"other output", block("sh", "echo one two\n") + block("text output", "three\n"), true},
		{"transcript", begin + block("console", "$ echo $COLOR\nred\n$ true\n$ false\n[exit status 1]\n"), false},
		{"another transcript", begin + block("console", "$ echo $COLOR\nblue\n"), true},
		{"a transcript without a status", block("console", "$ false\n"), true},
		{
			"times are not compared",
			block("console", "$ echo in 17.3ms, 1200 runs/s, go1.26.1, 3m2s\nin 1s, 7 runs/s, go1.27, 1m0.5s\n"),
			false,
		},
		{"what differs each time is masked", block("console", "$ echo it took 17\nit took [time]\n"), false},
		{"a figure in place of the mask", block("console", "$ echo it took 17\nit took 17\n"), true},
		{
			"progress is not shown",
			block("console", "$ echo 42 of 30000 runs, 427.5 runs/s, 0 findings, 10s, 1m0s left; echo done\ndone\n"),
			false,
		},
		{"other figures are", block("console", "$ echo 17 steps\n18 steps\n"), true},
		{"long commands", block("console", "$ echo a \\\n> b\na b\n"), false},
		{"directories have names", begin + block("console", "$ pwd\n~/x\n"), false},
		{"blocks to read", block("go", "nonsense\n") + block("text", "$ false\n"), false},
	} {
		t.Run(c.what, func(t *testing.T) {
			after, failed := follow(t, c.page)
			if failed != c.fails {
				t.Errorf("failed: %v", failed)
			}
			if after != c.page {
				t.Errorf("the page was changed:\n%s", after)
			}
		})
	}
}

func TestBlocks(t *testing.T) {
	page := "text\n" + block(
		"go file=x.go",
		"a\n",
	) + "more\n\n    " + fences + "\n" + block(
		"sh fails",
		"b\nc\n",
	) + block(
		"text",
		"d\n",
	)
	var got []string
	for _, b := range Blocks(page) {
		got = append(got, strings.Join([]string{b.Kind, b.Role, b.Name, page[b.from:b.to]}, "|"))
	}
	if want := "go|file|x.go|a\n sh|fails||b\nc\n text|||d\n"; strings.Join(got, " ") != want {
		t.Errorf("%q", got)
	}
}
