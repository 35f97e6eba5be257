// Package bbolttest tests bbolt, a store that other systems build on, under power failures.
package bbolttest
