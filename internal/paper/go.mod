module github.com/lockstep-go/lockstep/internal/paper

go 1.26.0

require (
	github.com/lockstep-go/lockstep v0.1.0
	github.com/lockstep-go/lockstep/target/bftsmart v0.1.0
	github.com/lockstep-go/lockstep/target/etcdraft v0.1.0
	github.com/lockstep-go/lockstep/target/hashicorpraft v0.1.0
	github.com/lockstep-go/lockstep/target/zookeeper v0.1.0
)

require (
	connectrpc.com/connect v1.21.1 // indirect
	github.com/alecthomas/kong v1.16.1 // indirect
	github.com/anishathalye/porcupine v1.3.1 // indirect
	github.com/cockroachdb/datadriven v1.0.3 // indirect
	github.com/go-zookeeper/zk v1.0.4 // indirect
	github.com/gogo/protobuf v1.3.2 // indirect
	github.com/golang/protobuf v1.5.2 // indirect
	github.com/google/go-cmp v0.7.0 // indirect
	github.com/lockstep-go/lockstep/remote v0.1.0 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	github.com/rogpeppe/go-internal v1.16.0 // indirect
	go.etcd.io/etcd/raft/v3 v3.5.2 // indirect
	go.etcd.io/raft/v3 v3.7.0 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/term v0.47.0 // indirect
	golang.org/x/tools v0.51.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
