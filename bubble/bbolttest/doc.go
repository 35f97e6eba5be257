// Package bbolttest tests bbolt, a store that others build on, under power failures. It is a
// module of its own, so that the library needs nothing of it.
package bbolttest
