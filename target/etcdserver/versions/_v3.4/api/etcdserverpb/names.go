// Package etcdserverpb re-exports names of an etcd 3.4 package under the import path of later releases.
package etcdserverpb

import "go.etcd.io/etcd/etcdserver/etcdserverpb"

// Member is a member of a cluster.
type Member = etcdserverpb.Member

// RangeRequest requests keys.
type RangeRequest = etcdserverpb.RangeRequest

// The requests and answers that clients log.
type (
	CompactionRequest   = etcdserverpb.CompactionRequest
	DeleteRangeRequest  = etcdserverpb.DeleteRangeRequest
	DeleteRangeResponse = etcdserverpb.DeleteRangeResponse
	LeaseGrantResponse  = etcdserverpb.LeaseGrantResponse
	PutRequest          = etcdserverpb.PutRequest
	RangeResponse       = etcdserverpb.RangeResponse
	RequestOp           = etcdserverpb.RequestOp
	ResponseHeader      = etcdserverpb.ResponseHeader
	TxnRequest          = etcdserverpb.TxnRequest
	TxnResponse         = etcdserverpb.TxnResponse
)

// AlarmRequest requests the list of alarms, or the end of some.
type AlarmRequest = etcdserverpb.AlarmRequest

// AlarmResponse lists the active alarms.
type AlarmResponse = etcdserverpb.AlarmResponse

// The actions and types of alarms.
const (
	AlarmRequest_GET        = etcdserverpb.AlarmRequest_GET        //nolint:revive // the name that others know
	AlarmRequest_DEACTIVATE = etcdserverpb.AlarmRequest_DEACTIVATE //nolint:revive // the name that others know
	AlarmType_NOSPACE       = etcdserverpb.AlarmType_NOSPACE       //nolint:revive // the name that others know
	AlarmType_CORRUPT       = etcdserverpb.AlarmType_CORRUPT       //nolint:revive // the name that others know
)

// NewMaintenanceClient makes a client for maintenance.
var NewMaintenanceClient = etcdserverpb.NewMaintenanceClient

// The messages of a watch stream.
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
