module github.com/lockstep-go/lockstep/cli

go 1.26.0

require (
	github.com/alecthomas/kong v1.16.1
	github.com/lockstep-go/lockstep v0.0.0
	github.com/rogpeppe/go-internal v1.16.0
	golang.org/x/term v0.47.0
)

require (
	github.com/anishathalye/porcupine v1.3.1 // indirect
	github.com/cockroachdb/datadriven v1.0.3 // indirect
	github.com/google/go-cmp v0.7.0 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	golang.org/x/mod v0.23.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/tools v0.30.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
)

replace github.com/lockstep-go/lockstep => ..
