// Package strategy holds the strategies that choose the steps of a run.
//
//   - [Walk] chooses at random, with weights by kind of step.
//   - [Baseline] delivers in random order and drops each message with a fixed
//     probability: the papers' baseline.
//   - [Lossy] goes in lock-step rounds and loses any set of messages.
//   - [Uniform] goes in lock-step rounds in which a set of nodes is isolated:
//     Algorithm 1 of "Testing Consensus Implementations using Communication Closure".
//   - [Partition] divides the nodes between and under operations, by families that
//     cover every goal of package cover.
//
// [Parse] reads a strategy as it is written on the command line, and [All] lists them
// with their options.
package strategy
