package upgrade

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/trace"
)

// downgrading is a run of 3.5 and 3.6 in which the members run the given releases and have files in the given formats.
// The last node is the spare.
func downgrading(runs [4]int, storage [4]string) *run {
	r := &run{cluster: of("3.5.35", "3.6.16"), agreed: 1}
	r.cluster.Downgrade, r.cluster.Changes = true, 1
	for i := range runs {
		r.runs[i+1], r.storage[i+1], r.up[i+1] = runs[i], storage[i], &bubble.Node{}
	}
	return r
}

// After the request a node goes back to the version before when the others are healthy and the files of all members
// have that version's format; it stays there.
func TestNextDowngrades(t *testing.T) {
	for _, c := range []struct {
		runs    [4]int
		storage [4]string
		down    lockstep.Node
		added   bool
		gone    lockstep.Node
		want    []int // of node 1
	}{
		{runs: [4]int{1, 1, 1}, storage: [4]string{"3.5", "3.5", "3.5"}, want: []int{0}},
		{runs: [4]int{1, 1, 1}, storage: [4]string{"3.5", "3.5", "3.6"}},
		{runs: [4]int{1, 1, 1}, storage: [4]string{"3.6", "3.5", "3.5"}},
		{runs: [4]int{1, 1, 1}, storage: [4]string{"3.5", "", "3.5"}},
		{runs: [4]int{1, 0, 1}, storage: [4]string{"3.5", "", "3.5"}, want: []int{0}}, // 3.5 reports no format
		{runs: [4]int{0, 1, 1}, storage: [4]string{"", "3.5", "3.5"}},
		{runs: [4]int{1, 1, 1}, storage: [4]string{"3.5", "3.5", "3.5"}, down: 1, want: []int{0}},
		{runs: [4]int{1, 1, 1}, storage: [4]string{"3.5", "3.5", "3.5"}, down: 2},
		{runs: [4]int{1, 1, 1, 1}, storage: [4]string{"3.5", "3.5", "3.5", "3.6"}, added: true},
		{runs: [4]int{1, 1, 1, 1}, storage: [4]string{"3.5", "3.5", "3.6", "3.5"}, added: true, gone: 3, want: []int{0}},
		{runs: [4]int{1, 1, 1}, storage: [4]string{"3.5", "3.5", "3.5"}, gone: 1},
	} {
		r := downgrading(c.runs, c.storage)
		r.up[c.down], r.isAdded, r.leaving[c.gone] = nil, c.added, true
		r.cluster.Rollbacks = true // has no effect then
		r.downgrade.asked = true
		if got := r.next(1, c.runs[0]); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// The operator requests the downgrade when all members are healthy, with the newest version and its files, and repeats
// the request until it is known to be enabled.
func TestDue(t *testing.T) {
	upgraded := [4]string{"3.6", "3.6", "3.6"}
	for _, c := range []struct {
		runs       [4]int
		storage    [4]string
		down       lockstep.Node
		is         downgrade
		due, asked bool
	}{
		{runs: [4]int{1, 1, 1}, storage: upgraded, due: true},
		{runs: [4]int{1, 0, 1}, storage: upgraded},
		{runs: [4]int{1, 1, 1}, storage: [4]string{"3.6", "3.6", ""}},
		{runs: [4]int{1, 1, 1}, storage: [4]string{"3.6", "3.5", "3.6"}},
		{runs: [4]int{1, 1, 1}, storage: upgraded, down: 3},
		{runs: [4]int{1, 1, 1}, storage: upgraded, down: 3, is: downgrade{asked: true}, due: true, asked: true},
		{runs: [4]int{1, 1, 1}, storage: upgraded, is: downgrade{asked: true, enabled: true}, asked: true},
	} {
		r := downgrading(c.runs, c.storage)
		r.up[c.down], r.downgrade = nil, c.is
		ids := map[string]uint64{}
		for n := range lockstep.Node(3) {
			ids[address(n+1, peerPort)] = uint64(n + 1)
		}
		if due, asked := r.due(ids); due != c.due || asked != c.asked {
			t.Errorf("%+v: %v, %v", c, due, asked)
		}
		r.cluster.Downgrade = false
		if due, _ := r.due(ids); due && !c.is.asked {
			t.Errorf("%+v: due without the option", c)
		}
		ids[address(4, peerPort)] = 4 // a member that does not run yet
		if r.cluster.Downgrade, r.up[4] = true, nil; !c.is.asked {
			if due, _ := r.due(ids); due {
				t.Errorf("%+v: due with a member that does not run", c)
			}
		}
	}
}

// Once the downgrade is enabled, members say its version long after the last event, whatever they run.
func TestAgreedDowngrades(t *testing.T) {
	const long = trace.Time(calm)
	newest, before := [3]string{"3.6.16", "3.6.16", "3.6.16"}, [3]string{"3.5.35", "3.5.35", "3.5.35"}
	for _, c := range []struct {
		release [3]string
		says    string
		target  string
		enabled bool
		wrong   bool
	}{
		{newest, "3.5.0", "", false, true},
		{newest, "3.5.0", "3.5.0", false, false}, // the request had no answer
		{newest, "3.6.0", "3.5.0", false, false},
		{newest, "3.7.0", "3.5.0", false, true},
		{newest, "3.5.0", "3.5.0", true, false},
		{newest, "3.6.0", "3.5.0", true, true},
		{[3]string{"3.6.16", "3.5.35", "3.6.16"}, "3.6.0", "3.5.0", true, true},
		{before, "3.5.0", "3.5.0", true, false},
		{before, "3.6.0", "3.5.0", true, true},
	} {
		for _, early := range []bool{false, true} {
			a := &agreed{target: c.target, enabled: c.enabled}
			for i := range c.release {
				a.release[i+1], a.says[i+1], a.since[i+1] = c.release[i], c.says, long
			}
			if early {
				a.asked = 1
			}
			if f := a.compare(); (f != nil) != (c.wrong && !early) {
				t.Errorf("%+v, %v: %v", c, early, f)
			}
		}
	}
}

// A cluster is downgraded by one minor version.
func TestDowngradeOptions(t *testing.T) {
	for _, c := range []struct {
		versions []string
		want     string
	}{
		{[]string{"3.5.35", "3.6.16"}, ""},
		{[]string{"3.5.35", "3.6.16", "3.7.3"}, ""},
		{[]string{"3.6.16"}, "only version 3.6.16"},
		{[]string{"3.5.16", "3.5.35"}, "from 3.5.35 to 3.5.16 is not one minor version"},
		{[]string{"3.5.35", "3.7.3"}, "from 3.7.3 to 3.5.35 is not one minor version"},
	} {
		cluster := of(c.versions...)
		cluster.Downgrade = true
		err := cluster.check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.versions, err)
		}
	}
}
