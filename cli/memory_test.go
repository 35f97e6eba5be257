package cli

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

// The garbage collector does not collect a small heap before it reaches 80 MiB.
func TestBallast(t *testing.T) {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		t.Setenv(name, "")
	}
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	defer func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
		ballast = nil
	}()
	tune()
	runtime.GC()
	goal := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
	if metrics.Read(goal); memory() > 0 && goal[0].Value.Uint64() < 80<<20 {
		t.Errorf("it is collected at %d MiB", goal[0].Value.Uint64()>>20)
	}
}

func TestCollector(t *testing.T) {
	for _, c := range []struct {
		gogc, limit string
		memory      uint64
		wantPercent int
		wantLimit   int64
	}{
		{"", "", 8 << 30, 400, 6 << 30},
		{"100", "", 8 << 30, 0, 6 << 30},
		{"", "1GiB", 8 << 30, 400, 0},
		{"off", "1GiB", 8 << 30, 0, 0},
		{"", "", 0, 0, 0},
		{"", "1GiB", 0, 400, 0},
	} {
		env := map[string]string{"GOGC": c.gogc, "GOMEMLIMIT": c.limit}
		percent, limit := collector(func(k string) string { return env[k] }, c.memory)
		if percent != c.wantPercent || limit != c.wantLimit {
			t.Errorf("%+v: %d, %d", c, percent, limit)
		}
	}
}

// The command reports a limit on address space that is too low. A higher limit bounds the memory.
func TestAddressSpace(t *testing.T) {
	for _, c := range []struct {
		space, memory uint64
		fits          bool
		want          uint64
	}{
		{0, 8 << 30, true, 8 << 30}, {1 << 30, 8 << 30, false, 8 << 30}, {2 << 30, 8 << 30, true, 1 << 30},
		{4 << 30, 0, true, 3 << 30}, {99 << 30, 8 << 30, true, 8 << 30},
	} {
		if err := checkSpace(c.space); (err == nil) != c.fits || within(c.memory, c.space) != c.want {
			t.Errorf("%d of %d: %v, %d", c.space, c.memory, err, within(c.memory, c.space))
		}
	}
}

func TestBytesIn(t *testing.T) {
	for line, want := range map[string]uint64{
		"MemTotal:        2048 kB": 2 << 20,
		"4096":                     4096,
		"max":                      0,
		"":                         0,
		"99999999999999999999":     0,
		"18446744073709551615 kB":  0,
	} {
		if got := bytesIn(line); got != want {
			t.Errorf("%q: %d, want %d", line, got, want)
		}
	}
}

// A program that makes runs for another program uses no more processors than it has workers.
func TestShare(t *testing.T) {
	had := runtime.GOMAXPROCS(3)
	defer runtime.GOMAXPROCS(had)
	for _, c := range []struct{ workers, want int }{{0, 3}, {5, 3}, {2, 2}} {
		if share(c.workers); runtime.GOMAXPROCS(0) != c.want {
			t.Errorf("%d workers take %d processors, want %d", c.workers, runtime.GOMAXPROCS(0), c.want)
		}
	}
}
