package ratis

import "testing"

// The plans of all rows are valid, and there are as many rows as in the paper.
func TestRows(t *testing.T) {
	rows := Tables(TableOptions{Seed: 1})
	for _, r := range rows {
		info, err := r.Plan.System.Describe()
		if err != nil {
			t.Fatal(r.Name, err)
		}
		if _, err := r.Plan.Strategy.Fit(info); err != nil {
			t.Error(r.Name, err)
		}
	}
	if n := len(rows); n != 6*7+2*3 {
		t.Errorf("%d rows", n)
	}
}
