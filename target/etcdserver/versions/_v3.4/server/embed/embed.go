// Package embed has the names that are in a package of etcd 3.4, for who knows it by its later path.
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

// ClusterStateFlagExisting says that the server joins a cluster.
const ClusterStateFlagExisting = embed.ClusterStateFlagExisting

// StartEtcd starts a server.
var StartEtcd = embed.StartEtcd

// NewConfig is the usual configuration, but for the logger, which later releases have.
func NewConfig() *Config {
	c := embed.NewConfig()
	c.Logger = "zap"
	return c
}

// NewZapLoggerBuilder lets a server have a logger.
func NewZapLoggerBuilder(log *zap.Logger) func(*Config) error {
	return embed.NewZapCoreLoggerBuilder(log, log.Core(), zapcore.AddSync(nothing{}))
}

// nothing is what nothing is written to.
type nothing struct{}

func (nothing) Write(text []byte) (int, error) { return len(text), nil }
