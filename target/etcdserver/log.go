package etcdserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/trace"
)

// serverLog is the server's log, of which a recorded run keeps the lines.
type serverLog struct {
	node *bubble.Node
	with []zapcore.Field
}

func logger(n *bubble.Node) *zap.Logger {
	return zap.New(serverLog{node: n}, zap.WithFatalHook(zapcore.WriteThenPanic))
}

// Enabled reports whether a line is kept. Lines that end the server always are: zap acts on them only then.
func (s serverLog) Enabled(level zapcore.Level) bool {
	return level >= zapcore.InfoLevel && s.node.Recorded()
}

func (s serverLog) With(fields []zapcore.Field) zapcore.Core {
	s.with = slices.Concat(s.with, fields)
	return s
}

func (s serverLog) Check(e zapcore.Entry, to *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if s.Enabled(e.Level) {
		return to.AddCore(e, s)
	}
	return to
}

func (s serverLog) Write(e zapcore.Entry, fields []zapcore.Field) error {
	s.node.Log(trace.LogServer, e.Level.String(), func() string {
		var b strings.Builder
		b.WriteString(e.Message)
		for _, f := range slices.Concat(s.with, fields) {
			values := zapcore.NewMapObjectEncoder()
			f.AddTo(values)
			for _, key := range slices.Sorted(maps.Keys(values.Fields)) {
				fmt.Fprintf(&b, " %s=%v", key, values.Fields[key])
			}
		}
		return b.String()
	})
	return nil
}

func (serverLog) Sync() error { return nil }
