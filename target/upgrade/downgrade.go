package upgrade

import (
	"context"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/trace"
)

// downgradeSteps is the maximum number of the operator's steps after the membership changes: in most of them the
// members have not been upgraded yet.
const downgradeSteps = 500

// downgrade is what the operator knows about the downgrade.
type downgrade struct {
	asked   bool // it was requested, maybe without an answer
	enabled bool // it was acknowledged, or has had an effect
	done    bool // all members run the release before the newest one again
}

// back lists the releases with which a node may restart after the downgrade was requested. As etcd's documentation
// demands, a member goes back when the other members are ready, and when the files of all members have the format of
// the earlier release. A member does not return to the newest release: that would need the end of the downgrade.
func (r *run) back(n lockstep.Node, at int) []int {
	last := len(r.cluster.releases) - 1
	if at != last || r.leaving[n] { // a member that is removed keeps its files, and is not asked for their format
		return nil
	}
	for i := range r.cluster.all() {
		other := lockstep.Node(i + 1)
		if !r.member(other) || r.leaving[other] {
			continue
		}
		if other != n && !r.healthy(other) || r.runs[other] == last && !r.migrated(other) {
			return nil
		}
	}
	return []int{last - 1}
}

// healthy reports whether a node's member is ready and has not crashed since.
func (r *run) healthy(n lockstep.Node) bool { return r.up[n] != nil && r.up[n].Alive() }

// migrated reports whether the files of a node had the format of the earlier release when it was asked last.
func (r *run) migrated(n lockstep.Node) bool {
	return r.storage[n] == line(r.cluster.before().Version())
}

// due reports whether the operator requests the downgrade now, and whether it has done so before. The first request
// needs healthy members. All must run the newest release, know its version as the cluster's, and have files in its
// format.
func (r *run) due(ids map[string]uint64) (due, asked bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	d := r.downgrade
	if !r.cluster.Downgrade || d.enabled || d.asked {
		return d.asked && !d.enabled, d.asked
	}
	last, newest := len(r.cluster.releases)-1, line(r.cluster.newest().Version())
	for i := range r.cluster.all() {
		n := lockstep.Node(i + 1)
		if ids[address(n, peerPort)] != 0 && (!r.healthy(n) || r.runs[n] != last || r.storage[n] != newest) {
			return false, false
		}
	}
	return true, false
}

// enable requests the downgrade.
func (r *run) enable(ctx context.Context, n *bubble.Node, c Client) {
	to := line(r.cluster.before().Version()) + ".0"
	r.mutex.Lock()
	if !r.downgrade.asked {
		r.downgrade.asked = true
		n.Emit(EventAsked, to)
	}
	r.mutex.Unlock()
	err := c.Downgrade(ctx, to)
	n.Log(trace.LogOperator, "", func() string {
		if err != nil {
			return "downgrade to " + to + ": " + err.Error()
		}
		return "downgrade to " + to
	})
	if err == nil {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.enabled(n)
	}
}

// enabled records that the downgrade is enabled.
func (r *run) enabled(n *bubble.Node) {
	if !r.downgrade.enabled {
		r.downgrade.enabled = true
		n.Emit(EventEnabled, line(r.cluster.before().Version())+".0")
	}
}

// stores records the version of the format of a member's files, if that is also the cluster's. If it is the earlier
// release's after the request, the downgrade is enabled, even if the request had no answer.
func (r *run) stores(n *bubble.Node, version, cluster string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if !n.Alive() {
		return
	}
	if r.storage[n.Self()] = line(version); line(version) != line(cluster) {
		r.storage[n.Self()] = ""
	}
	if r.downgrade.asked && r.runs[n.Self()] == len(r.cluster.releases)-1 && r.migrated(n.Self()) {
		r.enabled(n)
	}
}
