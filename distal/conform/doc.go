// Package conform checks whether the runs of an implementation are behaviors of a model, a program in Distal.
//
// A [Spec] is a [lockstep.Spec]. A [Mapping] says what the events of a system mean in the model. After every event the
// monitor knows all states in which the model may be: those that some behavior reaches whose visible part is what the
// system has shown so far. The finding is the first event after which there is none, with the states before it and
// what the model would have allowed in them.
//
// # What a behavior is
//
// The model runs as it is written, message by message, as package async runs it: any message may arrive late, more
// than once, or never. A condition on rounds that is only watched may be broken. An action that shows nothing may
// happen between any two events. Of the node of an event, several actions may explain it together.
//
// A node receives the messages of one phase and round at the moment at which it acts on them, and any subset of them.
// That loses no behavior: a message changes nothing until its receiver acts on it, and a program with rules that read
// messages of other rounds is refused.
//
// # How the search stays small
//
// Local states, messages and sets of messages have numbers, and what a node can do is computed once for each local
// state and each set of messages. States that another one covers are dropped: it has the same local states, up to
// variables that [Mapping] calls larger, and all messages of the other one.
//
// A run that reaches one of the [Limits] may have more behaviors than were found. If none is left after that, the run
// is inconclusive: it is neither a finding nor a pass. So is a run of which the mapping knows too little, and one in
// which the model itself fails.
package conform
