// Package strategy holds the strategies that choose the steps of a run.
//
// Some order events and lose nothing:
//   - [PCTCP] gives causal chains of events random priorities and delays a few: it hits
//     every order of d events with a known probability.
//   - [POS] gives events random priorities, drawn anew where events race.
//
// Some go in lock-step rounds:
//   - [Uniform] isolates a set of nodes: Algorithm 1 of "Testing Consensus
//     Implementations using Communication Closure".
//   - [Lossy] loses any set of messages.
//
// Some do to the network what networks do:
//   - [Delay] is a network in virtual time, with latencies, cuts and crashes.
//   - [Shadow] has two queues for each link and drops, duplicates and swaps messages.
//   - [Walk] takes random steps, with weights by kind of step.
//   - [Baseline] delivers in random order and drops each message with a fixed
//     probability: the papers' baseline.
//   - [Partition] divides the nodes between and under operations, by families that
//     cover every goal of package cover.
//
// And some learn from one run for the next:
//   - [Systematic] tries all choices up to its bounds.
//   - [Guided] mutates the schedules of another strategy that reached something new.
//
// [Parse] reads a strategy as it is written on the command line, and [All] lists them
// with their options. The page docs/strategies.md says which one to use, and why.
package strategy
