package stack

import (
	"bytes"
	"path/filepath"
	"runtime"
	"strings"
)

// most bounds the text of all stacks.
const most = 64 << 20

// ID returns the name of the calling goroutine in the texts of stacks: "goroutine 18".
func ID() string {
	buf := make([]byte, 64)
	id, _, _ := bytes.Cut(buf[:runtime.Stack(buf, false)], []byte(" ["))
	return string(id)
}

// Of returns Text for another goroutine, by its ID. It is empty if there is no such goroutine.
func Of(id string) string {
	buf := make([]byte, 1<<20)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) || n >= most {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	for part := range strings.SplitSeq(string(buf), "\n\n") {
		if head, frames, ok := strings.Cut(part, "\n"); ok && strings.HasPrefix(head, id+" ") {
			return tidy(frames)
		}
	}
	return ""
}

// tidy formats the frames of a goroutine as Text formats a stack.
func tidy(frames string) string {
	var b strings.Builder
	lines := strings.Split(frames, "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		name, place := lines[i], strings.TrimSpace(lines[i+1])
		if at := strings.LastIndexByte(name, '('); at > 0 {
			name = name[:at]
		}
		if strings.HasPrefix(name, engine) || strings.HasPrefix(name, "created by ") {
			break
		}
		if !strings.HasPrefix(name, "runtime.") {
			place, _, _ = strings.Cut(place, " +0x")
			b.WriteString(name + "\n\t" + filepath.Base(place) + "\n")
		}
	}
	return b.String()
}
