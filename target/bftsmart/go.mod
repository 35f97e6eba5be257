module github.com/lockstep-go/lockstep/target/bftsmart

go 1.26.0

require (
	github.com/lockstep-go/lockstep v0.0.0-00010101000000-000000000000
	github.com/lockstep-go/lockstep/remote v0.0.0-00010101000000-000000000000
)

require (
	connectrpc.com/connect v1.21.1 // indirect
	github.com/anishathalye/porcupine v1.3.1 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace (
	github.com/lockstep-go/lockstep => ../../
	github.com/lockstep-go/lockstep/remote => ../../remote
)
