// Package wire is the protocol between Lockstep and replicas in other processes: its messages and their encodings, as
// protocol buffers and as JSON. The file lockstep.proto is the definition; the tests compare this package with it.
package wire

import _ "embed"

// Schema is the definition of the protocol.
//
//go:embed lockstep.proto
var Schema string

// The procedures of the service.
const (
	OrdersProcedure  = "/lockstep.remote.v1.Lockstep/Orders"
	ReportsProcedure = "/lockstep.remote.v1.Lockstep/Reports"
)
