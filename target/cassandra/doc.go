// Package cassandra tests the Paxos of Cassandra. It runs unmodified servers of a given version in separate processes,
// with proxies between them that decode the messages of its transactions.
//
// It is the test of section 7.1 of "Testing Consensus Implementations using Communication Closure". Three transactions
// follow one another, each at a different server, on a row that no other run uses. The engine controls every message of
// Paxos: a phase is a ballot, and its rounds are prepare, promise, propose, accept, commit and ack. All other messages
// pass: gossip, and the reads of a transaction. Messages of a server to itself are not on the network.
//
// The messages of versions since 4.0 are not decoded. With these versions, and with others on request, a round is a
// period of time, and links are only cut and healed as a whole.
//
// In the end the row is read at all servers, and checked. Some order of the transactions must explain it
// ([Linearizable]). The first transaction must not have taken effect again after the second ([Once]): the paper looks
// for this violation, and CASSANDRA-6023 causes it.
package cassandra
