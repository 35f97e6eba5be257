// Package transport re-exports names of an etcd 3.4 package under the import path of later releases.
package transport

import "go.etcd.io/etcd/pkg/transport"

// TLSInfo is the TLS configuration of connections.
type TLSInfo = transport.TLSInfo

// NewTimeoutTransport makes an HTTP client whose connections have deadlines.
var NewTimeoutTransport = transport.NewTimeoutTransport
