// Package realtoys has no code but tests: two small real systems, goroutines in a bubble of
// virtual time and processes behind TCP proxies, that go the whole way from a campaign over
// shrinking to a replay. They show that the contract holds for systems that move by
// themselves.
package realtoys
