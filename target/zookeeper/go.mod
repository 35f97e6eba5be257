module github.com/lockstep-go/lockstep/target/zookeeper

go 1.26.0

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/go-zookeeper/zk v1.0.4
	github.com/lockstep-go/lockstep v0.1.0
)

require (
	github.com/alecthomas/kong v1.16.1 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/term v0.47.0 // indirect
)
