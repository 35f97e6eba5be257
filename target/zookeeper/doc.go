// Package zookeeper tests ZooKeeper: unmodified servers of the version asked for, in processes of
// their own, with proxies between them.
//
// What clients do is a [Harness], as in section 7.3 of "Testing Consensus Implementations using
// Communication Closure": steps, each of which is empty or a write, perhaps under a condition, at a
// certain server. A step is two stretches of time: in the first servers start and agree, in the
// second the request is made. With the strategy uniform:period=2,by=restart faults fall as in that
// paper: servers that are isolated from the first stretch on are not started, those that are
// isolated from the second are killed before the request, and all are down between steps.
//
// Each server has a client of its own, whose session lives as long as the run. In the end all
// servers run, and everything is read at each of them: they must have the same data, and some
// order of what clients did must explain it.
package zookeeper
