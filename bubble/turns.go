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

// mostTurns limits how many turns of a run are written.
const mostTurns = 1 << 20

// turns is a buffer for them. It is allocated once, because there is no garbage collection during runs.
var turns = sync.OnceValue(func() []runtime.LockstepTurn { return make([]runtime.LockstepTurn, mostTurns) })

// Turns performs a run of a plan and writes a line for each scheduling decision and for each random draw. A line has
// the time, the position in the random stream, the node's incarnation, and the stack of the goroutine that was resumed.
// If a seed produces two different runs, the first line that differs is close to the cause, see [Difference].
//
// Turns returns the digest of the run, as [Digests] does. Do not compare the first run of a bench, because its lines
// include the preparation of the run.
func Turns(ctx context.Context, bench *lockstep.Runner, number int, to io.Writer) (digest string, err error) {
	space := turns()
	end := runtime.LockstepTakeTurns(space)
	text, err := recording(ctx, bench, number)
	space = space[:end()]
	if err != nil {
		return "", err
	}
	w := bufio.NewWriter(to)
	known := map[[8]uintptr]string{}
	for i := range space {
		t := &space[i]
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

// The number of lines that Apart shows before the first difference, and from there on.
const (
	linesBefore = 10
	linesAfter  = 4
)

// Difference compares the output of [Turns] for two runs, and shows their first difference. It returns some equal
// lines, and then lines of the first run, marked 1, and of the second, marked 2. The result is empty if the outputs are
// equal.
func Difference(first, second io.Reader) (string, error) {
	lines := [2]*bufio.Scanner{bufio.NewScanner(first), bufio.NewScanner(second)}
	var same []string
	for number := 1; ; number++ {
		more := [2]bool{lines[0].Scan(), lines[1].Scan()}
		switch {
		case !more[0] && !more[1]:
			return "", errors.Join(lines[0].Err(), lines[1].Err())
		// the first turn contains the seed
		case more[0] && more[1] && (lines[0].Text() == lines[1].Text() || number <= 2):
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
