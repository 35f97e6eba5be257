module github.com/lockstep-go/lockstep/cmd/lockstep

go 1.26.0

require (
	github.com/lockstep-go/lockstep v0.0.0
	github.com/lockstep-go/lockstep/cli v0.0.0
	github.com/lockstep-go/lockstep/target/etcdraft v0.0.0
	github.com/rogpeppe/go-internal v1.16.0
)

replace (
	github.com/lockstep-go/lockstep => ../..
	github.com/lockstep-go/lockstep/cli => ../../cli
	github.com/lockstep-go/lockstep/target/etcdraft => ../../target/etcdraft
)
