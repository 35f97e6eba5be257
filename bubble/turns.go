//go:build lockstep_overlay

package bubble

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"

	"github.com/lockstep-go/lockstep"
)

// mostTurns bounds the turns of a run that are written.
const mostTurns = 1 << 20

// turns is room for them. It is made once: there is no garbage collection during runs.
var turns = sync.OnceValue(func() []runtime.LockstepTurn { return make([]runtime.LockstepTurn, mostTurns) })

// Turns makes a run of a plan and writes whose turn it was, a line for each time that the scheduler let a goroutine go on: the
// time, the position in the stream of chance, the node's life and where the goroutine went on; and one for each number that was
// drawn. Where a seed makes two runs, the first line that differs is close to the cause, see [Apart]. It returns the digest of the
// run, as [Digests] does. The first run of a bench is not the one to look at, because what prepares it is written with it.
func Turns(ctx context.Context, bench *lockstep.Bench, number int, to io.Writer) (digest string, err error) {
	room := turns()
	end := runtime.LockstepTakeTurns(room)
	text, err := recording(ctx, bench, number)
	room = room[:end()]
	if err != nil {
		return "", err
	}
	w := bufio.NewWriter(to)
	known := map[[8]uintptr]string{}
	for i := range room {
		t := &room[i]
		at, is := known[t.PCs]
		if !is {
			at = strings.Join(places(t.PCs[:]), " < ")
			known[t.PCs] = at
		}
		what := "turn"
		if t.Draws {
			what = "draw"
		}
		fmt.Fprintf(w, "%d %016x %s of %d %s\n", t.Now, t.Position, what, t.Node, at)
	}
	return digestOf(text), w.Flush()
}

// The lines that Apart shows before the first that differs, and from there on.
const (
	linesBefore = 10
	linesAfter  = 4
)

// Apart compares what [Turns] wrote of two runs, and shows where they come apart: some lines that are the same, and then
// those of the first, marked 1, and of the second, marked 2. It is empty if they do not.
func Apart(first, second io.Reader) (string, error) {
	lines := [2]*bufio.Scanner{bufio.NewScanner(first), bufio.NewScanner(second)}
	var same []string
	for number := 1; ; number++ {
		more := [2]bool{lines[0].Scan(), lines[1].Scan()}
		switch {
		case !more[0] && !more[1]:
			return "", errors.Join(lines[0].Err(), lines[1].Err())
		case more[0] && more[1] && (lines[0].Text() == lines[1].Text() || number <= 2): // the seed is set in the first turn
			if same = append(same, lines[0].Text()); len(same) > linesBefore {
				same = same[1:]
			}
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "line %d\n", number)
		for _, line := range same {
			fmt.Fprintf(&b, "  %s\n", line)
		}
		for i, s := range lines {
			for n := 0; n < linesAfter && more[i]; n++ {
				fmt.Fprintf(&b, "%d %s\n", i+1, s.Text())
				more[i] = s.Scan()
			}
		}
		return b.String(), errors.Join(lines[0].Err(), lines[1].Err())
	}
}
