// Package rpctypes re-exports names of an etcd 3.4 package under the import path of later releases.
package rpctypes

import "go.etcd.io/etcd/etcdserver/api/v3rpc/rpctypes"

// The errors that clients receive.
var (
	ErrUnhealthy              = rpctypes.ErrUnhealthy
	ErrMemberNotEnoughStarted = rpctypes.ErrMemberNotEnoughStarted
	ErrLeaseNotFound          = rpctypes.ErrLeaseNotFound
	ErrNoSpace                = rpctypes.ErrNoSpace
	ErrUserAlreadyExist       = rpctypes.ErrUserAlreadyExist
	ErrUserEmpty              = rpctypes.ErrUserEmpty
	ErrRoleAlreadyExist       = rpctypes.ErrRoleAlreadyExist
	ErrPermissionDenied       = rpctypes.ErrPermissionDenied
	ErrRoleNotGranted         = rpctypes.ErrRoleNotGranted
	ErrPermissionNotGranted   = rpctypes.ErrPermissionNotGranted
)
