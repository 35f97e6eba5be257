// Package memberlist runs hashicorp/memberlist as it is, by package net: nodes that gossip over
// UDP, and TCP, about who is there. Messages are lost, links are cut, nodes crash; what is
// promised is that all agree on who is there some time after the last fault.
//
// It needs a program built with the overlay:
//
//	lockstep go test .
package memberlist
