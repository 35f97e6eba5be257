// Package transport has the names that are in a package of etcd 3.4, for who knows it by its later path.
package transport

import "go.etcd.io/etcd/pkg/transport"

// TLSInfo says how connections are kept secret.
type TLSInfo = transport.TLSInfo

// NewTimeoutTransport makes a client of HTTP whose connections are to have deadlines.
var NewTimeoutTransport = transport.NewTimeoutTransport
