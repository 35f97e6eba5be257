// Package syntax reads and writes the text of Distal programs (`*.distal`).
//
// Distal is the small language in which textbook protocols are written: messages with a synchronization
// tag, rounds in order, local state, and `upon` rules. This package knows only the text: Parse turns
// source into a File, Format turns a File back into canonical source and keeps comments. Names and types
// are the business of package check.
//
// Parse reports several errors a run, each with line and column, and never panics: after an error it skips to the next
// place where a declaration or statement can begin. Nesting is limited, of the text and of the tree made from it, so
// that no later walk of the tree can exhaust the stack.
package syntax
