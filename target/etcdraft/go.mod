module github.com/lockstep-go/lockstep/target/etcdraft

go 1.26.0

require (
	github.com/lockstep-go/lockstep v0.0.0
	go.etcd.io/etcd/raft/v3 v3.5.2
	go.etcd.io/raft/v3 v3.7.0
	google.golang.org/protobuf v1.36.11
)

require (
	github.com/anishathalye/porcupine v1.3.1 // indirect
	github.com/cockroachdb/datadriven v1.0.3 // indirect
	github.com/gogo/protobuf v1.3.2 // indirect
	github.com/golang/protobuf v1.5.2 // indirect
	github.com/google/go-cmp v0.7.0 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
)

replace github.com/lockstep-go/lockstep => ../..
