package bubble

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Delay is a distribution of times, such as latencies. As text it is "5ms", "1ms..5ms", or "1ms..5ms+0.01:2s" with a
// tail; see [Delay.UnmarshalText]. The zero value is always 0.
type Delay struct {
	// Min and Max limit most times, which are uniform between them.
	Min, Max time.Duration
	// Tail is the share of times that are longer, between Max and Longest. Each range between two powers of two has the
	// same probability.
	Tail    float64
	Longest time.Duration
}

// tailSteps is the number of powers of two in a tail.
const tailSteps = 10

// check reports what is wrong with the distribution.
func (d Delay) check(of string) error {
	switch {
	case d.Min < 0 || d.Max < d.Min || !(d.Tail >= 0 && d.Tail <= 1):
	case d.Tail > 0 && d.Longest < d.Max || d.Tail == 0 && d.Longest != 0:
	default:
		return nil
	}
	return fmt.Errorf("%s is %s: allowed are times that are not negative, the shorter first, and a share in 0..1", of, d)
}

// draw draws a time. Lower draws give shorter times.
func (d Delay) draw(c *Source) time.Duration { return d.drawn(c.IntN) }

// drawn draws it with a function that draws numbers below another.
func (d Delay) drawn(intN func(int) int) time.Duration {
	if d.Tail > 0 && strikes(intN, d.Tail) {
		half := (d.Longest - d.Max) >> (tailSteps - 1 - intN(tailSteps)) / 2 // a lower draw gives a shorter time
		return d.Max + half + time.Duration(intN(int(half)+1))
	}
	if d.Max == d.Min {
		return d.Min
	}
	return d.Min + time.Duration(intN(int(d.Max-d.Min)+1))
}

// String is the distribution as text.
func (d Delay) String() string {
	text := d.Min.String()
	if d.Max != d.Min {
		text += ".." + d.Max.String()
	}
	if d.Tail != 0 || d.Longest != 0 {
		text += fmt.Sprintf("+%v:%v", d.Tail, d.Longest)
	}
	return text
}

// UnmarshalText reads "5ms", which is always 5ms, or "1ms..5ms", which is uniform. In "1ms..5ms+0.01:2s", one of a
// hundred times is longer, up to 2s, and the others are uniform.
func (d *Delay) UnmarshalText(text []byte) error {
	most, tail, has := strings.Cut(string(text), "+")
	low, high, two := strings.Cut(most, "..")
	if !two {
		high = low
	}
	var read Delay
	var err [4]error
	read.Min, err[0] = time.ParseDuration(low)
	read.Max, err[1] = time.ParseDuration(high)
	if has {
		share, longest, _ := strings.Cut(tail, ":")
		read.Tail, err[2] = strconv.ParseFloat(share, 64)
		read.Longest, err[3] = time.ParseDuration(longest)
	}
	for _, e := range err {
		if e != nil {
			return fmt.Errorf("%q is not like 5ms, 1ms..5ms or 1ms..5ms+0.01:2s", text)
		}
	}
	if e := read.check("the distribution"); e != nil {
		return e
	}
	*d = read
	return nil
}
