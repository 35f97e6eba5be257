// Package tendermint puts the consensus of Tendermint and of its successor CometBFT under test,
// unmodified: the library's own reactor and state machine, goroutines and time-outs included, in a
// bubble of virtual time. Validators, their stores, write-ahead logs, keys and connections are in
// memory; each consensus message is one message of the engine.
//
// One adapter serves the generations of the library: Tendermint 0.30 (tag v0.30) and 0.34 (tag v0.34),
// CometBFT 0.38 (the usual one) and CometBFT 1.0 (tag v1.0), each bound by a file of aliases. Which
// one it is is a matter of the build; see the folder versions.
//
// # Connections
//
// The library's gossip believes that what it sent has arrived, as it may on TCP. So a message
// that is dropped, or sent on a link that is cut, breaks the connection: both ends lose their
// peer, connect again after a while, and gossip starts afresh. With Loss set to Silent the message is
// gone and nobody knows, which is what the tests of the Netrix paper do; then no
// progress is promised. Likewise messages of one channel of a connection are taken in the
// order of sending, one that overtakes waits for those before it, unless Order is Free; but for
// votes, which gossip sends in an order that it draws.
package tendermint
