module github.com/lockstep-go/lockstep/target/kafka

go 1.26.0

require (
	github.com/lockstep-go/lockstep v0.0.0
	github.com/twmb/franz-go v1.22.2
	github.com/twmb/franz-go/pkg/kmsg v1.15.0
)

require (
	github.com/anishathalye/porcupine v1.3.1 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/pierrec/lz4/v4 v4.1.33 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
)

replace github.com/lockstep-go/lockstep => ../..
