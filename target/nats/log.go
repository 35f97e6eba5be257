package nats

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	natsgo "github.com/nats-io/nats.go"

	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/trace"
)

// serverLog is the logger of a server. A recorded run keeps its lines.
type serverLog struct{ node *bubble.Node }

func (s serverLog) line(level, format string, values []any) {
	s.node.Log(trace.LogServer, level, func() string { return fmt.Sprintf(format, values...) })
}

// Noticef logs a line.
func (s serverLog) Noticef(format string, v ...any) { s.line(bubble.Info, format, v) }

// Warnf logs a line.
func (s serverLog) Warnf(format string, v ...any) { s.line(bubble.Warn, format, v) }

// Fatalf logs a line, and does not end the process.
func (s serverLog) Fatalf(format string, v ...any) { s.line(bubble.Error, format, v) }

// Errorf logs a line.
func (s serverLog) Errorf(format string, v ...any) { s.line(bubble.Error, format, v) }

// Debugf discards its message.
func (serverLog) Debugf(string, ...any) {}

// Tracef discards its message.
func (serverLog) Tracef(string, ...any) {}

// ask sends a request of the operator to JetStream, and logs it.
func ask(ctx context.Context, n *bubble.Node, conn *natsgo.Conn, what string, about any) error {
	began := n.World().Now()
	err := request(ctx, conn, what, about)
	n.Log(trace.LogOperator, "", func() string {
		text := "$JS.API." + what
		if about != nil {
			body, failed := json.Marshal(about)
			text += " " + cmp.Or(string(body), fmt.Sprint(failed))
		}
		return fmt.Sprintf("%s%s (after %v)", text, answered(err), (n.World().Now() - began).Round(time.Microsecond))
	})
	return err
}

// answered is the answer to a request as text.
func answered(err error) string {
	if err != nil {
		return " -> error: " + err.Error()
	}
	return " -> ok"
}
