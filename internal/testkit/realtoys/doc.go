// Package realtoys tests Lockstep with two small real systems: goroutines in a bubble of virtual time, and processes
// behind TCP proxies. The tests go the whole way from a campaign over shrinking to a replay. They show that the
// contract holds for systems that run on their own. The package has only tests.
package realtoys
