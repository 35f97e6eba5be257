module github.com/lockstep-go/lockstep/target/cassandra

go 1.26.0

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/lockstep-go/lockstep v0.0.0
)

require gonum.org/v1/gonum v0.17.0 // indirect

replace github.com/lockstep-go/lockstep => ../..
