// Package memberlist tests the unmodified hashicorp/memberlist with package net: nodes that gossip about membership
// over UDP and TCP. Messages are lost, links are cut, nodes crash. The spec is that all nodes agree on the members
// some time after the last fault.
//
// The package needs a program built with the overlay:
//
//	lockstep go test .
package memberlist
