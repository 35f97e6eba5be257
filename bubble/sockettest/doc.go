// Package sockettest compares the sockets of a bubble with those of Linux.
//
// Its tests share one table of socket behaviors: the operations, and the answers of Linux. The same code runs every row
// on the loopback interface and, built with the overlay ("lockstep go test"), between nodes of a bubble. Both must give
// the answer in the table. If a bubble differs on purpose, the row says why. The page docs/evidence/sockets.md shows
// the table; a test keeps both equal, and -rewrite writes the page.
package sockettest
