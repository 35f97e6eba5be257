// Package tendermint tests the unmodified consensus of Tendermint and of its successor CometBFT. It runs the
// library's own reactor and state machine, including goroutines and timeouts, in a bubble of virtual time.
// Validators, their stores, write-ahead logs, keys and connections are in memory; each consensus message is one
// message of the engine.
//
// One adapter serves several generations of the library: Tendermint 0.30 (tag v0.30) and 0.34 (tag v0.34), CometBFT
// 0.38 (the default) and CometBFT 1.0 (tag v1.0). A file of aliases binds each of them. The build determines the
// version; see the directory versions.
//
// # Connections
//
// The library's gossip assumes that sent messages arrive, as on TCP. Therefore a message that is dropped, or sent on
// a cut link, breaks the connection. Both ends lose their peer and reconnect after a while, and gossip restarts. With
// Loss set to Silent the message is lost and no validator notices, as in the tests of the Netrix paper. Then the spec
// does not require progress.
//
// Likewise validators process the messages of one channel of a connection in the order of sending, unless Order is
// Free. A message that overtakes others waits for them. Votes are exempt, because gossip sends them in a random
// order.
package tendermint
