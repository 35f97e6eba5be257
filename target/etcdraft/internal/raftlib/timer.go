package raftlib

import (
	"fmt"
	"math"
	"reflect"
	"unsafe"
)

// Timer controls the election timeout of one node of the library, its only source of nondeterminism. The library
// redraws the timeout whenever a node changes its term or role, and keeps it in an unexported field of the node. It
// draws from a source that belongs to the process (v3.5: math/rand, seeded from the wall clock; since v3.6:
// crypto/rand). The timer replaces the library's draw by its own, from the run's seed:
//
//   - Between ticks the field holds a value that the library never draws. The timer thus notices a fresh draw of
//     the library, and replaces it by a fresh draw from the seed.
//   - Before the tick that reaches the drawn timeout the timer sets the field so that this tick starts the
//     election.
//
// The library reads the field only in its tick, so the effect is the same as if it had drawn the timer's values.
// Nothing of the process is replaced, and nodes in different goroutines are independent.
type Timer struct {
	election, heartbeat int  // Config.ElectionTick, Config.HeartbeatTick
	elapsed, beat       *int // ticks since the last election timeout or heartbeat
	randomized          *int
	timeout             int // drawn from the seed
	source              Source
}

// Source is the source of timeouts: IntN draws a number from 0 to n-1.
type Source interface{ IntN(n int) int }

// never is the value of the field between ticks.
const never = math.MaxInt

// Layout holds the offsets of the fields in a version of the library.
type Layout struct {
	raft                      uintptr // of RawNode's pointer to its raft
	elapsed, beat, randomized uintptr // in raft
}

// LayoutOf finds the fields in the version's RawNode type, or reports a missing one.
func LayoutOf(rawNode reflect.Type) (Layout, error) {
	var l Layout
	raft, ok := rawNode.FieldByName("raft")
	if !ok || raft.Type.Kind() != reflect.Pointer {
		return l, fmt.Errorf(
			"%s has no field raft that points to the node's state, so its election time-outs cannot be controlled",
			rawNode)
	}
	l.raft = raft.Offset
	for _, f := range []struct {
		name string
		at   *uintptr
	}{{"electionElapsed", &l.elapsed}, {"heartbeatElapsed", &l.beat}, {"randomizedElectionTimeout", &l.randomized}} {
		field, ok := raft.Type.Elem().FieldByName(f.name)
		if !ok || field.Type.Kind() != reflect.Int {
			return l, fmt.Errorf("%s has no field %s of type int, so its election time-outs cannot be controlled",
				raft.Type.Elem(), f.name)
		}
		*f.at = field.Offset
	}
	return l, nil
}

// Attach takes control of a fresh node. RawNode points to the version's RawNode.
func (t *Timer) Attach(l Layout, rawNode unsafe.Pointer, election, heartbeat int, source Source) {
	raft := *(*unsafe.Pointer)(unsafe.Add(rawNode, l.raft))
	*t = Timer{election: election, heartbeat: heartbeat, source: source,
		elapsed:    (*int)(unsafe.Add(raft, l.elapsed)),
		beat:       (*int)(unsafe.Add(raft, l.beat)),
		randomized: (*int)(unsafe.Add(raft, l.randomized))}
	t.Check()
}

// Check detects a fresh draw of the library and draws from the seed. It is called after every input to the node.
func (t *Timer) Check() {
	if *t.randomized != never {
		t.draw()
	}
}

//go:noinline
func (t *Timer) draw() {
	*t.randomized = never
	t.timeout = t.election + t.source.IntN(t.election)
}

// Arm prepares the next tick.
func (t *Timer) Arm() {
	if *t.elapsed+1 >= t.timeout {
		*t.randomized = 0
	}
}

// Disarm ends a tick that the library did not use, in a node that may not campaign.
func (t *Timer) Disarm() {
	if *t.randomized == 0 {
		*t.randomized = never
	}
}

// Left is the number of ticks up to the one at which the node acts: a leader sends heartbeats, another node
// campaigns.
func (t *Timer) Left(leader bool) int {
	if leader {
		return max(1, t.heartbeat-*t.beat)
	}
	return max(1, t.timeout-*t.elapsed)
}
