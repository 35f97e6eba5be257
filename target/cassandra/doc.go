// Package cassandra tests the Paxos of Cassandra: unmodified servers of the version asked for, in processes of
// their own, with proxies between them that know the messages of its transactions.
//
// It is the test of section 7.1 of "Testing Consensus Implementations using Communication Closure". Three
// transactions are made one after the other, each at a server of its own, on a row that is the run's own. Every
// message of Paxos is the engine's: a phase is a ballot, and its rounds are prepare, promise, propose, accept,
// commit and ack. Everything else passes: gossip, and the reads that a transaction makes. What a server says to
// itself is not on the network.
//
// The messages of versions since 4.0 are not known here. With them, and with others where that is asked for, a round is a stretch of
// time, and links are only cut and healed as a whole.
//
// In the end the row is read at all servers, and judged: it must be explained by some order of the transactions
// ([Linearizable]), and the first of them must not have taken effect once more after the second ([Once]), which is
// what the paper looks for, and what CASSANDRA-6023 does.
package cassandra
