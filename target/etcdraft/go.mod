module github.com/lockstep-go/lockstep/target/etcdraft

go 1.26

require (
	github.com/lockstep-go/lockstep v0.0.0
	go.etcd.io/raft/v3 v3.7.0
	google.golang.org/protobuf v1.36.11
)

replace github.com/lockstep-go/lockstep => ../..
