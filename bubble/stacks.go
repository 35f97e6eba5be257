package bubble

// deep is the size of the stack on which a deployment's goroutine waits, see wideStacks.
const deep = 128 << 10

// wideStacks makes goroutines start with larger stacks, and returns a function that ends that. The runtime gives a new
// goroutine the average stack size that it saw at the last garbage collection. Most goroutines of nodes wait in a
// shallow loop at that time, but call deeper now and then. So each of them would have its stack copied to a larger one
// in each run. One goroutine that waits at some depth raises the average. With hashicorp/raft a tenth of the time went
// into copying.
func wideStacks() func() {
	stop := make(chan struct{})
	go waitBelow(deep, stop)
	return func() { close(stop) } // without waiting: the function may be called in a bubble
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
