// Package kafka tests Kafka: unmodified servers of the version asked for, which agree by KRaft, in
// processes of their own, with proxies between them.
//
// Producers write records to a topic that is the run's own. A request at a server is a producer's
// attempt at a record: it asks that server who leads, and writes to the one it is told. Cuts are
// between servers; clients reach all of them. Half of the producers are idempotent: they number
// their records, so that a record that is written again is in the log once.
//
// In the end all servers run, every replica is in sync again, and the log is read: no record that was
// acknowledged may be missing ([Acknowledged]), records are where and in the order in which they were
// acknowledged ([Order]), and none of an idempotent producer is there twice ([Once]).
//
// With one controller of its own and unclean settings this is the system of section 2.2 of "Why Is
// Random Testing Effective for Partition Tolerance Bugs?", where acknowledged records are lost by
// two partitions in a row.
package kafka
