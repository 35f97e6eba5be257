// Package kafka tests Kafka: unmodified servers of a given version, which agree by KRaft, in separate processes, with
// proxies between them.
//
// Producers write records to a topic that no other run uses. A request at a server is a producer's attempt at a record:
// the producer asks that server for the leader, and writes to that leader. Cuts are between servers; clients reach all
// of them. Half of the producers are idempotent: they number their records, so that a record that is written again is
// in the log once.
//
// In the end all servers run, every replica is in sync again, and the log is read. No acknowledged record may be
// missing ([Acknowledged]). Records are at their acknowledged offsets, in order ([Order]). No record of an idempotent
// producer is in the log twice ([Once]).
//
// With a separate controller and unclean settings this is the system of section 2.2 of "Why Is Random Testing Effective
// for Partition Tolerance Bugs?". There two consecutive partitions lose acknowledged records.
package kafka
