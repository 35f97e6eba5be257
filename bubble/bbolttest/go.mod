module github.com/lockstep-go/lockstep/bubble/bbolttest

go 1.26.0

require (
	github.com/lockstep-go/lockstep v0.0.0
	go.etcd.io/bbolt v1.4.3
)

require (
	github.com/anishathalye/porcupine v1.3.1 // indirect
	golang.org/x/net v0.35.0 // indirect
	golang.org/x/sys v0.30.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
)

replace github.com/lockstep-go/lockstep => ../..
