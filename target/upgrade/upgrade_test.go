package upgrade

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/internal/reference"
	"github.com/lockstep-go/lockstep/trace"
)

// named is a release of which the tests need only the version.
type named struct {
	Release
	version string
}

func (n named) Version() string { return n.version }

// of is a cluster with versions.
func of(versions ...string) Cluster {
	c := Cluster{Nodes: 3, name: "test-upgrade"}
	for _, v := range versions {
		c.releases = append(c.releases, named{version: v})
	}
	return c
}

// A node may restart with the next version when no member runs an older one and the cluster has agreed on the version,
// and with the one before while another member runs it.
func TestNext(t *testing.T) {
	for _, c := range []struct {
		runs      [4]int // by node; the last one is the spare
		agreed    string
		rollbacks bool
		changes   int
		gone      lockstep.Node
		want      []int // of node 1
	}{
		{runs: [4]int{0, 0, 0}, agreed: "3.5.0", want: []int{1}},
		{runs: [4]int{0, 0, 0}, agreed: "3.0.0"}, // the first version of a new cluster
		{runs: [4]int{0, 1, 1}, agreed: "3.5.0", want: []int{1}},
		{runs: [4]int{1, 1, 1}, agreed: "3.5.0"},
		{runs: [4]int{1, 1, 1}, agreed: "3.6.0", want: []int{2}},
		{runs: [4]int{1, 1, 0}, agreed: "3.5.0"},
		{runs: [4]int{1, 1, 0}, agreed: "3.5.0", rollbacks: true, want: []int{0}},
		{runs: [4]int{1, 1, 1}, agreed: "3.6.0", rollbacks: true, want: []int{2}},
		{runs: [4]int{2, 2, 2}, agreed: "3.7.0", rollbacks: true},
		{runs: [4]int{1, 1, 1, 0}, agreed: "3.6.0", changes: 1, want: []int{2}}, // the spare is no member yet
		{runs: [4]int{1, 1, 0, 0}, agreed: "3.6.0", changes: 1, gone: 3, want: []int{2}},
	} {
		cluster := of("3.5.16", "3.6.16", "3.7.3")
		cluster.Rollbacks, cluster.Changes = c.rollbacks, c.changes
		r := &run{cluster: cluster, agreed: -1}
		for i, at := range c.runs {
			r.runs[i+1] = at
		}
		r.leaving[c.gone] = true
		r.agrees(c.agreed)
		if got := r.next(1, c.runs[0]); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// Members with different hashes at a revision are a finding that names their versions.
func TestEqual(t *testing.T) {
	e := &equal{}
	e.Reset()
	last := func(events ...lockstep.Event) (f *lockstep.Finding) {
		for i := range events {
			f = e.Event(nil, &events[i])
		}
		return f
	}
	store := func(n lockstep.Node, revision int64, hash uint32) lockstep.Event {
		return lockstep.Event{Node: n, Type: EventStore, Value: &Store{Revision: revision, Hash: hash}}
	}
	if f := last(lockstep.Event{Node: 1, Type: EventRelease, Value: "3.5.16"},
		lockstep.Event{Node: 2, Type: EventRelease, Value: "3.6.16"},
		store(1, 5, 7), store(2, 6, 8), store(2, 5, 7)); f != nil || e.checked != 1 {
		t.Error(f, e.checked)
	}
	if f := last(store(1, 6, 9)); f == nil || !strings.Contains(f.Text, "member 2 with version 3.6.16") ||
		!strings.Contains(f.Text, "member 1 with version 3.5.16") {
		t.Error(f)
	}
}

// A list that was asked for after a promotion or removal must show it; one that was asked for before need not.
func TestStay(t *testing.T) {
	all := trace.AllNodes(4)
	for _, c := range []struct {
		list Members
		want string
	}{
		{Members{20, all.Without(3), 0}, ""},
		{Members{20, all.Without(3), trace.NodesOf(4)}, "member 4 was promoted"},
		{Members{20, trace.NodesOf(1, 2), 0}, "member 4 was promoted"},
		{Members{20, all, 0}, "member 3 was removed"},
		{Members{15, all, 0}, ""},
		{Members{10, all, trace.NodesOf(4)}, ""},
	} {
		s := &stay{}
		s.promoted[4], s.removed[3] = 10, 15
		f := s.Event(nil, &lockstep.Event{Node: 1, Type: EventMembers, Value: &c.list})
		if (f == nil) != (c.want == "") || f != nil && !strings.HasPrefix(f.Text, c.want) {
			t.Errorf("%v: %v, want %q", &c.list, f, c.want)
		}
	}
}

// Long after the last restart, every member says that the cluster's version is that of the oldest member.
func TestAgreed(t *testing.T) {
	const long = trace.Time(calm)
	for _, c := range []struct {
		release, says [3]string
		at            trace.Time // when they said it
		gone          lockstep.Node
		wrong         bool
	}{
		{release: [3]string{"3.6.16", "3.6.16", "3.6.16"}, says: [3]string{"3.6.0", "3.6.0", "3.6.0"}, at: long},
		{release: [3]string{"3.6.16", "3.6.16", "3.6.16"}, says: [3]string{"3.6.0", "3.5.0", "3.6.0"}, at: long,
			wrong: true},
		{release: [3]string{"3.6.16", "3.6.16", "3.6.16"}, says: [3]string{"3.6.0", "3.5.0", "3.6.0"}, at: long - 1},
		{release: [3]string{"3.6.16", "3.6.16", "3.5.16"}, says: [3]string{"3.5.0", "3.5.0", "3.5.0"}, at: long},
		{release: [3]string{"3.6.16", "3.6.16", "3.5.16"}, says: [3]string{"3.6.0", "3.6.0", "3.6.0"}, at: long,
			wrong: true},
		{release: [3]string{"3.6.16", "3.6.16", "3.5.16"}, says: [3]string{"3.6.0", "3.6.0", "3.5.0"}, at: long, gone: 3},
	} {
		a := &agreed{}
		for i := range c.release {
			a.release[i+1], a.says[i+1], a.since[i+1] = c.release[i], c.says[i], c.at
		}
		a.gone[c.gone] = true
		if f := a.compare(); (f != nil) != c.wrong {
			t.Errorf("%+v: %v", c, f)
		}
	}
}

// Versions are compared by their numbers.
func TestOlder(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{{"3.5.16", "3.6.0", true}, {"3.5.9", "3.5.16", true}, {"3.10.0", "3.9.0", false}, {"3.5.16", "3.5.16", false}} {
		if older(c.a, c.b) != c.want {
			t.Errorf("%s is older than %s: %v", c.a, c.b, !c.want)
		}
	}
}

// A program of one version refuses to upgrade.
func TestOneVersion(t *testing.T) {
	c := of("3.5.16")
	c.Reconfigure = 0.5
	if _, err := c.Describe(); err == nil || !strings.Contains(err.Error(), "has only version 3.5.16") {
		t.Error(err)
	}
}

// The page about the target has all of its options.
func TestReference(t *testing.T) {
	target := Target("etcdserver-upgrade", named{version: "1.0.0"}, named{version: "1.1.0"})
	if err := reference.Check("../../docs/reference/targets/etcdserver-upgrade.md", "options",
		reference.Target(target, bubble.FaultOptions{})); err != nil {
		t.Error(err)
	}
}
