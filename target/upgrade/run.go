package upgrade

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/kit/kv"
	"github.com/lockstep-go/lockstep/kit/operator"
)

// The ports on which members listen: to clients, and to each other.
const (
	clientPort = 2379
	peerPort   = 2380
)

// run is what the nodes of a run share: the clients, the operator, and what the operator knows.
type run struct {
	cluster Cluster
	world   *bubble.World

	mutex     sync.Mutex
	kv        *kv.Clients
	operator  *operator.Operator
	under     map[lockstep.Node][]task // in progress at a member
	runs      [65]int                  // by node: the release with which it started last
	agreed    int                      // the newest release on whose version the cluster is known to have agreed; -1: none
	upgraded  bool                     // all members run the newest release
	up        [65]*bubble.Node         // by node: its last incarnation whose member was ready
	storage   [65]string               // by node: the version of its files' format; empty: unknown, or not the cluster's
	downgrade downgrade
	leaving   [65]bool      // the member's removal was requested
	added     chan struct{} // closed when the operator has added the spare node
	isAdded   bool
}

// begin makes the state of a run.
func begin(c Cluster, w *bubble.World) *run {
	r := &run{cluster: c, world: w, under: map[lockstep.Node][]task{}, agreed: -1, added: make(chan struct{})}
	r.kv = kv.NewClients(kv.Load{Clients: c.Clients, Requests: c.Requests, Keys: c.Keys}, c.all())
	r.kv.Begin(w.Rand(1000), w)
	var tasks []operator.Task
	if c.Downgrade {
		tasks = append(tasks, operator.Task{Name: "change members or downgrade", Times: c.Changes + downgradeSteps})
	} else if c.Changes > 0 {
		tasks = append(tasks, operator.Task{Name: "change members", Times: c.Changes})
	}
	r.operator = operator.New(c.all(), tasks, nil)
	r.operator.Begin(w)
	return r
}

// spare is the node that is no member at first.
func (r *run) spare() lockstep.Node { return lockstep.Node(r.cluster.Nodes + 1) }

// next lists the releases with which a node may restart instead of its own. The next release may run when all members
// run at least this one and the cluster has agreed on its version, as the systems' documentation demands. The one
// before may run while another member runs it: then the cluster has not agreed on a later version.
func (r *run) next(n lockstep.Node, at int) (list []int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.downgrade.asked {
		return r.back(n, at)
	}
	lowest, before := at, false
	for i := range r.cluster.all() {
		if other := lockstep.Node(i + 1); other != n && !r.leaving[other] && r.member(other) {
			lowest = min(lowest, r.runs[other])
			before = before || r.runs[other] == at-1
		}
	}
	if at+1 < len(r.cluster.releases) && lowest == at && r.agreed >= at {
		list = append(list, at+1)
	}
	if r.cluster.Rollbacks && before {
		list = append(list, at-1)
	}
	return list
}

// member reports whether a node is a member, or may be.
func (r *run) member(n lockstep.Node) bool { return n != r.spare() || r.isAdded }

// started records the release of a node.
func (r *run) started(n *bubble.Node) Release {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.runs[n.Self()] = n.Configuration()
	return r.cluster.releases[n.Configuration()]
}

// ready is called when a member is ready. It reports once in a run that all members have the newest release, and once
// that all have the one before again.
func (r *run) ready(n *bubble.Node) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.up[n.Self()] = n
	last := len(r.cluster.releases) - 1
	switch {
	case last == 0:
	case !r.upgraded && r.all(last):
		r.upgraded = true
		n.Emit(EventUpgraded, r.cluster.newest().Version())
	case r.downgrade.asked && !r.downgrade.done && r.all(last-1):
		r.downgrade.done = true
		n.Emit(EventDowngraded, r.cluster.before().Version())
	}
}

// all reports whether all members have started with a release.
func (r *run) all(release int) bool {
	for i := range r.cluster.all() {
		other := lockstep.Node(i + 1)
		if r.member(other) && !r.leaving[other] && r.runs[other] != release {
			return false
		}
	}
	return true
}

// agrees records the version on which a member says that the cluster has agreed.
func (r *run) agrees(version string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for i, release := range r.cluster.releases {
		if line(release.Version()) == line(version) {
			r.agreed = max(r.agreed, i)
		}
	}
}

// line is the line of releases that a version belongs to, such as 3.5 for 3.5.16: a cluster's version has no patch.
func line(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// remove records that the removal of a node's member was requested.
func (r *run) remove(n lockstep.Node) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.leaving[n] = true
}

// leaves reports whether the removal of a node's member was requested.
func (r *run) leaves(n lockstep.Node) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.leaving[n]
}

// add lets the spare node start.
func (r *run) add() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if !r.isAdded {
		r.isAdded = true
		close(r.added)
	}
}

// members are the initial members as the server's configuration lists them, with the spare node where it joins.
func (r *run) members(joins bool) string {
	var all []string
	for i := range r.cluster.Nodes {
		all = append(all, entry(lockstep.Node(i+1)))
	}
	if joins {
		all = append(all, entry(r.spare()))
	}
	return strings.Join(all, ",")
}

func entry(n lockstep.Node) string { return name(n) + "=" + address(n, peerPort) }

func name(n lockstep.Node) string { return fmt.Sprint("n", n) }

func address(n lockstep.Node, port int) string { return fmt.Sprintf("http://10.0.0.%d:%d", n, port) }

// forget abandons what was in progress at a node before its crash.
func (r *run) forget(n lockstep.Node) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	under := r.under[n]
	delete(r.under, n)
	for _, t := range under {
		r.giveUp(t)
	}
}

// finish ends a task, unless the node crashed meanwhile.
func (r *run) finish(n *bubble.Node, t task, then func()) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if !n.Alive() {
		return
	}
	at := slices.Index(r.under[n.Self()], t)
	r.under[n.Self()] = slices.Delete(r.under[n.Self()], at, at+1)
	then()
}
