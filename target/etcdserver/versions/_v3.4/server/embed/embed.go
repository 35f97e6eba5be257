// Package embed re-exports names of an etcd 3.4 package under the import path of later releases.
package embed

import (
	"go.etcd.io/etcd/embed"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

type (
	// Config is the configuration of a server.
	Config = embed.Config
	// Etcd is a server.
	Etcd = embed.Etcd
)

// ClusterStateFlagExisting means that the server joins an existing cluster.
const ClusterStateFlagExisting = embed.ClusterStateFlagExisting

// StartEtcd starts a server.
var StartEtcd = embed.StartEtcd

// NewConfig is the default configuration, with the logger of later releases.
func NewConfig() *Config {
	c := embed.NewConfig()
	c.Logger = "zap"
	return c
}

// NewZapLoggerBuilder sets the logger of a server.
func NewZapLoggerBuilder(log *zap.Logger) func(*Config) error {
	return embed.NewZapCoreLoggerBuilder(log, log.Core(), zapcore.AddSync(nothing{}))
}

// nothing is a writer that discards everything.
type nothing struct{}

func (nothing) Write(text []byte) (int, error) { return len(text), nil }
