module github.com/lockstep-go/lockstep

go 1.26

require go.uber.org/goleak v1.3.0

require github.com/anishathalye/porcupine v1.3.1 // indirect
