// Package zookeeper tests ZooKeeper: unmodified servers of a given version in separate processes, with proxies between
// them.
//
// The client workload is a [Harness], as in section 7.3 of "Testing Consensus Implementations using Communication
// Closure". It consists of steps, each of which is empty or a write at a given server, possibly with a condition. A
// step is two time steps of a run: in the first, servers start and agree, and in the second the client makes the
// request. With the strategy uniform:period=2,by=restart faults occur as in that paper. Servers that are isolated from
// the first time step on do not start. Those that are isolated from the second are killed before the request. All
// servers are down between steps.
//
// Each server has its own client, whose session lasts as long as the run. In the end all servers run, and each returns
// all its data. All servers must have the same data, and some order of the clients' operations must explain it.
package zookeeper
