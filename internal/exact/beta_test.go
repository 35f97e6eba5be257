package exact

import (
	"math"
	"testing"
)

// The quantiles agree with those of gonum v0.17.0, a library of numerical functions.
func TestBetaQuantile(t *testing.T) {
	for _, c := range []struct{ a, b, p, want float64 }{
		{1, 10, 0.025, 0.00252857854446178},
		{10, 91, 0.025, 0.0490046892214857},
		{11, 90, 0.975, 0.176222597740023},
		{3, 9998, 0.001, 1.90550617976944e-05},
		{5000, 5001, 0.05, 0.491726504403761},
		{123456, 876545, 0.975, 0.12410133803627},
		{1, 1e+06, 0.95, 2.99572778633686e-06},
		{999999, 2, 0.01, 0.999993361666647},
		{500, 1.5e+06, 0.1, 0.000314275845876516},
	} {
		if got := betaQuantile(c.a, c.b, c.p); math.Abs(got/c.want-1) > 1e-9 {
			t.Errorf("quantile %v of beta(%v, %v) is %v, want %v", c.p, c.a, c.b, got, c.want)
		}
	}
}
