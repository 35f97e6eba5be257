module github.com/lockstep-go/lockstep/target/ratis

go 1.26.0

require (
	github.com/lockstep-go/lockstep v0.0.0
	golang.org/x/net v0.61.0
)

require (
	github.com/anishathalye/porcupine v1.3.1 // indirect
	golang.org/x/text v0.43.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
)

replace github.com/lockstep-go/lockstep => ../..
