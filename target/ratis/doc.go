// Package ratis tests Ratis, the Raft of Apache: unmodified servers of the version asked for, in processes of their own, with the
// counter of its examples, over gRPC or Netty, and with proxies between them that read what they say.
//
// A run is made of phases, as in section 7.2 of "Testing Consensus Implementations using Communication Closure": in each the client of
// the library sends the counter increments, and servers are isolated meanwhile. A round ends when the log has grown, which the
// proxies see in messages and let nothing of pass before the next round begins; so the strategy uniform:period=2,rounds=8 isolates servers
// as that paper does, from a round of a phase until its end. Without light control a round is a stretch of time.
//
// In the end links heal, all servers run, and three properties are judged, each after some time at the latest: that somebody
// leads, that all logs are the same, and that the client has its answers.
package ratis
