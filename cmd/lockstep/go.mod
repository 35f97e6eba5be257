module github.com/lockstep-go/lockstep/cmd/lockstep

go 1.26.0

require (
	github.com/alecthomas/kong v1.16.1
	github.com/lockstep-go/lockstep v0.0.0
	golang.org/x/term v0.47.0
)

require golang.org/x/sys v0.49.0 // indirect

replace github.com/lockstep-go/lockstep => ../..
