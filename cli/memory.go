package cli

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

// throughput is the garbage collector's target percentage. Campaigns make much garbage and
// keep little, so that collecting late costs little memory and saves much time.
const throughput = 400

// ballast is counted as memory in use and never touched, so that it takes none. A campaign keeps two or three MiB, and a
// heap of 16 MiB would be collected dozens of times a second, which is a tenth of the time; with the ballast it
// grows to 80 MiB first.
var ballast []byte

const ballastSize = 16 << 20

// The Go runtime reserves most of leastSpace before a program does anything, and crashes where it cannot have more: reserved is what
// is not left for memory in use.
const (
	leastSpace = 2 << 30
	reserved   = 1 << 30
)

// checkSpace reports that the limit on address space is too low to run under.
// Far below it, the Go runtime may crash before main, which nothing here can prevent.
func checkSpace(limit uint64) error {
	if limit == 0 || limit >= leastSpace {
		return nil
	}
	return fmt.Errorf(
		"the limit on address space is %d kB, and at least %d kB are needed: raise it with ulimit -v",
		limit>>10,
		leastSpace>>10,
	)
}

// tune sets the garbage collector for throughput, unless the environment says how it is to
// work.
func tune() {
	percent, limit := collector(os.Getenv, within(memory(), addressSpace()))
	if percent > 0 {
		debug.SetGCPercent(percent)
		ballast = make([]byte, ballastSize)
		runtime.KeepAlive(ballast) // as long as the program runs, by the variable
	}
	if limit > 0 {
		debug.SetMemoryLimit(limit)
	}
}

// share keeps a program that makes runs for others to as many processors as it has workers, where that is told: the others on
// the machine have the rest, and its garbage is not collected on theirs.
func share(workers int) {
	if workers > 0 && workers < runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(workers)
	}
}

// collector says how to set the garbage collector on a machine with so much memory; 0
// leaves it as it is. Where the memory is not known there is no limit to keep to, and
// nothing is changed.
func collector(env func(string) string, memory uint64) (percent int, limit int64) {
	if env("GOMEMLIMIT") == "" {
		if memory == 0 {
			return 0, 0
		}
		limit = int64(min(memory, math.MaxInt64) / 4 * 3)
	}
	if env("GOGC") == "" {
		percent = throughput
	}
	return percent, limit
}

// memory is what the machine, or the container that the program is in, has; 0: not known.
func memory() uint64 {
	least := uint64(0)
	for _, text := range []string{firstLine("/proc/meminfo"), firstLine("/sys/fs/cgroup/memory.max")} {
		if n := bytesIn(text); n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// within is what is left of a machine's memory under a limit on address space.
func within(memory, space uint64) uint64 {
	if space <= reserved {
		return memory
	}
	if memory == 0 {
		return space - reserved
	}
	return min(memory, space-reserved)
}

func firstLine(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

// bytesIn reads "MemTotal: 16303428 kB" or a plain number of bytes; 0 is neither.
func bytesIn(line string) uint64 {
	unit := uint64(1)
	text := strings.TrimPrefix(line, "MemTotal:")
	if kilo, ok := strings.CutSuffix(text, "kB"); ok {
		text, unit = kilo, 1024
	}
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	if err != nil || n > math.MaxUint64/unit {
		return 0
	}
	return n * unit
}
