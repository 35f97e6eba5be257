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

// throughput is the garbage collector's target percentage. Campaigns allocate much garbage and keep little, so
// collecting late costs little memory and saves much time.
const throughput = 400

// ballast is allocated and never touched: the garbage collector counts it, but it takes no physical memory. A campaign
// keeps two or three MiB. Without ballast, the collector would collect a heap of 16 MiB dozens of times a second, which
// costs a tenth of the time. With the ballast the heap grows to 80 MiB first.
var ballast []byte

const ballastSize = 16 << 20

// The Go runtime reserves most of leastSpace before a program does anything, and crashes if the limit is lower.
// reserved is the part that is not available for memory in use.
const (
	leastSpace = 2 << 30
	reserved   = 1 << 30
)

// checkSpace reports that the limit on address space is too low. Far below it, the Go runtime may crash before main,
// which this check cannot prevent.
func checkSpace(limit uint64) error {
	if limit == 0 || limit >= leastSpace {
		return nil
	}
	return fmt.Errorf("the limit on address space is %d kB, and at least %d kB are needed: raise it with ulimit -v",
		limit>>10, leastSpace>>10)
}

// tune sets the garbage collector for throughput, unless environment variables configure it.
func tune() {
	percent, limit := collector(os.Getenv, within(memory(), addressSpace()))
	if percent > 0 {
		debug.SetGCPercent(percent)
		ballast = make([]byte, ballastSize)
		runtime.KeepAlive(ballast) // the variable keeps it alive as long as the program runs
	}
	if limit > 0 {
		debug.SetMemoryLimit(limit)
	}
}

// share limits a program that makes runs for another one to as many processors as it has workers. Other programs on the
// machine keep the remaining processors, and the garbage collector does not use them.
func share(workers int) {
	if workers > 0 && workers < runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(workers)
	}
}

// collector returns the garbage collector's settings for a machine with this much memory; 0 leaves a setting as it is.
// If the memory is unknown, there is no limit to keep to, and nothing changes.
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

// memory is the memory of the machine, or of the container that the program runs in; 0: unknown.
func memory() uint64 {
	least := uint64(0)
	for _, text := range []string{firstLine("/proc/meminfo"), firstLine("/sys/fs/cgroup/memory.max")} {
		if n := bytesIn(text); n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// within returns the part of a machine's memory that a limit on address space leaves usable.
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

// bytesIn parses "MemTotal: 16303428 kB" or a plain number of bytes. It returns 0 for anything else.
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
