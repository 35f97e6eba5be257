package raft

import "github.com/lockstep-go/lockstep/spec"

// Agreement is the protocol's promise: no two nodes commit different entries at one
// index.
var Agreement = spec.Agreement(Committed, func(e *Entry) int { return e.Index },
	func(a, b *Entry) bool { return a.Term == b.Term && a.Text == b.Text })
