module github.com/lockstep-go/lockstep/target/bftsmart

go 1.26.0

require (
	github.com/lockstep-go/lockstep v0.1.0
	github.com/lockstep-go/lockstep/remote v0.1.0
)

require (
	connectrpc.com/connect v1.21.1 // indirect
	github.com/alecthomas/kong v1.16.1 // indirect
	github.com/anishathalye/porcupine v1.3.1 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/term v0.47.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
