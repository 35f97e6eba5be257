// Package clientv3 re-exports names of an etcd 3.4 package under the import path of later releases.
package clientv3

import (
	"encoding/binary"
	"time"

	"github.com/google/uuid"
	"go.etcd.io/etcd/clientv3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// The types that clients use.
type (
	AlarmResponse          = clientv3.AlarmResponse
	Client                 = clientv3.Client
	Cmp                    = clientv3.Cmp
	CompactOption          = clientv3.CompactOption
	DefragmentResponse     = clientv3.DefragmentResponse
	Event                  = clientv3.Event
	GetResponse            = clientv3.GetResponse
	LeaseGrantResponse     = clientv3.LeaseGrantResponse
	LeaseKeepAliveResponse = clientv3.LeaseKeepAliveResponse
	LeaseRevokeResponse    = clientv3.LeaseRevokeResponse
	Op                     = clientv3.Op
	OpOption               = clientv3.OpOption
	PermissionType         = clientv3.PermissionType
	PutResponse            = clientv3.PutResponse
	SortTarget             = clientv3.SortTarget
	TxnResponse            = clientv3.TxnResponse
	WatchResponse          = clientv3.WatchResponse
)

// Values of other types.
const (
	EventTypeDelete   = clientv3.EventTypeDelete
	PermReadWrite     = clientv3.PermReadWrite
	SortAscend        = clientv3.SortAscend
	SortByKey         = clientv3.SortByKey
	SortByModRevision = clientv3.SortByModRevision
	SortByValue       = clientv3.SortByValue
	SortDescend       = clientv3.SortDescend
)

// The constructors of requests.
var (
	Compare             = clientv3.Compare
	CreateRevision      = clientv3.CreateRevision
	ModRevision         = clientv3.ModRevision
	OpDelete            = clientv3.OpDelete
	OpGet               = clientv3.OpGet
	OpPut               = clientv3.OpPut
	OpTxn               = clientv3.OpTxn
	Value               = clientv3.Value
	WithCompactPhysical = clientv3.WithCompactPhysical
	WithFragment        = clientv3.WithFragment
	WithFromKey         = clientv3.WithFromKey
	WithKeysOnly        = clientv3.WithKeysOnly
	WithLease           = clientv3.WithLease
	WithLimit           = clientv3.WithLimit
	WithPrefix          = clientv3.WithPrefix
	WithPrevKV          = clientv3.WithPrevKV
	WithProgressNotify  = clientv3.WithProgressNotify
	WithRange           = clientv3.WithRange
	WithRev             = clientv3.WithRev
	WithSerializable    = clientv3.WithSerializable
	WithSort            = clientv3.WithSort
)

// Config is the part of a client's configuration that the target uses.
type Config struct {
	Endpoints          []string
	Logger             *zap.Logger // later releases have one; here the client logs nothing
	Username, Password string
	DialTimeout        time.Duration
	DialOptions        []grpc.DialOption
}

// Clients have random names in a process-wide registry, which never forgets a client that died with its member. A
// rerun would find its own names taken. Therefore names are numbers, each of which is used once.
func init() { uuid.SetRand(&numbers{}) }

// numbers is a source of consecutive numbers.
type numbers struct{ last uint64 }

// Read returns the next number.
func (n *numbers) Read(to []byte) (int, error) {
	n.last++
	clear(to)
	binary.BigEndian.PutUint64(to[len(to)-8:], n.last)
	return len(to), nil
}

// New makes a client.
func New(c Config) (*Client, error) {
	silent := zap.NewProductionConfig()
	silent.OutputPaths, silent.ErrorOutputPaths = nil, nil
	return clientv3.New(
		clientv3.Config{
			Endpoints:   c.Endpoints,
			LogConfig:   &silent,
			Username:    c.Username,
			Password:    c.Password,
			DialTimeout: c.DialTimeout,
			DialOptions: c.DialOptions,
		},
	)
}
