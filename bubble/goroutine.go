package bubble

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// goroutine is one goroutine of a stack dump.
type goroutine struct {
	state  string   // "chan receive (durable)"
	frames []string // "pkg.(*T).loop\n\tfile.go:12", innermost first, without frames of the runtime
}

// inBubble parses a stack dump and returns the goroutines of a bubble.
func inBubble(dump, number string) []goroutine {
	var list []goroutine
	for block := range strings.SplitSeq(dump, "\n\n") {
		header, rest, _ := strings.Cut(block, "\n")
		_, bracket, _ := strings.Cut(header, "[")
		bracket, _, _ = strings.Cut(bracket, "]")
		words := strings.Split(bracket, ", ")
		if !slices.Contains(words, "synctest bubble "+number) || strings.HasPrefix(words[0], "synctest.Run") {
			continue
		}
		g := goroutine{state: words[0], frames: framesOf(rest)}
		if len(g.frames) > 0 && !strings.HasPrefix(g.frames[len(g.frames)-1], "testing.tRunner") &&
			!g.is("synctest.Run") {
			list = append(list, g)
		}
	}
	slices.SortStableFunc(list, func(a, b goroutine) int { return strings.Compare(a.text(), b.text()) })
	return list
}

// framesOf parses the lines of one goroutine, alternately a function and its source position. It removes arguments,
// addresses and directories.
func framesOf(text string) []string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	var frames []string
	for i := 0; i+1 < len(lines); i += 2 {
		function, place := lines[i], strings.TrimSpace(lines[i+1])
		if strings.HasPrefix(function, "created by ") {
			break
		}
		if at := strings.LastIndexByte(function, '('); at > 0 {
			function = function[:at]
		}
		place, _, _ = strings.Cut(place, " ")
		if !strings.HasPrefix(function, "runtime.") {
			frames = append(frames, function+"\n\t"+filepath.Base(place))
		}
	}
	return frames
}

// is reports whether the goroutine's state begins with a word.
func (g goroutine) is(word string) bool { return strings.HasPrefix(g.state, word) }

// durable reports whether only the bubble can wake the goroutine.
func (g goroutine) durable() bool { return strings.HasSuffix(g.state, "(durable)") }

// locked reports whether the goroutine waits for a lock.
func (g goroutine) locked() bool {
	return g.is("sync.Mutex") || g.is("sync.RWMutex") || g.is("semacquire")
}

// outside reports whether the goroutine waits for something outside the bubble.
func (g goroutine) outside() bool {
	return g.is("IO wait") || g.is("syscall") || g.is("chan ") || g.is("select") || g.is("sync.Cond")
}

func (g goroutine) text() string { return g.state + " in " + strings.Join(g.frames, "\n") }

// where is the innermost function outside the standard library, with its source position.
func (g goroutine) where() string {
	best := g.frames[0]
	for _, f := range g.frames {
		if first, _, _ := strings.Cut(f, "/"); strings.Contains(first, ".") && strings.Contains(f, "/") ||
			strings.HasPrefix(f, "main.") {
			best = f
			break
		}
	}
	function, place, _ := strings.Cut(best, "\n\t")
	if at := strings.LastIndexByte(function, '/'); at >= 0 {
		function = function[at+1:]
	}
	return fmt.Sprintf("%s (%s)", function, place)
}

// summary names goroutines in one line, without duplicates.
func summary(list []goroutine) string {
	var parts []string
	counts := map[string]int{}
	for _, g := range list {
		part := fmt.Sprintf("%s in %s", strings.TrimSuffix(g.state, " (durable)"), g.where())
		if counts[part]++; counts[part] == 1 {
			parts = append(parts, part)
		}
	}
	for i, part := range parts {
		if n := counts[part]; n > 1 {
			parts[i] = fmt.Sprintf("%d x %s", n, part)
		}
	}
	if len(parts) == 0 {
		return "no goroutine of a node is the cause"
	}
	return strings.Join(parts, "; ")
}

// stacksOf lists the stacks of goroutines.
func stacksOf(list []goroutine) string {
	var b strings.Builder
	for _, g := range list {
		fmt.Fprintf(&b, "goroutine [%s]:\n%s\n\n", g.state, strings.Join(g.frames, "\n"))
	}
	return strings.TrimSpace(b.String())
}
