module github.com/lockstep-go/lockstep/cmd/lockstep

go 1.26.0

require (
	github.com/lockstep-go/lockstep v0.0.0
	github.com/lockstep-go/lockstep/cli v0.0.0
	github.com/lockstep-go/lockstep/fleet v0.0.0
	github.com/lockstep-go/lockstep/target/bftsmart v0.0.0
	github.com/lockstep-go/lockstep/target/cassandra v0.0.0
	github.com/lockstep-go/lockstep/target/etcdraft v0.0.0
	github.com/lockstep-go/lockstep/target/hashicorpraft v0.0.0
	github.com/lockstep-go/lockstep/target/kafka v0.0.0
	github.com/lockstep-go/lockstep/target/ratis v0.0.0
	github.com/lockstep-go/lockstep/target/zookeeper v0.0.0
)

require (
	github.com/antithesishq/antithesis-sdk-go v0.8.0-default-no-op // indirect
	github.com/go-zookeeper/zk v1.0.4 // indirect
	github.com/google/go-tpm v0.9.8 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/minio/highwayhash v1.0.4 // indirect
	github.com/nats-io/jwt/v2 v2.8.2 // indirect
	github.com/nats-io/nats-server/v2 v2.15.2 // indirect
	github.com/nats-io/nats.go v1.55.0 // indirect
	github.com/nats-io/nkeys v0.4.16 // indirect
	github.com/nats-io/nuid v1.0.1 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/time v0.16.0 // indirect
)

require (
	connectrpc.com/connect v1.21.1 // indirect
	github.com/alecthomas/kong v1.16.1 // indirect
	github.com/anishathalye/porcupine v1.3.1 // indirect
	github.com/armon/go-metrics v0.4.1 // indirect
	github.com/cockroachdb/datadriven v1.0.3 // indirect
	github.com/fatih/color v1.13.0 // indirect
	github.com/goccy/go-yaml v1.19.2 // indirect
	github.com/gogo/protobuf v1.3.2 // indirect
	github.com/golang/protobuf v1.5.2 // indirect
	github.com/google/go-cmp v0.7.0 // indirect
	github.com/hashicorp/go-hclog v1.6.2 // indirect
	github.com/hashicorp/go-immutable-radix v1.0.0 // indirect
	github.com/hashicorp/go-metrics v0.5.4 // indirect
	github.com/hashicorp/go-msgpack/v2 v2.1.2 // indirect
	github.com/hashicorp/golang-lru v0.5.0 // indirect
	github.com/hashicorp/raft v1.7.3 // indirect
	github.com/lockstep-go/lockstep/remote v0.0.0-00010101000000-000000000000 // indirect
	github.com/mattn/go-colorable v0.1.12 // indirect
	github.com/mattn/go-isatty v0.0.14 // indirect
	github.com/pierrec/lz4/v4 v4.1.33 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	github.com/rogpeppe/go-internal v1.16.0 // indirect
	github.com/twmb/franz-go v1.22.2 // indirect
	github.com/twmb/franz-go/pkg/kmsg v1.15.0 // indirect
	go.etcd.io/etcd/raft/v3 v3.5.2 // indirect
	go.etcd.io/raft/v3 v3.7.0 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/term v0.47.0 // indirect
	golang.org/x/tools v0.51.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace (
	github.com/lockstep-go/lockstep => ../..
	github.com/lockstep-go/lockstep/cli => ../../cli
	github.com/lockstep-go/lockstep/fleet => ../../fleet
	github.com/lockstep-go/lockstep/remote => ../../remote
	github.com/lockstep-go/lockstep/target/bftsmart => ../../target/bftsmart
	github.com/lockstep-go/lockstep/target/cassandra => ../../target/cassandra
	github.com/lockstep-go/lockstep/target/etcdraft => ../../target/etcdraft
	github.com/lockstep-go/lockstep/target/hashicorpraft => ../../target/hashicorpraft
	github.com/lockstep-go/lockstep/target/kafka => ../../target/kafka
	github.com/lockstep-go/lockstep/target/ratis => ../../target/ratis
	github.com/lockstep-go/lockstep/target/zookeeper => ../../target/zookeeper
)
