// Package ratis tests Apache Ratis, a Raft library. It runs unmodified servers of a given version in separate
// processes, with the counter of its examples, over gRPC or Netty. Proxies between the servers decode their messages.
//
// A run consists of phases, as in section 7.2 of "Testing Consensus Implementations using Communication Closure". In
// each, the client of the library sends increments to the counter while servers are isolated. A round ends when the log
// has grown, which the proxies detect in messages. They let no such message pass before the next round begins. The
// strategy uniform:period=2,rounds=8 thus isolates servers as that paper does, from a round of a phase until its end.
// With control=time a round is a period of time.
//
// In the end links heal, all servers run, and the target checks three properties, each within a time limit. A leader
// exists, all logs are equal, and the client has its answers.
package ratis
