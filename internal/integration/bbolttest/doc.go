// Package bbolttest tests bbolt, a store that others build on, under power failures.
package bbolttest
