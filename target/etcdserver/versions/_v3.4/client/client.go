// Package clientv3 has the names that are in a package of etcd 3.4, for who knows it by its later path.
package clientv3

import (
	"encoding/binary"
	"time"

	"github.com/google/uuid"
	"go.etcd.io/etcd/clientv3"
	"go.uber.org/zap"
)

// What clients have to do with.
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

// How requests are made.
var (
	Compare             = clientv3.Compare
	CreateRevision      = clientv3.CreateRevision
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

// Config is as much as is used of the configuration of a client.
type Config struct {
	Endpoints          []string
	Logger             *zap.Logger // later releases have one; here nothing is logged
	Username, Password string
	DialTimeout        time.Duration
}

// Clients have names of chance, by which the process knows them, and one that died with its member is never forgotten: a run
// that is made again would find its own names taken. So they are numbers, of which each is given once.
func init() { uuid.SetRand(&numbers{}) }

// numbers is a source of numbers, each of which is the next.
type numbers struct{ last uint64 }

// Read gives the next number.
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
	return clientv3.New(clientv3.Config{Endpoints: c.Endpoints, LogConfig: &silent, Username: c.Username, Password: c.Password, DialTimeout: c.DialTimeout})
}
