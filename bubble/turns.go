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

	"github.com/lockstep-go/lockstep"
)

// mostTurns bounds the turns of a run that are written.
const mostTurns = 1 << 21

// Turns makes a run of a plan and writes whose turn it was, a line for each time that the scheduler let a goroutine go on: the
// time, the position in the stream of chance, the node's life and where the goroutine went on; and one for each number that it drew. Where two processes
// make different runs of a seed, the first line that differs is close to the cause. It returns the digest of the run.
func Turns(ctx context.Context, bench *lockstep.Bench, number int, to io.Writer) (digest string, err error) {
	room := make([]runtime.LockstepTurn, mostTurns)
	end := runtime.LockstepTakeTurns(room)
	text, err := recording(ctx, bench, number)
	taken := end()
	if err != nil {
		return "", err
	}
	w := bufio.NewWriter(to)
	known := map[[8]uintptr]string{}
	for i := range room[:taken] {
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
		fmt.Fprintf(w, "%d %016x %s %d %s\n", t.Now, t.Position, what, t.Node, at)
	}
	return digestOf(text), errors.Join(err, w.Flush())
}
