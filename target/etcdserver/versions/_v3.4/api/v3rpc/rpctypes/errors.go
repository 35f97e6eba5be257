// Package rpctypes has the names that are in a package of etcd 3.4, for who knows it by its later path.
package rpctypes

import "go.etcd.io/etcd/etcdserver/api/v3rpc/rpctypes"

// The errors that clients hear of.
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
