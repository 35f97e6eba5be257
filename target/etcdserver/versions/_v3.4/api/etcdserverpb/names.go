// Package etcdserverpb has the names that are in a package of etcd 3.4, for who knows it by its later path.
package etcdserverpb

import "go.etcd.io/etcd/etcdserver/etcdserverpb"

// Member is a member of a cluster.
type Member = etcdserverpb.Member

// RangeRequest asks for keys.
type RangeRequest = etcdserverpb.RangeRequest

// AlarmRequest asks for alarms, or to end them.
type AlarmRequest = etcdserverpb.AlarmRequest

// AlarmResponse has those that there are.
type AlarmResponse = etcdserverpb.AlarmResponse

// What is done to alarms, and which there are.
const (
	AlarmRequest_GET        = etcdserverpb.AlarmRequest_GET        //nolint:revive // the name that others know
	AlarmRequest_DEACTIVATE = etcdserverpb.AlarmRequest_DEACTIVATE //nolint:revive // the name that others know
	AlarmType_NOSPACE       = etcdserverpb.AlarmType_NOSPACE       //nolint:revive // the name that others know
	AlarmType_CORRUPT       = etcdserverpb.AlarmType_CORRUPT       //nolint:revive // the name that others know
)

// NewMaintenanceClient makes a client of operators.
var NewMaintenanceClient = etcdserverpb.NewMaintenanceClient

// What goes over the stream of a watch.
type (
	WatchRequest                 = etcdserverpb.WatchRequest
	WatchResponse                = etcdserverpb.WatchResponse
	WatchCreateRequest           = etcdserverpb.WatchCreateRequest
	WatchProgressRequest         = etcdserverpb.WatchProgressRequest
	WatchRequest_CreateRequest   = etcdserverpb.WatchRequest_CreateRequest   //nolint:revive // the name that others know
	WatchRequest_ProgressRequest = etcdserverpb.WatchRequest_ProgressRequest //nolint:revive // the name that others know
)

// NewWatchClient makes a client of watches.
var NewWatchClient = etcdserverpb.NewWatchClient
