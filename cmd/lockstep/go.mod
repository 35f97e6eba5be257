module github.com/lockstep-go/lockstep/cmd/lockstep

go 1.26

require github.com/lockstep-go/lockstep v0.0.0

replace github.com/lockstep-go/lockstep => ../..
