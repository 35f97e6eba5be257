// Package closure asks how far a run keeps to communication-closed rounds: rounds in
// which a message is received in its own round or not at all.
//
// [Form] rewrites a run into lock-step rounds. Deliveries are regrouped by the tags of
// their messages, or by causal layers where messages carry none; messages that changed
// nothing are lost; steps that do not depend on each other change places. The result is
// run on the system and accepted only if every node goes through the same states. Where
// no such run exists, Form names the first delivery that breaks the round structure.
//
// [Measure] counts over many runs how often late messages change a state, by type of
// message: a statement about the protocol.
package closure
