// Package lockstepform determines whether a run can be rewritten into communication-closed rounds. In such rounds a
// message is received in its own round or not at all.
//
// [Form] rewrites a run into lock-step rounds. It regroups deliveries by the tags of their messages, or by causal
// layers if messages carry no tags. Messages without an effect are lost, and independent steps are reordered. The
// result runs on the system and is accepted only if every node goes through the same states. If no such run exists,
// Form returns the first delivery that breaks the round structure.
//
// [Measure] counts over many runs how often late messages change a state, by type of message: a statement about the
// protocol.
package lockstepform
