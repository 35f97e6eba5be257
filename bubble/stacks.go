package bubble

// deep is the size of the stack on which a deployment's goroutine waits, see wideStacks.
const deep = 128 << 10

// wideStacks lets goroutines begin with wider stacks, and returns what ends that. The runtime gives a
// new goroutine as much as those it saw at the last collection of garbage used on average. Most
// goroutines of nodes wait in a shallow loop then, but reach deeper now and then, so that in each run
// each of them would have its stack copied to a wider one; one goroutine that waits at some
// depth lifts the average. With hashicorp/raft a tenth of the time went into that.
func wideStacks() func() {
	stop := make(chan struct{})
	go waitBelow(deep, stop)
	return func() { close(stop) } // without waiting: it may be called in a bubble
}

// waitBelow waits with so many bytes of stack in use.
//
//go:noinline
func waitBelow(size int, stop <-chan struct{}) byte {
	var page [16 << 10]byte
	if size <= 0 {
		<-stop
		return page[0]
	}
	page[size%len(page)]++ // so that it is not optimized away
	return waitBelow(size-len(page), stop) + page[0]
}
