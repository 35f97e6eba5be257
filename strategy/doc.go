// Package strategy provides the strategies that choose the steps of a run.
//
// Some strategies order events and lose no message. In this package, an event is something that a step makes happen at
// a node: a delivery, a request or a timer.
//   - [PCTCP] assigns random priorities to causal chains of events and delays a few events. It hits every order of d
//     events with a known probability.
//   - [POS] assigns random priorities to events, and draws them again where events race. Two events race if they happen
//     at one node and neither causes the other.
//
// Some strategies run in lock-step rounds, in which all nodes send and then receive the messages of the round:
//   - [Uniform] isolates a set of nodes: Algorithm 1 of "Testing Consensus Implementations using Communication
//     Closure".
//   - [Lossy] loses any set of messages.
//
// Some strategies model network behavior:
//   - [Delay] is a network in virtual time, with latencies, cuts and crashes.
//   - [Queues] has two queues for each link and drops, duplicates and swaps messages.
//   - [Walk] takes random steps, with weights by kind of step.
//   - [Baseline] delivers in random order and drops each message with a fixed probability: the papers' baseline.
//   - [Partition] partitions the nodes between and during operations, by families that cover every goal of package
//     cover.
//
// Some strategies learn from one run for the next:
//   - [Systematic] enumerates all choices up to its bounds.
//   - [Guided] mutates the schedules of another strategy that reached new states.
//
// [Parse] reads a strategy as it is written on the command line, and [All] lists the strategies with their options. The
// page docs/concepts/strategies.md explains which strategy to use, and why.
package strategy
